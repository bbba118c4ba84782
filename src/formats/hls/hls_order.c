/* The order in which kernels visit tiles and single nonzeros for one output mode. It belongs to
 * workspaces: the stored copy serves every mode. */
#include "formats/hls/hls_order.h"

uint64_t pd_hls_order_bytes(const struct pd_hls *hls, int mode) {
  struct pd_hls_order order = pd_hls_order_empty(hls, mode);
  return 4 * (hls->tiles + hls->sparse_nnz + order.lines + order.rows + 2);
}

void pd_hls_order_clear(polyad_context *context, struct pd_hls_order *order) {
  pd_free(context, order->tile);
  pd_free(context, order->tile_start);
  pd_free(context, order->nonzero);
  pd_free(context, order->row_start);
  *order = (struct pd_hls_order){0};
}

polyad_status pd_hls_order_create(polyad_context *context, const struct pd_hls *hls, int mode,
                                  struct pd_hls_order *order) {
  polyad_status status = POLYAD_OK;
  *order = pd_hls_order_empty(hls, mode);
  PD_TRY_CLEANUP(PD_NEW(context, hls->tiles, &order->tile));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, order->lines + 1, &order->tile_start));
  PD_TRY_CLEANUP(PD_NEW(context, hls->sparse_nnz, &order->nonzero));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, order->rows + 1, &order->row_start));
  pd_hls_order_tiles(hls, mode, order);
  pd_hls_order_nonzeros(hls, mode, order);
cleanup:
  if (status != POLYAD_OK) pd_hls_order_clear(context, order);
  return status;
}
