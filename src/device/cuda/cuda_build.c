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

static uint64_t open_bytes(uint64_t nnz, int order, const uint64_t *dims, polyad_type type) {
  uint64_t each = 4 * (uint64_t)order + pd_type_bytes(type) + 2 * (8 + 4);
  return pd_add_saturated(pd_add_saturated(pd_mul_saturated(nnz, each), SORTING_SLACK),
                          pd_mul_saturated(pd_longest(order, dims), 4));
}

void pd_cuda_build_close(polyad_context *context, struct pd_build *build) {
  if (build == NULL) return;
  const struct pd_device *device = build->device;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if ((build->borrowed >> n & 1) == 0) pd_cuda_release(context, device, build->index[n]);
  if (!build->lent_values) pd_cuda_release(context, device, build->values);
  if (build->child) pd_cuda_release(context, device, build->degree);
  pd_cuda_release(context, device, build->block);
  pd_cuda_release(context, device, build->temporary);
  pd_cuda_services->free(context, build);
}

/* An array of the block: where its address goes, and its length. */
struct part {
  void **at;
  uint64_t count, size;
};

/* Arrays begin at multiples of this many bytes. */
enum { BLOCK_STEP = 256, MOST_PARTS = POLYAD_MAX_ORDER + 7 };

static polyad_status allocate_parts(polyad_context *context, struct pd_build *build,
                                    const struct part *parts, int count) {
  uint64_t bytes[MOST_PARTS], total = 0;
  for (int k = 0; k < count; ++k) {
    bytes[k] = pd_mul_saturated(parts[k].count, parts[k].size);
    bytes[k] = pd_add_saturated(bytes[k], BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
    total = pd_add_saturated(total, bytes[k]);
  }
  PD_TRY(pd_cuda_allocate(context, build->device, total, 1, &build->block));
  char *next = build->block;
  for (int k = 0; k < count; next += bytes[k], ++k)
    *parts[k].at = next;
  return POLYAD_OK;
}

polyad_status pd_cuda_build_allocate(polyad_context *context, struct pd_build *build, bool arrays) {
  uint64_t nnz = build->nnz, longest = pd_longest(build->order, build->dims);
  struct part parts[MOST_PARTS] = {{&build->keys[0], nnz, sizeof(uint64_t)},
                                   {&build->keys[1], nnz, sizeof(uint64_t)},
                                   {(void **)&build->permutation[0], nnz, sizeof(uint32_t)},
                                   {(void **)&build->permutation[1], nnz, sizeof(uint32_t)},
                                   {(void **)&build->degree, longest, sizeof(uint32_t)},
                                   {(void **)&build->numbers, NUMBERS, sizeof(uint64_t)},
                                   {&build->values, nnz, pd_type_bytes(build->type)}};
  int count = arrays ? 7 : 6;
  for (int n = 0; n < build->order && arrays; ++n)
    parts[count++] = (struct part){(void **)&build->index[n], nnz, sizeof(uint32_t)};
  if (arrays) {
    build->borrowed = (UINT64_C(1) << build->order) - 1;
    build->lent_values = true;
  }
  return allocate_parts(context, build, parts, count);
}

/* Fewer nonzeros than this cross as they are, in some 100 us; the number was chosen, not measured.
 */
enum { WORTH_HALVING = 1 << 20 };
enum { HALVES = 4 }; /* arrays of 2-byte words that one array of keys has room for */

/* Indices of modes shorter than 2^16 cross as words of 2 bytes, into the memory of the keys. */
static polyad_status cuda_build_bring(polyad_context *context, const polyad_tensor *tensor,
                                      struct pd_build *build) {
  struct pd_cuda_array arrays[POLYAD_MAX_ORDER + 1];
  uint16_t *half[POLYAD_MAX_ORDER] = {NULL};
  uint64_t nnz = build->nnz;
  int halves = 0, order = build->order;
  for (int n = 0; n < order; ++n) {
    if (build->dims[n] <= 1 << 16 && nnz >= WORTH_HALVING && halves < 2 * HALVES) {
      half[n] = (uint16_t *)build->keys[halves / HALVES] + (uint64_t)(halves % HALVES) * nnz;
      ++halves;
    }
    arrays[n] = (struct pd_cuda_array){
        .to = build->index[n], .host = tensor->index[n], .bytes = nnz * sizeof *build->index[n]};
    if (half[n] != NULL) arrays[n].to = half[n];
    if (half[n] != NULL) arrays[n].bytes = nnz * sizeof *half[n];
    arrays[n].halves = half[n] != NULL;
  }
  arrays[order] = (struct pd_cuda_array){
      .to = build->values, .host = tensor->values, .bytes = nnz * pd_type_bytes(build->type)};
  PD_TRY(pd_cuda_copy_all_in(context, build->device, order + 1, arrays));
  PD_CUDA_ENTER(context, build->device);
  for (int n = 0; n < order; ++n)
    if (half[n] != NULL)
      PD_TRY(PD_CUDA(context, state, pd_gpu_build_widen(half[n], nnz, build->index[n], stream)));
  return POLYAD_OK;
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
      pd_cuda_build_allocate(context, build, true); /* before anything is copied: it may not fit */
  if (status == POLYAD_OK) status = cuda_build_bring(context, tensor, build);
  if (status == POLYAD_OK)
    *out = build;
  else
    pd_cuda_build_close(context, build);
  return status;
}

static polyad_status count_degrees(polyad_context *context, struct pd_build *build, int mode) {
  uint64_t dim = build->dims[mode];
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(build->degree, 0, dim * 4, stream)));
  return PD_CUDA(context, state,
                 pd_gpu_build_degrees(build->index[mode], build->nnz, dim, build->degree, stream));
}

