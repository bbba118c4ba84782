/* Invariants of format "flycoo". */
#include "formats/flycoo/flycoo_layout.h"

static polyad_status flycoo_check_broken(polyad_context *context, int mode, uint64_t p,
                                         const char *what) {
  return pd_fail(context, POLYAD_INTERNAL, "flycoo, mode %d, element %llu: %s",
                 pd_shown_mode(context, mode), (unsigned long long)p, what);
}

/* What checking works on. */
struct work {
  const struct pd_flycoo *storage;
  uint32_t *output;     /* output row of the element at each place of the mode's order */
  uint64_t *at;         /* that element, as a place in the order of mode 0 */
  uint32_t *owner;      /* partition of each output row, plus one */
  unsigned char *taken; /* places */
};

/* Every place is taken once. */
static polyad_status list_places(polyad_context *context, const struct work *work, int mode) {
  const struct pd_flycoo *storage = work->storage;
  uint32_t *output = work->output;
  unsigned char *taken = work->taken;
  size_t words = (size_t)storage->packing.words;
  memset(taken, 0, storage->nnz);
  for (uint64_t p = 0; p < storage->nnz; ++p) {
    const uint32_t *element = storage->elements[0] + p * words;
    uint32_t place = pd_flycoo_get(element, &storage->packing.remap[mode]);
    if (place >= storage->nnz || taken[place])
      return flycoo_check_broken(context, mode, p, "remap ids are no permutation");
    if (mode == 0 && place != p)
      return flycoo_check_broken(context, mode, p, "not in the order of the first mode");
    taken[place] = 1;
    work->at[place] = p;
    output[place] = pd_flycoo_get(element, &storage->packing.index[mode]);
    if (output[place] >= storage->dims[mode])
      return flycoo_check_broken(context, mode, p, "an index is outside its mode");
    if (storage->elements[mode] != NULL &&
        memcmp(element, storage->elements[mode] + place * words, words * 4) != 0)
      return flycoo_check_broken(context, mode, p,
                                 "the ordered copy has another element at its place");
  }
  return POLYAD_OK;
}

static polyad_status check_partitions(polyad_context *context, const struct work *work, int mode) {
  const struct pd_flycoo *storage = work->storage;
  const uint32_t *output = work->output;
  uint32_t *owner = work->owner;
  const uint64_t *start = storage->mode[mode].part_start;
  if (start[0] != 0 || start[storage->partitions] != storage->nnz)
    return flycoo_check_broken(context, mode, 0, "partitions do not cover the elements");
  for (int k = 0; k < storage->partitions; ++k)
    if (start[k] > start[k + 1])
      return flycoo_check_broken(context, mode, start[k], "partitions overlap");
  memset(owner, 0, storage->dims[mode] * sizeof *owner);
  for (int k = 0; k < storage->partitions; ++k)
    for (uint64_t p = start[k]; p < start[k + 1]; ++p) {
      uint32_t *mine = &owner[output[p]];
      if (*mine != 0 && *mine != (uint32_t)k + 1)
        return flycoo_check_broken(context, mode, p, "its output row belongs to two partitions");
      *mine = (uint32_t)k + 1;
    }
  return POLYAD_OK;
}

static uint32_t flycoo_check_index_at(const void *pointer, int mode, int k, uint64_t p) {
  const struct work *work = pointer;
  const struct pd_flycoo *storage = work->storage;
  int input = storage->mode[mode].order.input[k];
  return pd_flycoo_get(storage->elements[0] + work->at[p] * (uint64_t)storage->packing.words,
                       &storage->packing.index[input]);
}

static polyad_status flycoo_check_check_rows(polyad_context *context, const struct work *work,
                                             int mode) {
  const struct pd_flycoo *storage = work->storage;
  const struct pd_ordered *order = &storage->mode[mode].order;
  PD_TRY(pd_ordered_check(context, "flycoo", work, mode, storage->nnz, storage->dims[mode], order,
                          flycoo_check_index_at));
  for (uint64_t row = 0; row < order->rows; ++row)
    for (uint64_t p = order->row_start[row]; p < order->row_start[row + 1]; ++p)
      if (order->row_id[row] != work->output[p])
        return flycoo_check_broken(context, mode, p, "lies in another's row");
  return POLYAD_OK;
}

polyad_status pd_flycoo_check(polyad_context *context, const void *pointer) {
  const struct pd_flycoo *storage = pointer;
  polyad_status status = POLYAD_OK;
  struct work work = {.storage = storage};
  uint64_t longest = pd_longest(storage->order, storage->dims);
  PD_TRY_CLEANUP(PD_NEW(context, storage->nnz, &work.output));
  PD_TRY_CLEANUP(PD_NEW(context, storage->nnz, &work.at));
  PD_TRY_CLEANUP(PD_NEW(context, storage->nnz, &work.taken));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &work.owner));
  for (int mode = 0; mode < storage->order; ++mode) {
    PD_TRY_CLEANUP(list_places(context, &work, mode));
    if (storage->dealt) PD_TRY_CLEANUP(check_partitions(context, &work, mode));
    if (storage->sorted) PD_TRY_CLEANUP(flycoo_check_check_rows(context, &work, mode));
  }
cleanup:
  PD_FREE(context, work.owner, work.taken, work.at, work.output);
  return status;
}
