/* The order of one mode, filled into arrays that the caller made: libpolyad and device modules
 * have their own ways of making them. */
#ifndef PD_HLS_ORDER_H
#define PD_HLS_ORDER_H

#include "formats/hls/hls_layout.h"

/** The order's sizes, no arrays. */
static inline struct pd_hls_order pd_hls_order_empty(const struct pd_hls *hls, int mode) {
  uint64_t dim = hls->dims[mode];
  return (struct pd_hls_order){.lines = hls->place[mode] >= 0 ? pd_hls_tiles_along(dim) : dim,
                               .rows = dim};
}

/* From start[k + 1] = members of line k to where each line begins. */
static inline void pd_hls_sum_up(uint32_t *start, uint64_t lines) {
  for (uint64_t k = 0; k < lines; ++k)
    start[k + 1] += start[k];
}

/* After placing, start[k] is where line k ends: back to where it begins. */
static inline void pd_hls_shift_back(uint32_t *start, uint64_t lines) {
  for (uint64_t k = lines; k > 0; --k)
    start[k] = start[k - 1];
  start[0] = 0;
}

/** Sorts tiles by counting, stable. tile_start is zero before. */
static inline void pd_hls_order_tiles(const struct pd_hls *hls, int mode,
                                      struct pd_hls_order *order) {
  for (uint64_t t = 0; t < hls->tiles; ++t)
    order->tile_start[pd_hls_tile_index(hls, mode, t) + 1]++;
  pd_hls_sum_up(order->tile_start, order->lines);
  for (uint64_t t = 0; t < hls->tiles; ++t)
    order->tile[order->tile_start[pd_hls_tile_index(hls, mode, t)]++] = (uint32_t)t;
  pd_hls_shift_back(order->tile_start, order->lines);
}

/** Sorts single nonzeros likewise. row_start is zero before. */
static inline void pd_hls_order_nonzeros(const struct pd_hls *hls, int mode,
                                         struct pd_hls_order *order) {
  for (uint64_t p = 0; p < hls->sparse_nnz; ++p)
    order->row_start[pd_hls_index(hls, mode, p) + 1]++;
  pd_hls_sum_up(order->row_start, order->rows);
  for (uint64_t p = 0; p < hls->sparse_nnz; ++p)
    order->nonzero[order->row_start[pd_hls_index(hls, mode, p)]++] = (uint32_t)p;
  pd_hls_shift_back(order->row_start, order->rows);
}

#endif
