/* Invariants of format "hls". */
#include "formats/hls/hls_layout.h"
#include <math.h>

static polyad_status hls_check_broken(polyad_context *context, const char *part, uint64_t at,
                                      const char *what) {
  return pd_fail(context, POLYAD_INTERNAL, "hls, %s %llu: %s", part, (unsigned long long)at, what);
}

static uint32_t bits_of_tile(const struct pd_hls *hls, uint64_t tile) {
  uint32_t bits = 0;
  for (int w = 0; w < PD_HLS_WORDS; ++w)
    bits += (uint32_t)__builtin_popcount(hls->b_bmp[tile * PD_HLS_WORDS + (uint64_t)w]);
  return bits;
}

static int compare_tiles(const struct pd_hls *hls, uint64_t a, uint64_t b) {
  for (int n = 0; n < hls->order; ++n) {
    uint32_t x = pd_hls_tile_index(hls, n, a), y = pd_hls_tile_index(hls, n, b);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

/* Whether a cell of a tile lies inside the tensor. */
static bool inside(const struct pd_hls *hls, uint64_t tile, uint32_t cell) {
  for (int k = 0; k < PD_HLS_SPAN; ++k) {
    uint64_t index = (uint64_t)pd_hls_tile_index(hls, hls->span[k], tile) * PD_HLS_SIDE +
                     (cell >> (8 - 4 * k) & 15);
    if (index >= hls->dims[hls->span[k]]) return false;
  }
  return true;
}

static polyad_status check_tile(polyad_context *context, const struct pd_hls *hls, uint64_t t) {
  uint64_t begin = hls->b_vals_ptr[t], end = hls->b_vals_ptr[t + 1];
  if (end < begin || end - begin < (uint64_t)hls->threshold)
    return hls_check_broken(context, "tile", t, "fewer nonzeros than the threshold");
  if (bits_of_tile(hls, t) != end - begin)
    return hls_check_broken(context, "tile", t, "bitmap and offsets disagree");
  if (t > 0 && compare_tiles(hls, t - 1, t) >= 0)
    return hls_check_broken(context, "tile", t, "not in order");
  for (int n = 0; n < hls->order; ++n) {
    uint64_t limit = hls->place[n] >= 0 ? pd_hls_tiles_along(hls->dims[n]) : hls->dims[n];
    if (pd_hls_tile_index(hls, n, t) >= limit)
      return hls_check_broken(context, "tile", t, "its index is outside a mode");
  }
  for (uint32_t cell = 0; cell < PD_HLS_CELLS; ++cell)
    if ((hls->b_bmp[t * PD_HLS_WORDS + cell / 32] >> cell % 32 & 1) != 0 && !inside(hls, t, cell))
      return hls_check_broken(context, "tile", t, "a cell is outside the tensor");
  return POLYAD_OK;
}

/* Nonzeros of HLS-S are in the order of their tiles, then cells; no tile has enough to be dense. */
static int compare_nonzeros(const struct pd_hls *hls, uint64_t p, uint64_t q, bool *same_tile) {
  uint32_t cell_p = 0, cell_q = 0;
  *same_tile = true;
  for (int n = 0; n < hls->order; ++n) {
    uint32_t x = pd_hls_index(hls, n, p), y = pd_hls_index(hls, n, q);
    if (hls->place[n] >= 0) {
      cell_p = cell_p * PD_HLS_SIDE + x % PD_HLS_SIDE;
      cell_q = cell_q * PD_HLS_SIDE + y % PD_HLS_SIDE;
      x /= PD_HLS_SIDE;
      y /= PD_HLS_SIDE;
    }
    if (x == y) continue;
    *same_tile = false;
    return x < y ? -1 : 1;
  }
  return cell_p < cell_q ? -1 : cell_p > cell_q;
}

static polyad_status check_sparse(polyad_context *context, const struct pd_hls *hls) {
  uint64_t run = 1;
  for (uint64_t p = 0; p < hls->sparse_nnz; ++p) {
    bool same = false;
    for (int n = 0; n < hls->order; ++n)
      if (pd_hls_index(hls, n, p) >= hls->dims[n])
        return hls_check_broken(context, "nonzero", p, "an index is outside its mode");
    if (p > 0 && compare_nonzeros(hls, p - 1, p, &same) >= 0)
      return hls_check_broken(context, "nonzero", p, "not in order");
    run = same ? run + 1 : 1;
    if (run >= (uint64_t)hls->threshold)
      return hls_check_broken(context, "nonzero", p, "its tile has enough nonzeros to be dense");
  }
  return POLYAD_OK;
}

static polyad_status hls_check_check_values(polyad_context *context, const struct pd_hls *hls) {
  for (uint64_t p = 0; p < hls->nnz; ++p) {
    bool dense = p < hls->dense_nnz;
    double x = pd_hls_value_at(dense ? hls->b_vals : hls->nnz_vals, hls->value,
                               dense ? p : p - hls->dense_nnz);
    if (!isfinite(x)) return hls_check_broken(context, "value", p, "not finite");
  }
  return POLYAD_OK;
}

polyad_status pd_hls_check(polyad_context *context, const void *pointer) {
  const struct pd_hls *hls = pointer;
  if (hls->dense_nnz + hls->sparse_nnz != hls->nnz || hls->b_vals_ptr[0] != 0 ||
      hls->b_vals_ptr[hls->tiles] != hls->dense_nnz)
    return hls_check_broken(context, "offset", hls->tiles,
                            "the parts do not add up to the nonzeros");
  for (uint64_t t = 0; t < hls->tiles; ++t)
    PD_TRY(check_tile(context, hls, t));
  PD_TRY(check_sparse(context, hls));
  return hls_check_check_values(context, hls);
}
