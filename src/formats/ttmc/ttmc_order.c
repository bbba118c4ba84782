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

/* The indices in one mode, as a key to sort by. */
static polyad_status ttmc_order_make_key(polyad_context *context, const struct pd_ttmc_segments *s,
                                         int mode, uint64_t dim, void **values,
                                         struct pd_key *key) {
  int bytes = pd_index_bytes(dim);
  PD_TRY(pd_alloc(context, s->count, (size_t)bytes, values));
  for (uint64_t k = 0; k < s->count; ++k)
    pd_id_put(*values, bytes, k, s->row(s->storage, mode, k));
  *key = (struct pd_key){.values = *values, .bytes = bytes, .limit = dim};
  return POLYAD_OK;
}

polyad_status pd_ttmc_order_create(polyad_context *context, const struct pd_ttmc_segments *s,
                                   struct pd_ttmc_order *order) {
  polyad_status status = POLYAD_OK;
  void *values[POLYAD_MAX_ORDER] = {NULL};
  struct pd_key key[POLYAD_MAX_ORDER];
  /* Places of nonzeros: there may be more of them than segments. */
  uint64_t nonzeros = s->start == NULL ? s->count : s->start(s->storage, s->mode, s->count);
  *order = (struct pd_ttmc_order){.segments = s->count, .bytes = nonzeros <= UINT32_MAX ? 4 : 8};
  PD_TRY_CLEANUP(pd_alloc(context, s->count, (size_t)order->bytes, &order->first));
  if (s->start != NULL)
    PD_TRY_CLEANUP(PD_NEW(context, pd_add_saturated(s->count, 1), &order->begin));
  PD_TRY_CLEANUP(ttmc_order_make_key(context, s, s->mode, s->dim, &values[0], &key[0]));
  for (int n = 0; n < s->inner; ++n)
    PD_TRY_CLEANUP(ttmc_order_make_key(context, s, s->inner_mode[n], s->dims[s->inner_mode[n]],
                                       &values[n + 1], &key[n + 1]));
  PD_TRY_CLEANUP(
      pd_sort_permutation(context, s->count, 1 + s->inner, key, order->bytes, order->first));
  ttmc_order_set_places(s, order);
cleanup:
  for (int n = 0; n <= s->inner; ++n)
    pd_free(context, values[n]);
  if (status != POLYAD_OK) pd_ttmc_order_clear(context, order);
  return status;
}
