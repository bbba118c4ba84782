#include "formats/rowsum/rowsum_build.h"
#include "core/bits.h"
#include "core/radix_sort.h"
#include "formats/rowsum/driver.h"
#include <string.h>

static int permutation_bytes(uint64_t nnz) { return nnz <= UINT32_MAX ? 4 : 8; }

static int start_bytes(uint64_t nnz, bool force_index64) {
  return nnz <= UINT32_MAX && !force_index64 ? 4 : 8;
}

static uint64_t permuted(const void *permutation, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)permutation)[p] : ((const uint64_t *)permutation)[p];
}

static inline __attribute__((always_inline)) void
gather_narrow(uint64_t begin, uint64_t end, const void *permutation, int perm_bytes,
              const void *from, int from_bytes, void *to, int to_bytes) {
  for (uint64_t p = begin; p < end; ++p) {
    uint64_t q = permuted(permutation, perm_bytes, p);
    uint64_t i = from_bytes == 4 ? ((const uint32_t *)from)[q] : ((const uint64_t *)from)[q];
    if (to_bytes == 2)
      ((uint16_t *)to)[p] = (uint16_t)i;
    else if (to_bytes == 4)
      ((uint32_t *)to)[p] = (uint32_t)i;
    else
      ((uint64_t *)to)[p] = i;
  }
}

/* to[p] = from[permutation[p]] with another width. */
static void gather_indices(const polyad_context *context, uint64_t count, const void *permutation,
                           const void *from, int from_bytes, void *to, int to_bytes) {
  int threads = pd_threads_for(context, count, 1 << 14), perm_bytes = permutation_bytes(count);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(count, t, threads), end = pd_part_begin(count, t + 1, threads);
    if (perm_bytes == 4 && from_bytes == 4 && to_bytes == 2)
      gather_narrow(begin, end, permutation, 4, from, 4, to, 2);
    else if (perm_bytes == 4 && from_bytes == 4 && to_bytes == 4)
      gather_narrow(begin, end, permutation, 4, from, 4, to, 4);
    else
      gather_narrow(begin, end, permutation, perm_bytes, from, from_bytes, to, to_bytes);
  }
}

static uint64_t index_at(const void *index, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)index)[p] : ((const uint64_t *)index)[p];
}

static void put(void *array, int bytes, uint64_t place, uint64_t number) {
  if (bytes == 4)
    ((uint32_t *)array)[place] = (uint32_t)number;
  else
    ((uint64_t *)array)[place] = number;
}

/* row_id and row_start from the indices of the list's mode in its order. */
static polyad_status build_runs(polyad_context *context, const void *sorted, int bytes,
                                struct pd_rowsum *list) {
  uint64_t runs = 0;
  for (uint64_t p = 0; p < list->nnz; ++p)
    runs += p == 0 || index_at(sorted, bytes, p) != index_at(sorted, bytes, p - 1);
  void *id, *start;
  PD_TRY(pd_alloc(context, runs, (size_t)list->row_bytes, &id));
  list->row_id = id;
  PD_TRY(pd_alloc(context, runs + 1, (size_t)list->start_bytes, &start));
  list->row_start = start;
  for (uint64_t p = 0; p < list->nnz; ++p) {
    uint64_t i = index_at(sorted, bytes, p);
    if (p > 0 && i == index_at(sorted, bytes, p - 1)) continue;
    put(id, list->row_bytes, list->runs, i);
    put(start, list->start_bytes, list->runs++, p);
  }
  put(start, list->start_bytes, list->runs, list->nnz);
  return POLYAD_OK;
}

static polyad_status build_blocks(polyad_context *context, struct pd_rowsum *list) {
  int shift = list->block_shift;
  uint64_t blocks = 0, *start;
  for (uint64_t r = 0; r < list->runs; ++r)
    blocks += r == 0 || pd_rowsum_row(list, r) >> shift != pd_rowsum_row(list, r - 1) >> shift;
  PD_TRY(PD_NEW(context, blocks + 1, &start));
  list->block_start = start;
  for (uint64_t r = 0; r < list->runs; ++r)
    if (r == 0 || pd_rowsum_row(list, r) >> shift != pd_rowsum_row(list, r - 1) >> shift)
      start[list->blocks++] = r;
  start[list->blocks] = list->runs;
  return POLYAD_OK;
}