static polyad_status find_classes(polyad_context *context, struct pd_build *build, int mode,
                                  struct pd_build_classes *classes) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  uint64_t dim = build->dims[mode], sums[PD_GPU_BUILD_SUMS];
  if ((build->classified >> mode & 1) != 0) {
    *classes = build->classes[mode];
    return POLYAD_OK;
  }
  PD_TRY(count_degrees(context, build, mode));
  cudaStream_t stream = pd_cuda_stream(state);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(build->numbers, 0, sizeof sums, stream)));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_classes(build->degree, dim, build->numbers, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, sums, build->numbers, sizeof sums));
  memcpy(classes->rows, sums, sizeof classes->rows);
  memcpy(classes->nonzeros, sums + PD_BUILD_CLASSES, sizeof classes->nonzeros);
  classes->most = sums[PD_GPU_BUILD_SUMS - 1];
  build->classes[mode] = *classes;
  build->classified |= UINT64_C(1) << mode;
  return POLYAD_OK;
}

/* The registers of the kernel are words, as atomic operations want them. */
static polyad_status see_tuples(polyad_context *context, struct pd_build *build, int modes,
                                bool sampled, uint8_t *registers) {
  uint64_t count = (uint64_t)build->order * PD_TUPLE_REGISTERS;
  struct pd_gpu_build_ranks of = {
      .nnz = build->nnz, .order = build->order, .modes = modes, .sampled = sampled};
  uint32_t *words;
  for (int n = 0; n < build->order; ++n) {
    of.index[n] = build->index[n];
    of.factor[n] = pd_tuple_factor(n);
  }
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(pd_cuda_build_temporary(context, build, count * sizeof *words));
  PD_TRY(
      PD_CUDA(context, state, cudaMemsetAsync(build->temporary, 0, count * sizeof *words, stream)));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_ranks(&of, build->temporary, stream)));
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
  struct pd_gpu_build_cells of = {.nnz = build->nnz, .modes = modes};
  for (int k = 0; k < modes; ++k) {
    int n = (first + k) % build->order;
    of.index[k] = build->index[n];
    of.dim[k] = build->dims[n];
  }
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(pd_cuda_build_temporary(context, build, words * sizeof *bits));
  PD_TRY(
      PD_CUDA(context, state, cudaMemsetAsync(build->temporary, 0, words * sizeof *bits, stream)));
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_cells(&of, build->temporary, stream)));
  return pd_cuda_copy_out(context, build->device, bits, build->temporary, words * sizeof *bits);
}

