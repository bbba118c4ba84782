/* The steps of building a storage on a GPU (device/build.h), on its one stream. Memory is taken
 * once per tensor: its arrays, two arrays of keys and two permutations that the sort goes back and
 * forth between. The keys' memory then holds the output rows in the new order. */
#include "device/cuda/cuda_build.h"
#include "device/build_steps.h"
#include "device/cuda/cuda_build_launch.h"
#include "device/cuda/cuda_copy.h"
#include "device/cuda/cuda_sort.h"
#include "tensor/tuple_hash.h"
#include <string.h>

enum { NUMBERS = PD_GPU_BUILD_SUMS + 1, SORTING_SLACK = 32 << 20 };

static bool takes(uint64_t nnz, int order, const uint64_t *dims) {
  if (nnz == 0 || nnz > INT32_MAX) return false;
  for (int n = 0; n < order; ++n)
    if (dims[n] > INT32_MAX) return false;
  return true;
}

uint64_t pd_cuda_build_longest(int order, const uint64_t *dims) {
  uint64_t longest = 1;
  for (int n = 0; n < order; ++n)
    if (dims[n] > longest) longest = dims[n];
  return longest;
}

static uint64_t open_bytes(uint64_t nnz, int order, const uint64_t *dims, polyad_type type) {
  uint64_t each = 4 * (uint64_t)order + pd_type_bytes(type) + 2 * (8 + 4);
  return pd_add_saturated(pd_add_saturated(pd_mul_saturated(nnz, each), SORTING_SLACK),
                          pd_mul_saturated(pd_cuda_build_longest(order, dims), 4));
}

void pd_cuda_build_close(polyad_context *context, struct pd_build *build) {
  if (build == NULL) return;
  const struct pd_device *device = build->device;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if ((build->borrowed >> n & 1) == 0) pd_cuda_release(context, device, build->index[n]);
  if (!build->lent_values) pd_cuda_release(context, device, build->values);
  for (int k = 0; k < 2 && !build->child; ++k) {
    pd_cuda_release(context, device, build->keys[k]);
    pd_cuda_release(context, device, build->permutation[k]);
  }
  pd_cuda_release(context, device, build->degree);
  if (!build->child) pd_cuda_release(context, device, build->numbers);
  pd_cuda_release(context, device, build->temporary);
  pd_cuda_services->free(context, build);
}

static polyad_status cuda_build_allocate(polyad_context *context, struct pd_build *build) {
  const struct pd_device *device = build->device;
  for (int k = 0; k < 2; ++k) {
    PD_TRY(pd_cuda_allocate(context, device, build->nnz, sizeof(uint64_t), &build->keys[k]));
    PD_TRY(pd_cuda_allocate(context, device, build->nnz, sizeof *build->permutation[k],
                            (void **)&build->permutation[k]));
  }
  PD_TRY(pd_cuda_allocate(context, device, pd_cuda_build_longest(build->order, build->dims),
                          sizeof *build->degree, (void **)&build->degree));
  return pd_cuda_allocate(context, device, NUMBERS, sizeof *build->numbers,
                          (void **)&build->numbers);
}

static polyad_status cuda_build_bring(polyad_context *context, const polyad_tensor *tensor,
                                      struct pd_build *build) {
  for (int n = 0; n < build->order; ++n)
    PD_TRY(pd_cuda_upload(context, build->device, build->nnz, sizeof *build->index[n],
                          tensor->index[n], (void **)&build->index[n]));
  return pd_cuda_upload(context, build->device, build->nnz, pd_type_bytes(build->type),
                        tensor->values, &build->values);
}

static polyad_status open_build(polyad_context *context, const struct pd_device *device,
                                const polyad_tensor *tensor, struct pd_build **out) {
  struct pd_build *build;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *build, (void **)&build));
  *build = (struct pd_build){.device = device,
                             .order = tensor->order,
                             .nnz = tensor->nnz,
                             .type = tensor->type,
                             .identity = true};
  memcpy(build->dims, tensor->dims, sizeof build->dims);
  polyad_status status =
      cuda_build_allocate(context, build); /* before anything is copied: it may not fit */
  if (status == POLYAD_OK) status = cuda_build_bring(context, tensor, build);
  if (status == POLYAD_OK)
    *out = build;
  else
    pd_cuda_build_close(context, build);
  return status;
}