/* Appends the bits [low, high) of an index to the keys, as many as still have room. */
static void append_bits(const polyad_context *context, const polyad_tensor *tensor, int mode,
                        int low, int high, uint64_t *keys, int *used) {
  if (high - low > 64 - *used) low = high - (64 - *used);
  int count = high - low;
  if (count <= 0) return;
  uint64_t mask = pd_low_mask(count);
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
  bool fresh = *used == 0;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    uint64_t bits = (pd_tensor_index(tensor, mode, p) >> low) & mask;
    keys[p] = fresh ? bits : (keys[p] << count | bits);
  }
  *used += count;
}

/* Sorts by block, tile, row, and within a run by the columns. What 64 bits do not hold is left
 * unsorted: it is the order of the columns within a run, where it matters least. */
static polyad_status sort_nonzeros(polyad_context *context, const polyad_tensor *tensor, int mode,
                                   const struct pd_tiling *tiling, const struct pd_rowsum *list,
                                   void *permutation) {
  uint64_t *keys;
  PD_TRY(PD_NEW(context, tensor->nnz, &keys));
  int used = 0, row_bits = pd_index_bits(tensor->dims[mode]), below = row_bits;
  if (tiling->tiled) {
    below = tiling->block_shift < row_bits ? tiling->block_shift : row_bits;
    append_bits(context, tensor, mode, below, row_bits, keys, &used);
    for (int g = 0; g < list->columns; ++g)
      append_bits(context, tensor, list->mode[g], tiling->shift[g],
                  pd_index_bits(tensor->dims[list->mode[g]]), keys, &used);
  }
  append_bits(context, tensor, mode, 0, below, keys, &used);
  for (int g = 0; g < list->columns; ++g) {
    int bits = pd_index_bits(tensor->dims[list->mode[g]]);
    if (tiling->tiled && tiling->shift[g] < bits) bits = tiling->shift[g];
    append_bits(context, tensor, list->mode[g], 0, bits, keys, &used);
  }
  if (used == 0) memset(keys, 0, tensor->nnz * sizeof *keys);
  int bytes = permutation_bytes(tensor->nnz);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    if (bytes == 4)
      ((uint32_t *)permutation)[p] = (uint32_t)p;
    else
      ((uint64_t *)permutation)[p] = p;
  polyad_status status = pd_sort_u64(context, tensor->nnz, keys, used, permutation, (size_t)bytes);
  pd_free(context, keys);
  return status;
}

static polyad_status fill_columns(polyad_context *context, const polyad_tensor *tensor,
                                  const void *permutation, bool force_index64,
                                  struct pd_rowsum *list) {
  void *array;
  size_t item = pd_type_bytes(tensor->type);
  for (int g = 0; g < list->columns; ++g) {
    int m = list->mode[g];
    list->id_bytes[g] = pd_rowsum_index_bytes(tensor->dims[m], force_index64);
    PD_TRY(pd_alloc(context, list->nnz, (size_t)list->id_bytes[g], &array));
    list->id[g] = array;
    gather_indices(context, list->nnz, permutation, tensor->index[m], tensor->index_bytes[m], array,
                   list->id_bytes[g]);
  }
  PD_TRY(pd_alloc(context, list->nnz, item, &array));
  list->values = array;
  pd_gather(context, list->nnz, permutation, permutation_bytes(list->nnz), tensor->values, item,
            array);
  return POLYAD_OK;
}

/* Order and runs; the permutation goes to the caller. */
static polyad_status build_order(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 bool force_index64, const struct pd_tiling *tiling,
                                 struct pd_rowsum *list, void **order) {
  polyad_status status = POLYAD_OK;
  void *permutation = NULL, *sorted = NULL;
  int perm_bytes = permutation_bytes(tensor->nnz);
  *list = (struct pd_rowsum){.nnz = tensor->nnz, .block_shift = tiling->block_shift};
  list->start_bytes = start_bytes(tensor->nnz, force_index64);
  list->row_bytes = force_index64 ? 8 : pd_index_bytes(tensor->dims[mode]);
  list->columns = tiling->columns;
  memcpy(list->mode, tiling->mode, sizeof list->mode);
  PD_TRY_CLEANUP(pd_alloc(context, list->nnz, (size_t)perm_bytes, &permutation));
  PD_TRY_CLEANUP(sort_nonzeros(context, tensor, mode, tiling, list, permutation));
  PD_TRY_CLEANUP(pd_alloc(context, list->nnz, (size_t)tensor->index_bytes[mode], &sorted));
  pd_gather(context, list->nnz, permutation, perm_bytes, tensor->index[mode],
            (size_t)tensor->index_bytes[mode], sorted);
  PD_TRY_CLEANUP(build_runs(context, sorted, tensor->index_bytes[mode], list));
  pd_free(context, sorted);
  sorted = NULL;
  if (tiling->tiled && list->runs > 0) PD_TRY_CLEANUP(build_blocks(context, list));
  *order = permutation;
  permutation = NULL;
cleanup:
  pd_free(context, sorted);
  pd_free(context, permutation);
  if (status != POLYAD_OK) pd_rowsum_clear(context, list);
  return status;
}