static polyad_status find_degrees(polyad_context *context, struct pd_build *build, int mode,
                                  uint32_t *degree) {
  PD_TRY(count_degrees(context, build, mode));
  return pd_cuda_copy_out(context, build->device, degree, build->degree, build->dims[mode] * 4);
}

const uint32_t *pd_cuda_build_order(const struct pd_build *build) {
  return build->identity ? NULL : build->permutation[build->at];
}

/* One pass of the sort: by the pieces [first, last), which have `bits` bits together. */
static polyad_status sort_pass(polyad_context *context, struct pd_build *build,
                               const struct pd_build_key *key, int first, int last, int bits) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_keys keys = {.pieces = last - first,
                                   .table = first == 0 ? key->table : NULL,
                                   .key_bytes = bits <= 32 ? 4 : 8};
  memcpy(keys.index, build->index, sizeof keys.index);
  memcpy(keys.piece, key->piece + first, (size_t)keys.pieces * sizeof *keys.piece);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_keys(&keys, pd_cuda_build_order(build), build->nnz, build->keys[0],
                                   pd_cuda_stream(state))));
  if (build->identity)
    PD_TRY(PD_CUDA(context, state,
                   pd_gpu_count_up(build->permutation[0], build->nnz, pd_cuda_stream(state))));
  build->identity = false;
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

/* The least significant pieces first, as many at a time as 64 bits hold. */
polyad_status pd_cuda_build_sort(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_key *key) {
  int widths[POLYAD_MAX_ORDER];
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(build->device)));
  for (int n = 0; n < build->order; ++n)
    widths[n] = pd_index_bits(build->dims[n]);
  int count = pd_build_leading(key->piece, key->pieces, key->table != NULL, build->order, widths);
  if (count < build->least) count = build->least < key->pieces ? build->least : key->pieces;
  build->identity = true;
  build->at = 0;
  for (int last = count, first; last > 0; last = first) {
    int bits = 0;
    for (first = last; first > 0 && bits + key->piece[first - 1].bits <= 64; --first)
      bits += key->piece[first - 1].bits;
    PD_TRY(sort_pass(context, build, key, first, last, bits));
  }
  return POLYAD_OK;
}

/* The fields plane by plane. */
static void set_fields(const struct pd_build_planes *to, struct pd_gpu_build_gather *job) {
  int count = 0;
  for (int k = 0; k < to->planes; ++k) {
    job->first[k] = count;
    job->plane[k] = to->plane[k];
    job->wide |= (uint64_t)to->wide[k] << k;
    for (int f = 0; f < to->fields; ++f)
      if (to->field[f].plane == k) job->field[count++] = to->field[f];
  }
  job->first[to->planes] = count;
}

static polyad_status cuda_build_gather(polyad_context *context, struct pd_build *build,
                                       const struct pd_build_planes *to) {
  struct pd_gpu_build_gather job = {.nnz = to->place != NULL ? to->padded : build->nnz,
                                    .padded = to->padded,
                                    .permutation = pd_cuda_build_order(build),
                                    .place = to->place,
                                    .planes = to->planes,
                                    .step = to->step,
                                    .values = build->values,
                                    .to_values = to->values,
                                    .value_bytes = (int)pd_type_bytes(build->type),
                                    .converts = to->converts,
                                    .number = to->number,
                                    .exponent = to->exponent};
  memcpy(job.index, build->index, sizeof job.index);
  set_fields(to, &job);
  if (to->output >= 0) {
    job.output = build->index[to->output];
    job.sorted = build->sorted = build->keys[0];
  }
  PD_CUDA_ENTER(context, build->device);
  return PD_CUDA(context, state, pd_gpu_build_gather(&job, stream));
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
  uint64_t *rows = build->numbers + PD_GPU_BUILD_SUMS;
  size_t size = 0;
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_starts(build->sorted, build->nnz, row_start, rows, NULL, &size,
                                     pd_cuda_stream(state))));
  PD_TRY(pd_cuda_build_temporary(context, build, size));
  return PD_CUDA(context, state,
                 pd_gpu_build_starts(build->sorted, build->nnz, row_start, rows, build->temporary,
                                     &size, pd_cuda_stream(state)));
}