static polyad_status find_classes(polyad_context *context, struct pd_build *build, int mode,
                                  struct pd_build_classes *classes) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  uint64_t dim = build->dims[mode], sums[PD_GPU_BUILD_SUMS];
  PD_TRY(pd_cuda_enter(context, state));
  cudaStream_t stream = pd_cuda_stream(state);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(build->degree, 0, dim * 4, stream)));
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(build->numbers, 0, sizeof sums, stream)));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_degrees(build->index[mode], build->nnz, dim, build->degree, stream)));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_classes(build->degree, dim, build->numbers, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, sums, build->numbers, sizeof sums));
  memcpy(classes->rows, sums, sizeof classes->rows);
  memcpy(classes->nonzeros, sums + PD_BUILD_CLASSES, sizeof classes->nonzeros);
  classes->most = sums[PD_GPU_BUILD_SUMS - 1];
  return POLYAD_OK;
}

/* The registers of the kernel are words, as atomic operations want them. */
static polyad_status see_tuples(polyad_context *context, struct pd_build *build, int modes,
                                bool sampled, uint8_t *registers) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  uint64_t count = (uint64_t)build->order * PD_TUPLE_REGISTERS;
  struct pd_gpu_build_ranks of = {
      .nnz = build->nnz, .order = build->order, .modes = modes, .sampled = sampled};
  uint32_t *words;
  for (int n = 0; n < build->order; ++n) {
    of.index[n] = build->index[n];
    of.factor[n] = pd_tuple_factor(n);
  }
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(pd_cuda_build_temporary(context, build, count * sizeof *words));
  PD_TRY(
      PD_CUDA(context, state,
              cudaMemsetAsync(build->temporary, 0, count * sizeof *words, pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_ranks(&of, build->temporary, pd_cuda_stream(state))));
  PD_TRY(pd_cuda_services->alloc(context, count, sizeof *words, (void **)&words));
  polyad_status status =
      pd_cuda_copy_out(context, build->device, words, build->temporary, count * sizeof *words);
  for (uint64_t k = 0; k < count && status == POLYAD_OK; ++k)
    registers[k] = (uint8_t)words[k];
  pd_cuda_services->free(context, words);
  return status;
}

static polyad_status see_cells(polyad_context *context, struct pd_build *build, int first,
                               int modes, uint64_t words, uint64_t *bits) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_cells of = {.nnz = build->nnz, .modes = modes};
  for (int k = 0; k < modes; ++k) {
    int n = (first + k) % build->order;
    of.index[k] = build->index[n];
    of.dim[k] = build->dims[n];
  }
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(pd_cuda_build_temporary(context, build, words * sizeof *bits));
  PD_TRY(
      PD_CUDA(context, state,
              cudaMemsetAsync(build->temporary, 0, words * sizeof *bits, pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_cells(&of, build->temporary, pd_cuda_stream(state))));
  return pd_cuda_copy_out(context, build->device, bits, build->temporary, words * sizeof *bits);
}

/* One pass of the sort: by the modes [first, last), whose indices have `bits` bits together. */
static polyad_status sort_pass(polyad_context *context, struct pd_build *build, const int *modes,
                               int first, int last, int bits) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_keys keys = {.key_bytes = bits <= 32 ? 4 : 8};
  for (int k = first; k < last; ++k) {
    int width = pd_index_bits(build->dims[modes[k]]);
    if (width == 0) continue;
    keys.index[keys.count] = build->index[modes[k]];
    keys.bits[keys.count++] = width;
  }
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_keys(&keys, build->permutation[build->at], build->nnz, build->keys[0],
                                   pd_cuda_stream(state))));
  struct pd_gpu_sort_job job = {
      .keys = {build->keys[0], build->keys[1]},
      .values = {build->permutation[build->at], build->permutation[!build->at]},
      .key_bytes = keys.key_bytes,
      .value_bytes = 4,
      .count = build->nnz,
      .bits = bits};
  int found;
  PD_TRY(pd_cuda_sort_arrays(context, build->device, &job, &found));
  if (found == 1) build->at = !build->at;
  return POLYAD_OK;
}

/* The least significant modes first, as many at a time as 64 bits hold. */
polyad_status pd_cuda_build_sort(polyad_context *context, struct pd_build *build, const int *modes,
                                 int count) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  PD_TRY(pd_cuda_enter(context, state));
  if (count == build->order) count = pd_build_leading(modes, count);
  if (count < build->least) count = build->least;
  build->identity = true;
  build->at = 0;
  for (int last = count, first; last > 0; last = first) {
    int bits = 0;
    for (first = last; first > 0; --first) {
      int width = pd_index_bits(build->dims[modes[first - 1]]);
      if (bits + width > 64) break;
      bits += width;
    }
    if (bits == 0) continue;
    if (build->identity)
      PD_TRY(PD_CUDA(context, state,
                     pd_gpu_count_up(build->permutation[0], build->nnz, pd_cuda_stream(state))));
    build->identity = false;
    PD_TRY(sort_pass(context, build, modes, first, last, bits));
  }
  return POLYAD_OK;
}

