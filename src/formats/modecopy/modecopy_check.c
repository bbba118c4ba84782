/* Invariants of format "modecopy". */
#include "formats/modecopy/modecopy_build.h"

static polyad_status broken(polyad_context *context, int mode, uint64_t p, const char *what) {
  return pd_fail(context, POLYAD_INTERNAL, "modecopy, mode %d, nonzero %llu: %s", mode + 1,
                 (unsigned long long)p, what);
}

static int compare(const struct pd_modecopy_copy *copy, uint64_t p, uint64_t q) {
  for (int k = 0; k < copy->inputs; ++k) {
    uint32_t a = pd_modecopy_index(copy, k, p), b = pd_modecopy_index(copy, k, q);
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

static polyad_status check_sorted(polyad_context *context, const struct pd_modecopy *storage,
                                  int mode) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  uint64_t row = 0;
  if (copy->row_start[0] != 0 || copy->row_start[copy->rows] != storage->nnz)
    return broken(context, mode, 0, "rows do not cover the nonzeros");
  for (uint64_t p = 0; p < storage->nnz; ++p) {
    if (p % PD_MODECOPY_CHUNK == 0 && copy->chunk_row[p / PD_MODECOPY_CHUNK] != row)
      return broken(context, mode, p, "chunk_row names another row");
    bool ends = p + 1 == copy->row_start[row + 1];
    bool marked = (copy->plane[0][p] & (uint32_t)PD_MODECOPY_ROW_END) != 0;
    if (ends != marked) return broken(context, mode, p, "end of row and its mark disagree");
    if (!ends && p + 1 < storage->nnz && compare(copy, p, p + 1) >= 0)
      return broken(context, mode, p, "not in order");
    row += ends;
  }
  if (copy->chunk_row[pd_modecopy_chunks(storage->nnz)] != copy->rows)
    return broken(context, mode, storage->nnz, "chunk_row does not end with the rows");
  for (uint64_t k = 0; copy->row_id != NULL && k < copy->rows; ++k)
    if (copy->row_id[k] >= storage->dims[mode] || (k > 0 && copy->row_id[k] <= copy->row_id[k - 1]))
      return broken(context, mode, copy->row_start[k], "row_id is not ascending");
  if (copy->row_id == NULL && copy->rows != storage->dims[mode])
    return broken(context, mode, 0, "row_id is missing");
  return POLYAD_OK;
}

static polyad_status check_paper(polyad_context *context, const struct pd_modecopy *storage,
                                 int mode) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  if (copy->part_start[0] != 0 || copy->part_start[storage->partitions] != storage->nnz)
    return broken(context, mode, 0, "partitions do not cover the nonzeros");
  for (int k = 0; k < storage->partitions; ++k)
    if (copy->part_start[k] > copy->part_start[k + 1])
      return broken(context, mode, copy->part_start[k], "partitions overlap");
  if (copy->scheme != 1) return POLYAD_OK;
  polyad_status status = POLYAD_OK;
  int *owner; /* partition that holds an output index, plus one */
  PD_TRY(PD_NEW_ZERO(context, storage->dims[mode], &owner));
  for (int k = 0; k < storage->partitions && status == POLYAD_OK; ++k)
    for (uint64_t p = copy->part_start[k]; p < copy->part_start[k + 1]; ++p) {
      int *mine = &owner[pd_modecopy_index(copy, copy->inputs, p)];
      if (*mine != 0 && *mine != k + 1) {
        status = broken(context, mode, p, "its output row belongs to two partitions");
        break;
      }
      *mine = k + 1;
    }
  pd_free(context, owner);
  return status;
}

polyad_status pd_modecopy_check(polyad_context *context, const void *pointer) {
  const struct pd_modecopy *storage = pointer;
  for (int mode = 0; mode < storage->order; ++mode) {
    const struct pd_modecopy_copy *copy = &storage->copy[mode];
    int fields = storage->variant == PD_MODECOPY_SORTED ? copy->inputs : copy->inputs + 1;
    for (int k = 0; k < fields; ++k)
      for (uint64_t p = 0; p < storage->nnz; ++p)
        if (pd_modecopy_index(copy, k, p) >= storage->dims[copy->field[k].mode])
          return broken(context, mode, p, "an index is outside its mode");
    PD_TRY(storage->variant == PD_MODECOPY_SORTED ? check_sorted(context, storage, mode)
                                                  : check_paper(context, storage, mode));
  }
  return POLYAD_OK;
}
