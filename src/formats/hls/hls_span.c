/* Which three modes a tile spans: those with which most nonzeros lie in dense tiles. */
#include "core/radix_sort.h"
#include "core/random.h"
#include "formats/hls/hls_layout.h"

enum { SAMPLE = 1 << 16 /* nonzeros that are looked at, about */ };

/* A number that nonzeros of one tile share, other tiles hardly ever. */
static uint64_t tile_hash(const polyad_tensor *tensor, const int *span, uint64_t p) {
  uint64_t hash = 0;
  for (int n = 0; n < tensor->order; ++n) {
    uint64_t index = pd_tensor_index(tensor, n, p);
    if (n == span[0] || n == span[1] || n == span[2]) index /= PD_HLS_SIDE;
    hash += pd_mix64(index * 16 + (uint64_t)n + 1);
  }
  return pd_mix64(hash);
}

static uint64_t count_sample(const polyad_tensor *tensor, const int *span, uint64_t share,
                             uint64_t begin, uint64_t end, uint64_t *sample) {
  uint64_t found = 0;
  for (uint64_t p = begin; p < end; ++p) {
    uint64_t hash = tile_hash(tensor, span, p);
    if (hash % share != 0) continue;
    if (sample != NULL) sample[found] = hash;
    ++found;
  }
  return found;
}

/* Nonzeros in dense tiles among the tiles whose hash is a multiple of `share`. */
static polyad_status count_dense(polyad_context *context, const polyad_tensor *tensor,
                                 const int *span, uint64_t share, int threshold, uint64_t *dense) {
  polyad_status status = POLYAD_OK;
  int threads = pd_threads_for(context, tensor->nnz, 1 << 16);
  uint64_t *start = NULL, *sample = NULL, nnz = tensor->nnz;
  *dense = 0;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, (uint64_t)threads + 1, &start));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    start[t + 1] = count_sample(tensor, span, share, pd_part_begin(nnz, t, threads),
                                pd_part_begin(nnz, t + 1, threads), NULL);
  for (int t = 0; t < threads; ++t)
    start[t + 1] += start[t];
  PD_TRY_CLEANUP(PD_NEW(context, start[threads], &sample));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    (void)count_sample(tensor, span, share, pd_part_begin(nnz, t, threads),
                       pd_part_begin(nnz, t + 1, threads), sample + start[t]);
  PD_TRY_CLEANUP(pd_sort_u64(context, start[threads], sample, 64, NULL, 0));
  for (uint64_t p = 0, q; p < start[threads]; p = q) {
    for (q = p + 1; q < start[threads] && sample[q] == sample[p]; ++q)
      continue;
    if (q - p >= (uint64_t)threshold) *dense += q - p;
  }
cleanup:
  PD_FREE(context, sample, start);
  return status;
}

polyad_status pd_hls_choose_span(polyad_context *context, const polyad_tensor *tensor,
                                 int threshold, int span[PD_HLS_SPAN]) {
  uint64_t share = tensor->nnz / SAMPLE + 1, best = 0;
  for (int k = 0; k < PD_HLS_SPAN; ++k)
    span[k] = k;
  /* No tile is dense: one choice is as good as another. */
  if (tensor->order == PD_HLS_SPAN || threshold > PD_HLS_CELLS) return POLYAD_OK;
  for (int a = 0; a < tensor->order; ++a)
    for (int b = a + 1; b < tensor->order; ++b)
      for (int c = b + 1; c < tensor->order; ++c) {
        int tried[PD_HLS_SPAN] = {a, b, c};
        uint64_t dense;
        PD_TRY(count_dense(context, tensor, tried, share, threshold, &dense));
        if (dense <= best) continue;
        best = dense;
        for (int k = 0; k < PD_HLS_SPAN; ++k)
          span[k] = tried[k];
      }
  return POLYAD_OK;
}
