/* Invariants of format "modecopy". */
#include "formats/modecopy/modecopy_build.h"

static polyad_status modecopy_check_broken(polyad_context *context, int mode, uint64_t p,
                                           const char *what) {
  return pd_fail(context, POLYAD_INTERNAL, "modecopy, mode %d, nonzero %llu: %s",
                 pd_shown_mode(context, mode), (unsigned long long)p, what);
}

static uint32_t modecopy_check_index_at(const void *pointer, int mode, int k, uint64_t p) {
  const struct pd_modecopy *storage = pointer;
  return pd_modecopy_index(&storage->copy[mode], k, p);
}

static polyad_status check_paper(polyad_context *context, const struct pd_modecopy *storage,
                                 int mode) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  if (copy->part_start[0] != 0 || copy->part_start[storage->partitions] != storage->nnz)
    return modecopy_check_broken(context, mode, 0, "partitions do not cover the nonzeros");
  for (int k = 0; k < storage->partitions; ++k)
    if (copy->part_start[k] > copy->part_start[k + 1])
      return modecopy_check_broken(context, mode, copy->part_start[k], "partitions overlap");
  if (copy->scheme != 1) return POLYAD_OK;
  polyad_status status = POLYAD_OK;
  int *owner; /* partition that holds an output index, plus one */
  PD_TRY(PD_NEW_ZERO(context, storage->dims[mode], &owner));
  for (int k = 0; k < storage->partitions && status == POLYAD_OK; ++k)
    for (uint64_t p = copy->part_start[k]; p < copy->part_start[k + 1]; ++p) {
      int *mine = &owner[pd_modecopy_index(copy, copy->inputs, p)];
      if (*mine != 0 && *mine != k + 1) {
        status =
            modecopy_check_broken(context, mode, p, "its output row belongs to two partitions");
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
    if (!pd_modecopy_has(storage, mode)) continue;
    int fields = storage->variant == PD_MODECOPY_SORTED ? copy->inputs : copy->inputs + 1;
    for (int k = 0; k < fields; ++k)
      for (uint64_t p = 0; p < storage->nnz; ++p)
        if (pd_modecopy_index(copy, k, p) >= storage->dims[copy->field[k].mode])
          return modecopy_check_broken(context, mode, p, "an index is outside its mode");
    PD_TRY(storage->variant == PD_MODECOPY_SORTED
               ? pd_ordered_check(context, "modecopy", storage, mode, storage->nnz,
                                  storage->dims[mode], &copy->order, modecopy_check_index_at)
               : check_paper(context, storage, mode));
  }
  return POLYAD_OK;
}
