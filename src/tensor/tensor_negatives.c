/* Cells that a tensor does not have, as entries of value zero: what a model should rank below the
 * entries. */
#include "core/numbers.h"
#include "core/random.h"
#include "tensor/tensor.h"
#include <polyad/completion.h>
#include <string.h>

enum { MOST_DRAWS = 100 };

/* No split, start or fold uses this stream. */
static const uint64_t negative_stream = UINT64_MAX / 2 + 1;

static int compare_cell(const polyad_tensor *tensor, uint64_t q, const uint64_t *cell) {
  for (int n = 0; n < tensor->order; ++n) {
    uint64_t index = pd_tensor_index(tensor, n, q);
    if (index != cell[n]) return index < cell[n] ? -1 : 1;
  }
  return 0;
}

static bool has_cell(const polyad_tensor *tensor, const uint64_t *cell) {
  uint64_t low = 0, high = tensor->nnz;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int sign = compare_cell(tensor, middle, cell);
    if (sign == 0) return true;
    if (sign < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

/* Draws an index for the mode until the cell is none of the whole's; false when none was found. */
static bool draw(const polyad_tensor *whole, uint64_t seed, uint64_t number, int mode,
                 uint64_t *cell) {
  for (uint64_t k = 0; k < MOST_DRAWS; ++k) {
    double u = pd_random_uniform(seed, negative_stream, number * MOST_DRAWS + k);
    cell[mode] = (uint64_t)(u * (double)whole->dims[mode]);
    if (cell[mode] >= whole->dims[mode]) cell[mode] = whole->dims[mode] - 1;
    if (!has_cell(whole, cell)) return true;
  }
  return false;
}

struct list {
  uint64_t count;
  void *index[POLYAD_MAX_ORDER];
  void *values;
};

static void tensor_negatives_append(const polyad_tensor *like, const uint64_t *cell, double value,
                                    struct list *list) {
  for (int n = 0; n < like->order; ++n) {
    pd_id_put(list->index[n], like->index_bytes[n], list->count, cell[n]);
  }
  pd_store(like->type, list->values, list->count, value);
  ++list->count;
}

/* Every entry, and after it the cells that were drawn for it. */
static void tensor_negatives_fill(const polyad_tensor *part, const polyad_tensor *whole,
                                  uint64_t seed, int each, int mode, struct list *list) {
  for (uint64_t q = 0; q < part->nnz; ++q) {
    uint64_t cell[POLYAD_MAX_ORDER];
    for (int n = 0; n < part->order; ++n)
      cell[n] = pd_tensor_index(part, n, q);
    tensor_negatives_append(part, cell, pd_tensor_value(part, q), list);
    for (int k = 0; k < each; ++k)
      if (draw(whole, seed, q * (uint64_t)each + (uint64_t)k, mode, cell))
        tensor_negatives_append(part, cell, 0, list);
  }
}

static polyad_status tensor_negatives_check(polyad_context *context, const polyad_tensor *part,
                                            const polyad_tensor *whole, int each, int mode) {
  PD_EXPECT(context, each >= 1 && each <= 1000000,
            "%d negatives for each entry found; expected 1 to 1000000", each);
  PD_TRY(pd_check_mode(context, mode, part->order));
  if (part->order == whole->order &&
      memcmp(part->dims, whole->dims, (size_t)part->order * sizeof *part->dims) == 0)
    return POLYAD_OK;
  return pd_fail(context, POLYAD_MISMATCH, "the part and the whole have other dims");
}

polyad_status polyad_tensor_add_negatives(polyad_context *context, const polyad_tensor *part,
                                          const polyad_tensor *whole, int each, int mode,
                                          polyad_tensor **out) {
  struct list list = {0};
  polyad_tensor *made = NULL;
  polyad_status status = POLYAD_OK;
  PD_ENTER(context);
  if (out != NULL) *out = NULL;
  PD_EXPECT(context, part != NULL && whole != NULL && out != NULL, "part, whole or out is NULL");
  PD_TRY(tensor_negatives_check(context, part, whole, each, mode));
  uint64_t room = pd_mul_saturated(part->nnz, 1 + (uint64_t)each);
  for (int n = 0; n < part->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, room, (size_t)part->index_bytes[n], &list.index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, room, pd_type_bytes(part->type), &list.values));
  tensor_negatives_fill(part, whole, polyad_seed(context), each, mode, &list);
  PD_TRY_CLEANUP(pd_tensor_create_take(context, part->order, part->dims, list.count, part->type,
                                       list.index, &list.values, POLYAD_DUPLICATES_FIRST,
                                       POLYAD_ZEROS_KEEP, &made));
  for (int n = 0; n < part->order; ++n)
    PD_TRY_CLEANUP(pd_tensor_copy_names(context, part, n, made));
  *out = made;
  made = NULL;
cleanup:
  for (int n = 0; n < part->order; ++n)
    pd_free(context, list.index[n]);
  pd_free(context, list.values);
  polyad_tensor_destroy(made);
  return status;
}