static polyad_status cuda_build_gather(polyad_context *context, struct pd_build *build,
                                       const struct pd_build_planes *to) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_gather job = {.nnz = build->nnz,
                                    .padded = to->padded,
                                    .permutation =
                                        build->identity ? NULL : build->permutation[build->at],
                                    .fields = to->fields,
                                    .planes = to->planes,
                                    .values = build->values,
                                    .to_values = to->values,
                                    .value_bytes = (int)pd_type_bytes(build->type),
                                    .output = build->index[to->output],
                                    .sorted = build->keys[0]};
  for (int f = 0; f < to->fields; ++f) {
    job.index[f] = build->index[to->field[f].mode];
    job.plane_of[f] = to->field[f].plane;
    job.shift[f] = to->field[f].shift;
  }
  for (int k = 0; k < to->planes; ++k)
    job.plane[k] = to->plane[k];
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state, pd_gpu_build_gather(&job, pd_cuda_stream(state)));
}

/* What lies in it may still be in use: releasing waits. */
polyad_status pd_cuda_build_temporary(polyad_context *context, struct pd_build *build,
                                      size_t bytes) {
  if (build->temporary != NULL && bytes <= build->temporary_bytes) return POLYAD_OK;
  pd_cuda_release(context, build->device, build->temporary);
  build->temporary = NULL;
  build->temporary_bytes = bytes;
  return pd_cuda_allocate(context, build->device, bytes, 1, &build->temporary);
}

static polyad_status cuda_build_find_starts(polyad_context *context, struct pd_build *build,
                                            uint64_t *row_start) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  const uint32_t *sorted = build->keys[0];
  uint64_t *rows = build->numbers + PD_GPU_BUILD_SUMS;
  size_t size = 0;
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_starts(sorted, build->nnz, row_start, rows, NULL, &size,
                                     pd_cuda_stream(state))));
  PD_TRY(pd_cuda_build_temporary(context, build, size));
  return PD_CUDA(context, state,
                 pd_gpu_build_starts(sorted, build->nnz, row_start, rows, build->temporary, &size,
                                     pd_cuda_stream(state)));
}

static polyad_status write_marks(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_planes *planes,
                                 const struct pd_build_tables *tables) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_marks job = {.sorted = build->keys[0],
                                   .nnz = build->nnz,
                                   .planes = planes->planes,
                                   .marks = tables->marks,
                                   .ends = tables->ends};
  for (int k = 0; k < planes->planes; ++k) {
    job.plane[k] = planes->plane[k];
    job.outer_mask[k] = tables->outer_mask[k];
  }
  if (job.marks == NULL && job.ends == NULL) return POLYAD_OK;
  return PD_CUDA(context, state, pd_gpu_build_marks(&job, pd_cuda_stream(state)));
}

static polyad_status write_tables(polyad_context *context, struct pd_build *build,
                                  const struct pd_build_planes *planes,
                                  const struct pd_build_tables *tables) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_rows rows = {.sorted = build->keys[0],
                                   .nnz = build->nnz,
                                   .rows = tables->rows,
                                   .row_start = tables->row_start,
                                   .row_id = tables->row_id,
                                   .chunk_row = tables->chunk_row,
                                   .used = tables->used};
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(cuda_build_find_starts(context, build, tables->row_start));
  if (tables->used != NULL)
    PD_TRY(PD_CUDA(context, state,
                   cudaMemsetAsync(tables->used, 0, (build->dims[planes->output] / 32 + 1) * 4,
                                   pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_rows(&rows, pd_cuda_stream(state))));
  return write_marks(context, build, planes, tables);
}

static polyad_status cuda_build_rows_of(polyad_context *context, const struct pd_device *device,
                                        uint64_t nnz, uint64_t rows, const uint64_t *row_start,
                                        const uint32_t *row_id, uint32_t *row) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_build_rows_of(row_start, row_id, rows, nnz, row, pd_cuda_stream(state)));
}

const struct pd_device_build pd_cuda_build = {.takes = takes,
                                              .bytes = open_bytes,
                                              .open = open_build,
                                              .close = pd_cuda_build_close,
                                              .classes = find_classes,
                                              .tuples = see_tuples,
                                              .cells = see_cells,
                                              .sort = pd_cuda_build_sort,
                                              .gather = cuda_build_gather,
                                              .tables = write_tables,
                                              .group = pd_cuda_build_group,
                                              .group_bytes = pd_cuda_build_group_bytes,
                                              .rows_of = cuda_build_rows_of};
