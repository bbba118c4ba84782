/* Nonzeros in the order of their output rows, and searching in offsets. */
#include "core/radix_sort.h"
#include "formats/rowsum/driver.h"
#include "formats/ttmc/ttmc_source.h"

uint64_t pd_ttmc_find(const void *start, int bytes, uint64_t nodes, uint64_t hint, uint64_t x) {
  uint64_t low = hint < nodes ? hint : 0, high = nodes, step = 1;
  if (pd_id_at(start, bytes, low) > x) {
    high = low;
    low = 0;
  } else {
    while (low + step < nodes && pd_id_at(start, bytes, low + step) <= x) {
      low += step;
      step *= 2;
    }
    if (low + step < nodes) high = low + step;
  }
  return pd_id_find(start, bytes, low, high, x);
}

uint64_t pd_ttmc_order_bytes(uint64_t segments, bool single) {
  uint64_t first = segments <= UINT32_MAX ? 4 : 8, begin = single ? 0 : 8;
  return pd_mul_saturated(first + begin, pd_add_saturated(segments, 1));
}

void pd_ttmc_order_clear(polyad_context *context, struct pd_ttmc_order *order) {
  PD_FREE(context, order->first, order->begin);
  *order = (struct pd_ttmc_order){0};
}

/* From the numbers of the segments, sorted, to where they begin. */
static void ttmc_order_set_places(const struct pd_ttmc_segments *s, struct pd_ttmc_order *order) {
  uint64_t at = 0;
  for (uint64_t k = 0; k < s->count; ++k) {
    uint64_t which = pd_id_at(order->first, order->bytes, k);
    if (s->start == NULL) continue; /* a segment's number is its nonzero's */
    uint64_t from = s->start(s->storage, s->mode, which);
    pd_id_put(order->first, order->bytes, k, from);
    order->begin[k] = at;
    at += s->start(s->storage, s->mode, which + 1) - from;
  }
  if (s->start != NULL) order->begin[s->count] = at;
}

polyad_status pd_ttmc_order_create(polyad_context *context, const struct pd_ttmc_segments *s,
                                   struct pd_ttmc_order *order) {
  polyad_status status = POLYAD_OK;
  void *rows = NULL;
  int row_bytes = pd_index_bytes(s->dim);
  /* Places of nonzeros: there may be more of them than segments. */
  uint64_t nonzeros = s->start == NULL ? s->count : s->start(s->storage, s->mode, s->count);
  *order = (struct pd_ttmc_order){.segments = s->count, .bytes = nonzeros <= UINT32_MAX ? 4 : 8};
  PD_TRY_CLEANUP(pd_alloc(context, s->count, (size_t)row_bytes, &rows));
  PD_TRY_CLEANUP(pd_alloc(context, s->count, (size_t)order->bytes, &order->first));
  if (s->start != NULL)
    PD_TRY_CLEANUP(PD_NEW(context, pd_add_saturated(s->count, 1), &order->begin));
  for (uint64_t k = 0; k < s->count; ++k)
    pd_id_put(rows, row_bytes, k, s->row(s->storage, s->mode, k));
  struct pd_key key = {.values = rows, .bytes = row_bytes, .limit = s->dim};
  PD_TRY_CLEANUP(pd_sort_permutation(context, s->count, 1, &key, order->bytes, order->first));
  ttmc_order_set_places(s, order);
cleanup:
  pd_free(context, rows);
  if (status != POLYAD_OK) pd_ttmc_order_clear(context, order);
  return status;
}
