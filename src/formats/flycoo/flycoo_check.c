/* Invariants of format "flycoo". */
#include "formats/flycoo/flycoo_layout.h"

static polyad_status broken(polyad_context *context, int mode, uint64_t p, const char *what) {
  return pd_fail(context, POLYAD_INTERNAL, "flycoo, mode %d, element %llu: %s", mode + 1,
                 (unsigned long long)p, what);
}

/* Output row of the element at each place of the mode's order; every place is taken once. */
static polyad_status list_outputs(polyad_context *context, const struct pd_flycoo *storage,
                                  int mode, uint32_t *output, unsigned char *taken) {
  size_t words = (size_t)storage->packing.words;
  memset(taken, 0, storage->nnz);
  for (uint64_t p = 0; p < storage->nnz; ++p) {
    const uint32_t *element = storage->elements[0] + p * words;
    uint32_t place = pd_flycoo_get(element, &storage->packing.remap[mode]);
    if (place >= storage->nnz || taken[place])
      return broken(context, mode, p, "remap ids are no permutation");
    if (mode == 0 && place != p) return broken(context, mode, p, "not in the order of mode 0");
    taken[place] = 1;
    output[place] = pd_flycoo_get(element, &storage->packing.index[mode]);
    if (output[place] >= storage->dims[mode])
      return broken(context, mode, p, "an index is outside its mode");
    if (storage->elements[mode] != NULL &&
        memcmp(element, storage->elements[mode] + place * words, words * 4) != 0)
      return broken(context, mode, p, "the ordered copy has another element at its place");
  }
  return POLYAD_OK;
}

static polyad_status check_partitions(polyad_context *context, const struct pd_flycoo *storage,
                                      int mode, const uint32_t *output, uint32_t *owner) {
  const uint64_t *start = storage->mode[mode].part_start;
  if (start[0] != 0 || start[storage->partitions] != storage->nnz)
    return broken(context, mode, 0, "partitions do not cover the elements");
  for (int k = 0; k < storage->partitions; ++k)
    if (start[k] > start[k + 1]) return broken(context, mode, start[k], "partitions overlap");
  memset(owner, 0, storage->dims[mode] * sizeof *owner);
  for (int k = 0; k < storage->partitions; ++k)
    for (uint64_t p = start[k]; p < start[k + 1]; ++p) {
      uint32_t *mine = &owner[output[p]];
      if (*mine != 0 && *mine != (uint32_t)k + 1)
        return broken(context, mode, p, "its output row belongs to two partitions");
      *mine = (uint32_t)k + 1;
    }
  return POLYAD_OK;
}

static polyad_status check_rows(polyad_context *context, const struct pd_flycoo *storage, int mode,
                                const uint32_t *output) {
  const struct pd_flycoo_mode *order = &storage->mode[mode];
  if (order->row_start[0] != 0 || order->row_start[order->rows] != storage->nnz)
    return broken(context, mode, 0, "rows do not cover the elements");
  uint64_t row = 0;
  for (uint64_t p = 0; p < storage->nnz; ++p) {
    while (order->row_start[row + 1] <= p)
      ++row;
    if (order->row_id[row] != output[p]) return broken(context, mode, p, "lies in another's row");
    if (p % PD_FLYCOO_CHUNK == 0 && order->chunk_row[p / PD_FLYCOO_CHUNK] != row)
      return broken(context, mode, p, "chunk_row names another row");
  }
  uint64_t chunks = (storage->nnz + PD_FLYCOO_CHUNK - 1) / PD_FLYCOO_CHUNK;
  if (order->chunk_row[chunks] != order->rows)
    return broken(context, mode, storage->nnz, "chunk_row does not end with the rows");
  return POLYAD_OK;
}

polyad_status pd_flycoo_check(polyad_context *context, const void *pointer) {
  const struct pd_flycoo *storage = pointer;
  polyad_status status = POLYAD_OK;
  uint32_t *output = NULL, *owner = NULL;
  unsigned char *taken = NULL;
  uint64_t longest = 0;
  for (int n = 0; n < storage->order; ++n)
    if (storage->dims[n] > longest) longest = storage->dims[n];
  PD_TRY_CLEANUP(PD_NEW(context, storage->nnz, &output));
  PD_TRY_CLEANUP(PD_NEW(context, storage->nnz, &taken));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &owner));
  for (int mode = 0; mode < storage->order; ++mode) {
    PD_TRY_CLEANUP(list_outputs(context, storage, mode, output, taken));
    PD_TRY_CLEANUP(check_partitions(context, storage, mode, output, owner));
    if (storage->sorted) PD_TRY_CLEANUP(check_rows(context, storage, mode, output));
  }
cleanup:
  pd_free(context, owner);
  pd_free(context, taken);
  pd_free(context, output);
  return status;
}
