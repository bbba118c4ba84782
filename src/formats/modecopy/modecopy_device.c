/* Building copies of "modecopy" on a device: per mode the order of the inputs is chosen as on the
 * host, from the sizes of the slices; then the nonzeros are sorted, gathered and told apart by rows
 * and runs, all there. */
#include "formats/modecopy/modecopy_device.h"
#include <string.h>

uint64_t pd_modecopy_build_bytes(const struct pd_device *device, const struct pd_traits *traits,
                                 polyad_type type, uint64_t storage_bytes) {
  const struct pd_device_build *steps = device->functions->build;
  if (steps == NULL || !steps->takes(traits->nnz, traits->order, traits->dims)) return 0;
  return pd_add_saturated(storage_bytes,
                          steps->bytes(traits->nnz, traits->order, traits->dims, type));
}

void pd_modecopy_copy_header(const struct pd_modecopy *from, struct pd_modecopy *to) {
  *to = *from;
  for (int mode = 0; mode < from->order; ++mode) {
    struct pd_modecopy_copy *copy = &to->copy[mode];
    memset(copy->plane, 0, sizeof copy->plane);
    copy->values = NULL;
    copy->part_start = copy->order.row_start = NULL;
    copy->order.row_id = copy->order.chunk_row = NULL;
    copy->order.marks = NULL;
  }
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
  copy->inputs = copy->order.inputs;
  for (int k = 0; k < copy->inputs; ++k)
    copy->field[k].mode = copy->order.input[k];
  pd_modecopy_pack(copy, copy->inputs, job->storage->dims);
  return POLYAD_OK;
}

static polyad_status allocate_copy(polyad_context *context, const struct job *job, int mode,
                                   enum pd_modecopy_bits bits, struct pd_modecopy_arrays *to) {
  const struct pd_modecopy *storage = job->storage;
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  uint64_t nnz = storage->nnz, padded = pd_modecopy_padded(nnz), rows = copy->order.rows;
  uint64_t words = nnz / PD_ORDERED_MARKS + 1;
  for (int k = 0; k < copy->planes; ++k)
    PD_TRY(modecopy_device_allocate(context, job, padded, 4, (void **)&to->plane[k]));
  PD_TRY(modecopy_device_allocate(context, job, padded, pd_type_bytes(storage->type), &to->values));
  PD_TRY(modecopy_device_allocate(context, job, rows + 1, 8, (void **)&to->row_start));
  PD_TRY(modecopy_device_allocate(context, job, pd_ordered_chunks(nnz) + 1, 4,
                                  (void **)&to->chunk_row));
  if (bits == PD_MODECOPY_MARKS)
    PD_TRY(modecopy_device_allocate(context, job, words, 8, (void **)&to->marks));
  else
    PD_TRY(modecopy_device_allocate(context, job, words, 4, (void **)&to->ends));
  if (rows == storage->dims[mode]) return POLYAD_OK;
  PD_TRY(modecopy_device_allocate(context, job, rows, 4, (void **)&to->row_id));
  return modecopy_device_allocate(context, job, storage->dims[mode] / 32 + 1, 4,
                                  (void **)&to->used);
}

/* Where the indices of a copy go, and the bits of them that stay the same along a run. */
static void modecopy_device_describe(const struct job *job, int mode,
                                     const struct pd_modecopy_arrays *to,
                                     struct pd_build_planes *planes,
                                     struct pd_build_tables *tables) {
  const struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  *planes = (struct pd_build_planes){.output = mode,
                                     .planes = copy->planes,
                                     .fields = copy->inputs,
                                     .padded = pd_modecopy_padded(job->storage->nnz),
                                     .values = to->values};
  *tables = (struct pd_build_tables){.rows = copy->order.rows,
                                     .row_start = to->row_start,
                                     .row_id = to->row_id,
                                     .chunk_row = to->chunk_row,
                                     .marks = to->marks,
                                     .ends = to->ends,
                                     .used = to->used};
  for (int k = 0; k < copy->planes; ++k)
    planes->plane[k] = to->plane[k];
  for (int k = 0; k < copy->inputs; ++k) {
    const struct pd_modecopy_field *field = &copy->field[k];
    planes->field[k] = (struct pd_build_field){field->mode, field->plane, field->shift};
    if (k + 1 < copy->inputs) tables->outer_mask[field->plane] |= field->mask << field->shift;
  }
}

static polyad_status build_copy(polyad_context *context, const struct job *job, int mode,
                                enum pd_modecopy_bits bits, struct pd_modecopy_arrays *to) {
  const struct pd_modecopy_copy *copy = &job->storage->copy[mode];
  struct pd_build_planes planes;
  struct pd_build_tables tables;
  int modes[POLYAD_MAX_ORDER] = {mode};
  PD_TRY(choose_order(context, job, mode));
  PD_TRY(allocate_copy(context, job, mode, bits, to));
  for (int k = 0; k < copy->inputs; ++k)
    modes[k + 1] = copy->order.input[k];
  PD_TRY(job->steps->sort(context, job->build, modes, copy->inputs + 1));
  modecopy_device_describe(job, mode, to, &planes, &tables);
  PD_TRY(job->steps->gather(context, job->build, &planes));
  return job->steps->tables(context, job->build, &planes, &tables);
}

polyad_status pd_modecopy_build_opened(polyad_context *context, const struct pd_device *device,
                                       struct pd_build *build, const struct pd_traits *traits,
                                       const struct pd_request *request, enum pd_modecopy_bits bits,
                                       struct pd_modecopy *storage,
                                       struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER]) {
  const struct job job = {.device = device,
                          .steps = device->functions->build,
                          .traits = traits,
                          .request = request,
                          .storage = storage,
                          .build = build};
  for (int mode = 0; mode < storage->order; ++mode)
    if (pd_modecopy_has(storage, mode))
      PD_TRY(build_copy(context, &job, mode, bits, &arrays[mode]));
  return device->functions->synchronize(context, device);
}

polyad_status pd_modecopy_build_arrays(polyad_context *context, const struct pd_device *device,
                                       const polyad_tensor *tensor, const struct pd_traits *traits,
                                       const struct pd_request *request, enum pd_modecopy_bits bits,
                                       struct pd_modecopy *storage,
                                       struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER]) {
  const struct pd_device_build *steps = device->functions->build;
  struct pd_build *build;
  PD_TRY(steps->open(context, device, tensor, &build));
  polyad_status status =
      pd_modecopy_build_opened(context, device, build, traits, request, bits, storage, arrays);
  steps->close(context, build);
  return status;
}