/* Runs are told by the planes that were written, or by the indices of the outer inputs. */
static polyad_status write_marks(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_planes *planes,
                                 const struct pd_build_tables *tables) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_marks job = {.sorted = build->sorted,
                                   .nnz = build->nnz,
                                   .planes = tables->outers > 0 ? tables->outers : planes->planes,
                                   .marks = tables->marks,
                                   .ends = tables->ends};
  if (job.marks == NULL && job.ends == NULL) return POLYAD_OK;
  if (tables->outers > 0) job.permutation = pd_cuda_build_order(build);
  for (int k = 0; k < job.planes; ++k) {
    job.plane[k] = tables->outers > 0 ? build->index[tables->outer[k]] : planes->plane[k];
    job.outer_mask[k] = tables->outers > 0 ? UINT32_MAX : tables->outer_mask[k];
  }
  return PD_CUDA(context, state, pd_gpu_build_marks(&job, pd_cuda_stream(state)));
}

/* The tables but for the marks, of the rows in build->sorted. */
static polyad_status write_rows(polyad_context *context, struct pd_build *build, int mode,
                                const struct pd_build_tables *tables) {
  struct pd_gpu_build_rows rows = {.sorted = build->sorted,
                                   .nnz = build->nnz,
                                   .rows = tables->rows,
                                   .row_start = tables->row_start,
                                   .row_id = tables->row_id,
                                   .chunk_row = tables->chunk_row,
                                   .used = tables->used};
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(cuda_build_find_starts(context, build, tables->row_start));
  if (tables->used != NULL)
    PD_TRY(PD_CUDA(context, state,
                   cudaMemsetAsync(tables->used, 0, (build->dims[mode] / 32 + 1) * 4, stream)));
  return PD_CUDA(context, state, pd_gpu_build_rows(&rows, stream));
}

static polyad_status write_tables(polyad_context *context, struct pd_build *build,
                                  const struct pd_build_planes *planes,
                                  const struct pd_build_tables *tables) {
  PD_TRY(write_rows(context, build, planes->output, tables));
  return write_marks(context, build, planes, tables);
}

/* Both halves of the keys' memory are used, so that the order that was found stays: one for the
 * rows, one for the places. */
static polyad_status list_rows(polyad_context *context, struct pd_build *build, int mode,
                               uint32_t *place, const struct pd_build_tables *tables) {
  struct pd_gpu_build_keys keys = {.pieces = 1, .key_bytes = 4};
  uint32_t *low = build->keys[0], *high = build->keys[1];
  struct pd_gpu_sort_job job = {.keys = {low, high},
                                .values = {low + build->nnz, high + build->nnz},
                                .key_bytes = 4,
                                .value_bytes = 4,
                                .count = build->nnz,
                                .bits = pd_index_bits(build->dims[mode])};
  int at = 0;
  if (job.bits == 0) job.bits = 1;
  keys.piece[0] = (struct pd_build_piece){0, 0, 32};
  keys.index[0] = build->index[mode];
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_keys(&keys, pd_cuda_build_order(build), build->nnz, low, stream)));
  PD_TRY(PD_CUDA(context, state, pd_gpu_count_up(job.values[0], build->nnz, stream)));
  PD_TRY(pd_cuda_sort_arrays(context, build->device, &job, &at));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(place, job.values[at], build->nnz * sizeof *place,
                                 cudaMemcpyDeviceToDevice, stream)));
  build->sorted = job.keys[at];
  return write_rows(context, build, mode, tables);
}

