#include "formats/rowsum/rowsum_build.h"
#include "core/radix_sort.h"
#include "formats/rowsum/driver.h"
#include <string.h>

static int permutation_bytes(uint64_t nnz) { return nnz <= UINT32_MAX ? 4 : 8; }

static int start_bytes(uint64_t nnz, bool force_index64) {
  return nnz <= UINT32_MAX && !force_index64 ? 4 : 8;
}

/* The other modes, the longest first (equal ones in their order). */
static int column_modes(int order, const uint64_t *dims, int mode, int *columns) {
  int count = 0;
  for (int m = 0; m < order; ++m) {
    if (m == mode) continue;
    int at = count++;
    for (; at > 0 && dims[columns[at - 1]] < dims[m]; --at)
      columns[at] = columns[at - 1];
    columns[at] = m;
  }
  return count;
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

/* row_id and row_start from the sorted indices of the list's mode. */
static polyad_status build_rows(polyad_context *context, const void *sorted, int bytes,
                                struct pd_rowsum *list) {
  uint64_t rows = 0;
  for (uint64_t p = 0; p < list->nnz; ++p)
    rows += p == 0 || index_at(sorted, bytes, p) != index_at(sorted, bytes, p - 1);
  void *id, *start;
  PD_TRY(pd_alloc(context, rows, (size_t)list->row_bytes, &id));
  list->row_id = id;
  PD_TRY(pd_alloc(context, rows + 1, (size_t)list->start_bytes, &start));
  list->row_start = start;
  for (uint64_t p = 0; p < list->nnz; ++p) {
    uint64_t i = index_at(sorted, bytes, p);
    if (p > 0 && i == index_at(sorted, bytes, p - 1)) continue;
    put(id, list->row_bytes, list->rows, i);
    put(start, list->start_bytes, list->rows++, p);
  }
  put(start, list->start_bytes, list->rows, list->nnz);
  return POLYAD_OK;
}

static polyad_status sort_nonzeros(polyad_context *context, const polyad_tensor *tensor, int mode,
                                   const struct pd_rowsum *list, void *permutation) {
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int k = 0; k <= list->columns; ++k) {
    int m = k == 0 ? mode : list->mode[k - 1];
    keys[k] = (struct pd_key){tensor->index[m], tensor->index_bytes[m], tensor->dims[m]};
  }
  return pd_sort_permutation(context, list->nnz, list->columns + 1, keys,
                             permutation_bytes(list->nnz), permutation);
}

polyad_status pd_rowsum_build(polyad_context *context, const polyad_tensor *tensor, int mode,
                              bool force_index64, struct pd_rowsum *list) {
  polyad_status status = POLYAD_OK;
  void *permutation = NULL, *sorted = NULL, *array;
  size_t item = pd_type_bytes(tensor->type);
  *list = (struct pd_rowsum){.nnz = tensor->nnz};
  list->start_bytes = start_bytes(tensor->nnz, force_index64);
  list->row_bytes = force_index64 ? 8 : pd_index_bytes(tensor->dims[mode]);
  list->columns = column_modes(tensor->order, tensor->dims, mode, list->mode);
  PD_TRY_CLEANUP(pd_alloc(context, list->nnz, (size_t)permutation_bytes(list->nnz), &permutation));
  PD_TRY_CLEANUP(sort_nonzeros(context, tensor, mode, list, permutation));
  PD_TRY_CLEANUP(pd_alloc(context, list->nnz, (size_t)tensor->index_bytes[mode], &sorted));
  pd_gather(context, list->nnz, permutation, permutation_bytes(list->nnz), tensor->index[mode],
            (size_t)tensor->index_bytes[mode], sorted);
  PD_TRY_CLEANUP(build_rows(context, sorted, tensor->index_bytes[mode], list));
  pd_free(context, sorted);
  sorted = NULL;
  for (int g = 0; g < list->columns; ++g) {
    int m = list->mode[g];
    list->id_bytes[g] = pd_rowsum_index_bytes(tensor->dims[m], force_index64);
    PD_TRY_CLEANUP(pd_alloc(context, list->nnz, (size_t)list->id_bytes[g], &array));
    list->id[g] = array;
    gather_indices(context, list->nnz, permutation, tensor->index[m], tensor->index_bytes[m], array,
                   list->id_bytes[g]);
  }
  PD_TRY_CLEANUP(pd_alloc(context, list->nnz, item, &array));
  list->values = array;
  pd_gather(context, list->nnz, permutation, permutation_bytes(list->nnz), tensor->values, item,
            array);
cleanup:
  pd_free(context, sorted);
  pd_free(context, permutation);
  if (status != POLYAD_OK) pd_rowsum_clear(context, list);
  return status;
}

