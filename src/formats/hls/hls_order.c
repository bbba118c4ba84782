/* The order in which kernels visit tiles and single nonzeros for one output mode. It belongs to
 * workspaces: the stored copy serves every mode. */
#include "formats/hls/hls_layout.h"

uint64_t pd_hls_order_bytes(const struct pd_hls *hls, int mode) {
  uint64_t lines = hls->place[mode] >= 0 ? pd_hls_tiles_along(hls->dims[mode]) : hls->dims[mode];
  return 4 * (hls->tiles + hls->sparse_nnz + lines + hls->dims[mode] + 2);
}

void pd_hls_order_clear(polyad_context *context, struct pd_hls_order *order) {
  pd_free(context, order->tile);
  pd_free(context, order->tile_start);
  pd_free(context, order->nonzero);
  pd_free(context, order->row_start);
  *order = (struct pd_hls_order){0};
}

/* Counting sort, stable: from start[k + 1] = members of line k to their places. */
static void sum_up(uint32_t *start, uint64_t lines) {
  for (uint64_t k = 0; k < lines; ++k)
    start[k + 1] += start[k];
}

/* After placing, start[k] is where line k ends: shift back to where it begins. */
static void shift_back(uint32_t *start, uint64_t lines) {
  for (uint64_t k = lines; k > 0; --k)
    start[k] = start[k - 1];
  start[0] = 0;
}

static void order_tiles(const struct pd_hls *hls, int mode, struct pd_hls_order *order) {
  uint32_t *start = order->tile_start;
  for (uint64_t t = 0; t < hls->tiles; ++t)
    start[pd_hls_tile_index(hls, mode, t) + 1]++;
  sum_up(start, order->lines);
  for (uint64_t t = 0; t < hls->tiles; ++t)
    order->tile[start[pd_hls_tile_index(hls, mode, t)]++] = (uint32_t)t;
  shift_back(start, order->lines);
}

static void order_nonzeros(const struct pd_hls *hls, int mode, struct pd_hls_order *order) {
  uint32_t *start = order->row_start;
  for (uint64_t p = 0; p < hls->sparse_nnz; ++p)
    start[pd_hls_index(hls, mode, p) + 1]++;
  sum_up(start, order->rows);
  for (uint64_t p = 0; p < hls->sparse_nnz; ++p)
    order->nonzero[start[pd_hls_index(hls, mode, p)]++] = (uint32_t)p;
  shift_back(start, order->rows);
}

polyad_status pd_hls_order_create(polyad_context *context, const struct pd_hls *hls, int mode,
                                  struct pd_hls_order *order) {
  polyad_status status = POLYAD_OK;
  uint64_t dim = hls->dims[mode];
  *order = (struct pd_hls_order){.lines = hls->place[mode] >= 0 ? pd_hls_tiles_along(dim) : dim,
                                 .rows = dim};
  PD_TRY_CLEANUP(PD_NEW(context, hls->tiles, &order->tile));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, order->lines + 1, &order->tile_start));
  PD_TRY_CLEANUP(PD_NEW(context, hls->sparse_nnz, &order->nonzero));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, order->rows + 1, &order->row_start));
  order_tiles(hls, mode, order);
  order_nonzeros(hls, mode, order);
cleanup:
  if (status != POLYAD_OK) pd_hls_order_clear(context, order);
  return status;
}