static polyad_status number_items(polyad_context *context, struct pd_build *build,
                                  const uint32_t *item, const struct pd_build_slot *to) {
  const struct pd_gpu_build_number job = {.nnz = build->nnz,
                                          .permutation = pd_cuda_build_order(build),
                                          .item = item,
                                          .words = to->words,
                                          .step = to->step,
                                          .shift = to->shift,
                                          .bits = to->bits};
  PD_CUDA_ENTER(context, build->device);
  return PD_CUDA(context, state, pd_gpu_build_number_items(&job, stream));
}

/* Found in the memory of the keys, since their number is not known before. */
polyad_status pd_cuda_build_runs(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_key *key, uint32_t **start, uint32_t *runs) {
  struct pd_gpu_build_runs job = {
      .nnz = build->nnz, .permutation = pd_cuda_build_order(build), .pieces = key->pieces};
  uint32_t *found = build->keys[0];
  uint64_t *number = build->numbers + PD_GPU_BUILD_SUMS, count;
  size_t size = 0;
  memcpy(job.index, build->index, sizeof job.index);
  memcpy(job.piece, key->piece, sizeof job.piece);
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_runs(&job, found, number, NULL, &size, stream)));
  PD_TRY(pd_cuda_build_temporary(context, build, size));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_runs(&job, found, number, build->temporary, &size, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, &count, number, sizeof count));
  *runs = (uint32_t)count;
  PD_TRY(pd_cuda_allocate(context, build->device, count + 1, sizeof **start, (void **)start));
  uint32_t end = (uint32_t)build->nnz;
  PD_TRY(PD_CUDA(
      context, state,
      cudaMemcpyAsync(*start, found, count * sizeof **start, cudaMemcpyDeviceToDevice, stream)));
  return pd_cuda_copy_in(context, build->device, *start + count, &end, sizeof end);
}

static polyad_status find_runs_at(polyad_context *context, struct pd_build *build,
                                  const uint32_t *start, uint32_t runs, uint64_t unit,
                                  uint64_t count, uint32_t *run) {
  PD_CUDA_ENTER(context, build->device);
  return PD_CUDA(context, state,
                 pd_gpu_build_runs_at(start, runs, build->nnz, unit, count, run, stream));
}

static polyad_status cuda_build_rows_of(polyad_context *context, const struct pd_device *device,
                                        uint64_t nnz, uint64_t rows, const uint64_t *row_start,
                                        const uint32_t *row_id, uint32_t *row) {
  PD_CUDA_ENTER(context, device);
  return PD_CUDA(context, state, pd_gpu_build_rows_of(row_start, row_id, rows, nnz, row, stream));
}

const struct pd_device_build pd_cuda_build = {.takes = takes,
                                              .bytes = open_bytes,
                                              .open = open_build,
                                              .open_arrays = pd_cuda_arrays_open,
                                              .facts = pd_cuda_arrays_facts,
                                              .scale = pd_cuda_arrays_scale,
                                              .close = pd_cuda_build_close,
                                              .classes = find_classes,
                                              .tuples = see_tuples,
                                              .cells = see_cells,
                                              .degrees = find_degrees,
                                              .sort = pd_cuda_build_sort,
                                              .gather = cuda_build_gather,
                                              .tables = write_tables,
                                              .list = list_rows,
                                              .number = number_items,
                                              .runs = pd_cuda_build_runs,
                                              .split = pd_cuda_build_split,
                                              .bitmaps = pd_cuda_build_bitmaps,
                                              .pack = pd_cuda_build_pack,
                                              .largest = pd_cuda_build_largest,
                                              .runs_at = find_runs_at,
                                              .group = pd_cuda_build_group,
                                              .group_bytes = pd_cuda_build_group_bytes,
                                              .rows_of = cuda_build_rows_of,
                                              .deal = pd_cuda_deal,
                                              .mark = pd_cuda_deal_mark,
                                              .renumber = pd_cuda_deal_renumber};
