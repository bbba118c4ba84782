/* Back from "hls" to a tensor: values as they are stored, rounded. */
#include "formats/hls/hls_layout.h"
#include <math.h>

static void put(const struct pd_hls *hls, void *values, uint64_t p, double stored) {
  double x = hls->exponent != 0 ? ldexp(stored, hls->exponent) : stored;
  if (hls->type == POLYAD_F32)
    ((float *)values)[p] = (float)x;
  else
    ((double *)values)[p] = x;
}

static void expand_tile(const struct pd_hls *hls, uint64_t tile, void **index, void *values) {
  uint64_t p = hls->b_vals_ptr[tile];
  for (uint32_t cell = 0; cell < PD_HLS_CELLS; ++cell) {
    if ((hls->b_bmp[tile * PD_HLS_WORDS + cell / 32] >> cell % 32 & 1) == 0) continue;
    for (int n = 0; n < hls->order; ++n) {
      uint32_t at = pd_hls_tile_index(hls, n, tile);
      if (hls->place[n] >= 0) at = at * PD_HLS_SIDE + (cell >> (8 - 4 * hls->place[n]) & 15);
      ((uint32_t *)index[n])[p] = at;
    }
    put(hls, values, p, pd_hls_value_at(hls->b_vals, hls->value, p));
    ++p;
  }
}

static void expand_all(polyad_context *context, const struct pd_hls *hls, void **index,
                       void *values) {
  int threads = pd_threads_for(context, hls->nnz, 1 << 13);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (uint64_t t = 0; t < hls->tiles; ++t)
      expand_tile(hls, t, index, values);
#pragma omp for schedule(static)
    for (uint64_t p = 0; p < hls->sparse_nnz; ++p) {
      for (int n = 0; n < hls->order; ++n)
        ((uint32_t *)index[n])[hls->dense_nnz + p] = pd_hls_index(hls, n, p);
      put(hls, values, hls->dense_nnz + p, pd_hls_value_at(hls->nnz_vals, hls->value, p));
    }
  }
}

polyad_status pd_hls_expand(polyad_context *context, const void *pointer, polyad_tensor **tensor) {
  const struct pd_hls *hls = pointer;
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  for (int n = 0; n < hls->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, hls->nnz, sizeof(uint32_t), &index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, hls->nnz, pd_type_bytes(hls->type), &values));
  expand_all(context, hls, index, values);
  status = pd_tensor_create_take(context, hls->order, hls->dims, hls->nnz, hls->type, index,
                                 &values, POLYAD_DUPLICATES_SUM, tensor);
cleanup:
  for (int n = 0; n < hls->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