void pd_rowsum_clear(polyad_context *context, struct pd_rowsum *list) {
  pd_free(context, (void *)list->row_start);
  pd_free(context, (void *)list->row_id);
  pd_free(context, (void *)list->values);
  for (int g = 0; g < list->columns; ++g)
    pd_free(context, (void *)list->id[g]);
  *list = (struct pd_rowsum){0};
}

uint64_t pd_rowsum_bytes(const struct pd_rowsum *list, polyad_type type) {
  uint64_t item = pd_type_bytes(type);
  for (int g = 0; g < list->columns; ++g)
    item += (uint64_t)list->id_bytes[g];
  return list->nnz * item + list->rows * (uint64_t)list->row_bytes +
         (list->rows + 1) * (uint64_t)list->start_bytes;
}

uint64_t pd_rowsum_estimate_bytes(int order, const uint64_t *dims, int mode, uint64_t nnz,
                                  uint64_t rows, polyad_type type, bool force_index64) {
  uint64_t item = pd_type_bytes(type);
  for (int m = 0; m < order; ++m)
    if (m != mode) item += (uint64_t)pd_rowsum_index_bytes(dims[m], force_index64);
  uint64_t start = (uint64_t)start_bytes(nnz, force_index64);
  uint64_t row = (force_index64 ? 8 : (uint64_t)pd_index_bytes(dims[mode])) + start;
  return pd_add_saturated(pd_mul_saturated(nnz, item), pd_mul_saturated(rows, row) + start);
}

uint64_t pd_rowsum_building_bytes(uint64_t nnz) {
  /* Sorting: packed keys and permutation, twice. */
  return pd_mul_saturated(nnz, 2 * (8 + (uint64_t)permutation_bytes(nnz)));
}

static polyad_status broken(polyad_context *context, int mode, const char *what, uint64_t place) {
  return pd_fail(context, POLYAD_INTERNAL, "list of mode %d: %s at %llu", mode + 1, what,
                 (unsigned long long)place);
}

polyad_status pd_rowsum_check(polyad_context *context, const struct pd_rowsum *list, int mode,
                              const uint64_t *dims) {
  if (pd_rowsum_start(list, 0) != 0) return broken(context, mode, "first row does not start", 0);
  if (pd_rowsum_start(list, list->rows) != list->nnz)
    return broken(context, mode, "last row does not end with the nonzeros", list->rows);
  for (uint64_t row = 0; row < list->rows; ++row) {
    if (pd_rowsum_start(list, row) >= pd_rowsum_start(list, row + 1))
      return broken(context, mode, "empty row", row);
    if (pd_rowsum_row(list, row) >= dims[mode]) return broken(context, mode, "row too large", row);
    if (row > 0 && pd_rowsum_row(list, row - 1) >= pd_rowsum_row(list, row))
      return broken(context, mode, "rows not ascending", row);
  }
  for (int g = 0; g < list->columns; ++g)
    for (uint64_t p = 0; p < list->nnz; ++p)
      if (pd_rowsum_id(list, g, p) >= dims[list->mode[g]])
        return broken(context, mode, "index too large", p);
  return POLYAD_OK;
}