polyad_status pd_rowsum_build(polyad_context *context, const polyad_tensor *tensor, int mode,
                              bool force_index64, const struct pd_tiling *tiling,
                              struct pd_rowsum *list) {
  void *permutation = NULL;
  PD_TRY(build_order(context, tensor, mode, force_index64, tiling, list, &permutation));
  polyad_status status = fill_columns(context, tensor, permutation, force_index64, list);
  pd_free(context, permutation);
  if (status != POLYAD_OK) pd_rowsum_clear(context, list);
  return status;
}

void pd_rowsum_unshare(polyad_context *context, struct pd_rowsum_shared *shared) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, shared->id[n]);
  pd_free(context, shared->values);
  *shared = (struct pd_rowsum_shared){0};
}

static polyad_status share_index(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 int bytes, void **id) {
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)bytes, id));
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    uint64_t index = pd_tensor_index(tensor, mode, p);
    if (bytes == 2)
      ((uint16_t *)*id)[p] = (uint16_t)index;
    else
      put(*id, bytes, p, index);
  }
  return POLYAD_OK;
}

polyad_status pd_rowsum_share(polyad_context *context, const polyad_tensor *tensor,
                              bool force_index64, struct pd_rowsum_shared *shared) {
  polyad_status status = POLYAD_OK;
  size_t item = pd_type_bytes(tensor->type);
  *shared = (struct pd_rowsum_shared){0};
  for (int n = 0; n < tensor->order; ++n) {
    shared->id_bytes[n] = pd_rowsum_index_bytes(tensor->dims[n], force_index64);
    PD_TRY_CLEANUP(share_index(context, tensor, n, shared->id_bytes[n], &shared->id[n]));
  }
  PD_TRY_CLEANUP(pd_alloc(context, tensor->nnz, item, &shared->values));
  memcpy(shared->values, tensor->values, tensor->nnz * item);
  return POLYAD_OK;
cleanup:
  pd_rowsum_unshare(context, shared);
  return status;
}

polyad_status pd_rowsum_build_permuted(polyad_context *context, const polyad_tensor *tensor,
                                       int mode, bool force_index64, const struct pd_tiling *tiling,
                                       const struct pd_rowsum_shared *shared,
                                       struct pd_rowsum *list) {
  void *permutation = NULL;
  PD_TRY(build_order(context, tensor, mode, force_index64, tiling, list, &permutation));
  list->place = permutation;
  list->place_bytes = permutation_bytes(list->nnz);
  list->values = shared->values;
  for (int g = 0; g < list->columns; ++g) {
    list->id[g] = shared->id[list->mode[g]];
    list->id_bytes[g] = shared->id_bytes[list->mode[g]];
  }
  return POLYAD_OK;
}

uint64_t pd_rowsum_permuted_bytes(const uint64_t *dims, int mode, uint64_t nnz, uint64_t runs,
                                  bool force_index64) {
  uint64_t start = (uint64_t)start_bytes(nnz, force_index64);
  uint64_t row = (force_index64 ? 8 : (uint64_t)pd_index_bytes(dims[mode])) + start;
  uint64_t places = pd_mul_saturated(nnz, (uint64_t)permutation_bytes(nnz));
  return pd_add_saturated(places, pd_mul_saturated(runs, row) + start);
}

