/* Building copies of "modecopy" on a device: per mode the order of the inputs is chosen as on the
 * host, from the sizes of the slices; then the nonzeros are sorted, gathered and told apart by rows
 * and runs, all there. */
#include "formats/modecopy/modecopy_build.h"
#include "formats/sent.h"
#include <string.h>

uint64_t pd_modecopy_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes) {
  const struct pd_device_build *steps = request->device->functions->build;
  if (strncmp(request->variant, "paper", 5) == 0) return 0;
  if (!steps->takes(traits->nnz, traits->order, traits->dims)) return 0;
  return pd_add_saturated(
      storage_bytes, steps->bytes(traits->nnz, traits->order, traits->dims, request->precision));
}

/* What building works on. */
struct job {
  const struct pd_device *device;
  const struct pd_device_build *steps;
  const struct pd_traits *traits;
  const struct pd_request *request;
  struct pd_modecopy *storage;
  struct pd_build *build;
};

static polyad_status modecopy_device_allocate(polyad_context *context, const struct job *job,
                                              uint64_t count, size_t size, void **out) {
  return job->device->functions->allocate(context, job->device, pd_mul_saturated(count, size), out);
}

/* The order of the inputs, and where their indices go. */
static polyad_status choose_order(polyad_context *context, const struct job *job, int mode) {
  struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  struct pd_build_classes classes;
  struct pd_ordered_sizes sizes = {.rows = {0}};
  if (pd_ordered_weighs_inputs(job->traits->order)) {
    PD_TRY(job->steps->classes(context, job->build, mode, &classes));
    for (int c = 0; c < PD_BUILD_CLASSES; ++c) {
      sizes.rows[c] = (double)classes.rows[c];
      sizes.nonzeros[c] = (double)classes.nonzeros[c];
    }
  }
  pd_ordered_choose_inputs(job->traits, job->storage->type, job->request->rank, mode, &sizes,
                           &copy->order);
  copy->order.rows = job->traits->nonempty[mode];
  copy->order.has_row_id = copy->order.rows < job->storage->dims[mode];
  copy->inputs = copy->order.inputs;
  for (int k = 0; k < copy->inputs; ++k)
    copy->field[k].mode = copy->order.input[k];
  pd_modecopy_pack(copy, copy->inputs, job->storage->dims);
  return POLYAD_OK;
}

static polyad_status allocate_copy(polyad_context *context, const struct job *job, int mode) {
  const struct pd_modecopy *storage = job->storage;
  struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  struct pd_ordered *order = &copy->order;
  uint64_t nnz = storage->nnz, padded = pd_modecopy_padded(nnz), rows = order->rows;
  for (int k = 0; k < copy->planes; ++k)
    PD_TRY(modecopy_device_allocate(context, job, padded, 4, (void **)&copy->plane[k]));
  PD_TRY(
      modecopy_device_allocate(context, job, padded, pd_type_bytes(storage->type), &copy->values));
  PD_TRY(modecopy_device_allocate(context, job, rows + 1, 8, (void **)&order->row_start));
  PD_TRY(modecopy_device_allocate(context, job, pd_ordered_chunks(nnz) + 1, 4,
                                  (void **)&order->chunk_row));
  if (storage->ends)
    PD_TRY(modecopy_device_allocate(context, job, nnz / PD_ORDERED_MARKS + 1, 4,
                                    (void **)&order->ends));
  else
    PD_TRY(modecopy_device_allocate(context, job, pd_ordered_mark_words(nnz), 8,
                                    (void **)&order->marks));
  if (!order->has_row_id) return POLYAD_OK;
  PD_TRY(modecopy_device_allocate(context, job, rows, 4, (void **)&order->row_id));
  return modecopy_device_allocate(context, job, storage->dims[mode] / 32 + 1, 4,
                                  (void **)&order->used);
}

/* Where the indices of a copy go, and the bits of them that stay the same along a run. */
static void modecopy_device_describe(const struct job *job, int mode,
                                     struct pd_build_planes *planes,
                                     struct pd_build_tables *tables) {
  const struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  const struct pd_ordered *order = &copy->order;
  *planes = (struct pd_build_planes){.output = mode,
                                     .planes = copy->planes,
                                     .fields = copy->inputs,
                                     .padded = pd_modecopy_padded(job->storage->nnz),
                                     .values = copy->values};
  *tables = (struct pd_build_tables){.rows = order->rows,
                                     .row_start = order->row_start,
                                     .row_id = order->row_id,
                                     .chunk_row = order->chunk_row,
                                     .marks = (uint32_t *)(void *)order->marks,
                                     .ends = order->ends,
                                     .used = order->used};
  for (int k = 0; k < copy->planes; ++k)
    planes->plane[k] = copy->plane[k];
  for (int k = 0; k < copy->inputs; ++k) {
    const struct pd_modecopy_field *field = &copy->field[k];
    planes->field[k] = (struct pd_build_field){field->mode, field->plane, field->shift};
    if (k + 1 < copy->inputs) tables->outer_mask[field->plane] |= field->mask << field->shift;
  }
}

static polyad_status build_copy(polyad_context *context, const struct job *job, int mode) {
  const struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  struct pd_build_planes planes;
  struct pd_build_tables tables;
  int modes[POLYAD_MAX_ORDER] = {mode};
  PD_TRY(choose_order(context, job, mode));
  PD_TRY(allocate_copy(context, job, mode));
  for (int k = 0; k < copy->inputs; ++k)
    modes[k + 1] = copy->order.input[k];
  PD_TRY(job->steps->sort(context, job->build, modes, copy->inputs + 1));
  modecopy_device_describe(job, mode, &planes, &tables);
  PD_TRY(job->steps->gather(context, job->build, &planes));
  return job->steps->tables(context, job->build, &planes, &tables);
}

polyad_status pd_modecopy_fill_opened(polyad_context *context, struct pd_build *build,
                                      const struct pd_request *request,
                                      struct pd_modecopy *storage) {
  double start = pd_seconds();
  const struct job job = {.device = request->device,
                          .steps = request->device->functions->build,
                          .traits = request->traits,
                          .request = request,
                          .storage = storage,
                          .build = build};
  for (int mode = 0; mode < storage->order; ++mode)
    if (pd_modecopy_has(storage, mode)) PD_TRY(build_copy(context, &job, mode));
  PD_TRY(job.device->functions->synchronize(context, job.device));
  storage->seconds_build = pd_seconds() - start;
  return POLYAD_OK;
}

polyad_status pd_modecopy_fill_there(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_request *request, void *storage) {
  struct pd_build *build;
  PD_TRY(pd_sent_open(context, tensor, request, &build));
  polyad_status status = pd_modecopy_fill_opened(context, build, request, storage);
  pd_sent_close(context, request, build);
  return status;
}
