/* The order in which kernels visit tiles and single nonzeros for one output mode. It belongs to
 * workspaces: the stored copy serves every mode. */
#include "formats/hls/hls_order.h"

uint64_t pd_hls_order_bytes(const struct pd_hls *hls, int mode) {
  struct pd_hls_order order = pd_hls_order_empty(hls, mode);
  return 4 * (hls->tiles + hls->sparse_nnz + order.lines + order.rows + 2);
}

polyad_status pd_hls_order_create(struct pd_scratch *owner, const struct pd_hls *hls, int mode,
                                  struct pd_hls_order *order) {
  *order = pd_hls_order_empty(hls, mode);
  PD_TRY(PD_SCRATCH(owner, hls->tiles, &order->tile));
  PD_TRY(PD_SCRATCH_ZERO(owner, order->lines + 1, &order->tile_start));
  PD_TRY(PD_SCRATCH(owner, hls->sparse_nnz, &order->nonzero));
  PD_TRY(PD_SCRATCH_ZERO(owner, order->rows + 1, &order->row_start));
  pd_hls_order_tiles(hls, mode, order);
  pd_hls_order_nonzeros(hls, mode, order);
  return POLYAD_OK;
}