void pd_rowsum_clear(polyad_context *context, struct pd_rowsum *list) {
  pd_free(context, (void *)list->row_start);
  pd_free(context, (void *)list->row_id);
  pd_free(context, (void *)list->block_start);
  pd_free(context, (void *)list->place);
  if (list->place == NULL) pd_free(context, (void *)list->values);
  for (int g = 0; g < list->columns && list->place == NULL; ++g)
    pd_free(context, (void *)list->id[g]);
  *list = (struct pd_rowsum){0};
}

uint64_t pd_rowsum_bytes(const struct pd_rowsum *list, polyad_type type) {
  uint64_t item = list->place != NULL ? (uint64_t)list->place_bytes : pd_type_bytes(type);
  for (int g = 0; g < list->columns && list->place == NULL; ++g)
    item += (uint64_t)list->id_bytes[g];
  uint64_t blocks = list->blocks == 0 ? 0 : (list->blocks + 1) * sizeof *list->block_start;
  return list->nnz * item + list->runs * (uint64_t)list->row_bytes +
         (list->runs + 1) * (uint64_t)list->start_bytes + blocks;
}

uint64_t pd_rowsum_estimate_bytes(int order, const uint64_t *dims, int mode, uint64_t nnz,
                                  uint64_t runs, polyad_type type, bool force_index64) {
  uint64_t item = pd_type_bytes(type);
  for (int m = 0; m < order; ++m)
    if (m != mode) item += (uint64_t)pd_rowsum_index_bytes(dims[m], force_index64);
  uint64_t start = (uint64_t)start_bytes(nnz, force_index64);
  uint64_t row = (force_index64 ? 8 : (uint64_t)pd_index_bytes(dims[mode])) + start;
  return pd_add_saturated(pd_mul_saturated(nnz, item), pd_mul_saturated(runs, row) + start);
}

uint64_t pd_rowsum_building_bytes(uint64_t nnz) {
  /* Sorting: packed keys and permutation, twice. */
  return pd_mul_saturated(nnz, 2 * (8 + (uint64_t)permutation_bytes(nnz)));
}

static polyad_status broken(polyad_context *context, int mode, const char *what, uint64_t place) {
  return pd_fail(context, POLYAD_INTERNAL, "list of mode %d: %s at %llu",
                 pd_shown_mode(context, mode), what, (unsigned long long)place);
}

static polyad_status check_blocks(polyad_context *context, const struct pd_rowsum *list, int mode) {
  if (list->block_start[0] != 0 || list->block_start[list->blocks] != list->runs)
    return broken(context, mode, "blocks do not hold all runs", list->blocks);
  for (uint64_t b = 0; b < list->blocks; ++b) {
    uint64_t id = pd_rowsum_row(list, list->block_start[b]) >> list->block_shift;
    if (list->block_start[b] >= list->block_start[b + 1])
      return broken(context, mode, "empty block", b);
    if (b > 0 && pd_rowsum_row(list, list->block_start[b] - 1) >> list->block_shift >= id)
      return broken(context, mode, "blocks not ascending", b);
    for (uint64_t r = list->block_start[b]; r < list->block_start[b + 1]; ++r)
      if (pd_rowsum_row(list, r) >> list->block_shift != id)
        return broken(context, mode, "run in a wrong block", r);
  }
  return POLYAD_OK;
}

polyad_status pd_rowsum_check(polyad_context *context, const struct pd_rowsum *list, int mode,
                              const uint64_t *dims) {
  if (pd_rowsum_start(list, 0) != 0) return broken(context, mode, "first run does not start", 0);
  if (pd_rowsum_start(list, list->runs) != list->nnz)
    return broken(context, mode, "last run does not end with the nonzeros", list->runs);
  for (uint64_t r = 0; r < list->runs; ++r) {
    if (pd_rowsum_start(list, r) >= pd_rowsum_start(list, r + 1))
      return broken(context, mode, "empty run", r);
    if (pd_rowsum_row(list, r) >= dims[mode]) return broken(context, mode, "row too large", r);
    if (list->blocks == 0 && r > 0 && pd_rowsum_row(list, r - 1) >= pd_rowsum_row(list, r))
      return broken(context, mode, "rows not ascending", r);
  }
  if (list->blocks > 0) PD_TRY(check_blocks(context, list, mode));
  for (int g = 0; g < list->columns; ++g)
    for (uint64_t p = 0; p < list->nnz; ++p)
      if (pd_rowsum_id(list, g, p) >= dims[list->mode[g]])
        return broken(context, mode, "index too large", p);
  return POLYAD_OK;
}
