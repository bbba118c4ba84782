/* Building copies of "modecopy" on a device: per mode the order of the inputs is chosen as on the
 * host, from the sizes of the slices; then the nonzeros are sorted, gathered and told apart by rows
 * and runs, all there. */
#include "formats/modecopy/modecopy_build.h"
#include "formats/sent.h"
#include <string.h>

uint64_t pd_modecopy_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes) {
  if (strncmp(request->variant, "paper", 5) == 0) return 0;
  return pd_sent_bytes_there(traits, request, storage_bytes);
}

/* What building works on. */
struct job {
  const struct pd_device_build *steps;
  const struct pd_traits *traits;
  const struct pd_request *request;
  struct pd_modecopy *storage;
  struct pd_build *build;
};

/* The order of the inputs, and where their indices go. */
static polyad_status choose_order(polyad_context *context, const struct job *job, int mode) {
  struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  PD_TRY(pd_ordered_inputs_there(context, job->build, job->request, mode, false, &copy->order));
  copy->order.has_row_id = job->traits->nonempty[mode] < job->storage->dims[mode];
  copy->inputs = copy->order.inputs;
  for (int k = 0; k < copy->inputs; ++k)
    copy->field[k].mode = copy->order.input[k];
  pd_modecopy_pack(copy, copy->inputs, job->storage->dims);
  return POLYAD_OK;
}

static polyad_status allocate_copy(polyad_context *context, const struct job *job, int mode,
                                   struct pd_build_tables *tables) {
  const struct pd_modecopy *storage = job->storage;
  struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  uint64_t padded = pd_modecopy_padded(storage->nnz);
  for (int k = 0; k < copy->planes; ++k)
    PD_TRY(pd_sent_allocate(context, job->request, padded, 4, &copy->plane[k]));
  PD_TRY(
      pd_sent_allocate(context, job->request, padded, pd_type_bytes(storage->type), &copy->values));
  return pd_ordered_tables_there(context, job->request, mode, storage->ends, &copy->order, tables);
}

/* Where the indices of a copy go, and the bits of them that stay the same along a run. */
static void modecopy_device_describe(const struct job *job, int mode,
                                     struct pd_build_planes *planes,
                                     struct pd_build_tables *tables) {
  const struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  *planes = (struct pd_build_planes){.output = mode,
                                     .planes = copy->planes,
                                     .padded = pd_modecopy_padded(job->storage->nnz),
                                     .values = copy->values};
  for (int k = 0; k < copy->planes; ++k)
    planes->plane[k] = copy->plane[k];
  for (int k = 0; k < copy->inputs; ++k) {
    const struct pd_modecopy_field *field = &copy->field[k];
    pd_build_field_add(planes, field->mode, 0, pd_index_bits(job->storage->dims[field->mode]),
                       field->plane, field->shift);
    if (k + 1 < copy->inputs) tables->outer_mask[field->plane] |= field->mask << field->shift;
  }
}

static polyad_status build_copy(polyad_context *context, const struct job *job, int mode) {
  const struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  struct pd_build_planes planes;
  struct pd_build_tables tables;
  int modes[POLYAD_MAX_ORDER] = {mode};
  PD_TRY(choose_order(context, job, mode));
  PD_TRY(allocate_copy(context, job, mode, &tables));
  for (int k = 0; k < copy->inputs; ++k)
    modes[k + 1] = copy->order.input[k];
  const struct pd_build_key key =
      pd_build_key_of_modes(modes, copy->inputs + 1, job->storage->dims);
  PD_TRY(job->steps->sort(context, job->build, &key));
  modecopy_device_describe(job, mode, &planes, &tables);
  PD_TRY(job->steps->gather(context, job->build, &planes));
  return job->steps->tables(context, job->build, &planes, &tables);
}

polyad_status pd_modecopy_fill_opened(polyad_context *context, struct pd_build *build,
                                      const struct pd_request *request,
                                      struct pd_modecopy *storage) {
  const struct job job = {.steps = request->device->functions->build,
                          .traits = request->traits,
                          .request = request,
                          .storage = storage,
                          .build = build};
  for (int mode = 0; mode < storage->order; ++mode)
    if (pd_modecopy_has(storage, mode)) PD_TRY(build_copy(context, &job, mode));
  return POLYAD_OK;
}

polyad_status pd_modecopy_fill_there(polyad_context *context, struct pd_build *build,
                                     const polyad_tensor *tensor, const struct pd_request *request,
                                     void *storage) {
  (void)tensor;
  return pd_modecopy_fill_opened(context, build, request, storage);
}
