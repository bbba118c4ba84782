/* Decodes the nonzeros of "hls", values as they are stored, rounded: those of dense tiles first,
 * by the set bits of the tiles' bitmaps, then the single ones. */
#include "core/numbers.h"
#include "formats/hls/hls_layout.h"
#include <math.h>

static double hls_decode_value_at(const struct pd_hls *hls, const void *values, uint64_t p) {
  double stored = pd_hls_value_at(values, hls->value, p);
  return hls->exponent != 0 ? ldexp(stored, hls->exponent) : stored;
}

/* The tile of dense nonzero p: the last one that begins at or before it and is not empty. */
static uint64_t hls_decode_tile_of(const struct pd_hls *hls, uint64_t p) {
  return pd_id_find(hls->b_vals_ptr, (int)sizeof *hls->b_vals_ptr, 0, hls->tiles, p);
}

/* The cell that holds nonzero `which` of a tile. */
static uint32_t cell_of(const uint32_t *bitmap, uint64_t which) {
  uint32_t word = 0;
  while ((uint64_t)__builtin_popcount(bitmap[word]) <= which)
    which -= (uint64_t)__builtin_popcount(bitmap[word++]);
  uint32_t bits = bitmap[word];
  for (; which > 0; --which)
    bits &= bits - 1;
  return word * 32 + (uint32_t)__builtin_ctz(bits);
}

/* The next cell of a tile that holds a nonzero; there is one. */
static uint32_t next_cell(const uint32_t *bitmap, uint32_t cell) {
  do
    ++cell;
  while ((bitmap[cell / 32] >> cell % 32 & 1) == 0);
  return cell;
}

static void decode_dense(const struct pd_hls *hls, uint64_t first, int count,
                         struct pd_chunk *chunk) {
  uint64_t tile = hls_decode_tile_of(hls, first);
  uint32_t cell =
      cell_of(hls->b_bmp + tile * PD_HLS_WORDS, first - (uint64_t)hls->b_vals_ptr[tile]);
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    if (hls->b_vals_ptr[tile + 1] <= p) {
      tile = hls_decode_tile_of(hls, p);
      cell = cell_of(hls->b_bmp + tile * PD_HLS_WORDS, 0);
    } else if (k > 0) {
      cell = next_cell(hls->b_bmp + tile * PD_HLS_WORDS, cell);
    }
    for (int n = 0; n < hls->order; ++n) {
      uint32_t at = pd_hls_tile_index(hls, n, tile);
      if (hls->place[n] >= 0) at = at * PD_HLS_SIDE + (cell >> (8 - 4 * hls->place[n]) & 15);
      chunk->index[n][k] = at;
    }
    chunk->value[k] = hls_decode_value_at(hls, hls->b_vals, p);
  }
}

void pd_hls_decode(const void *pointer, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_hls *hls = pointer;
  int dense = 0;
  if (first < hls->dense_nnz) {
    dense = hls->dense_nnz - first < (uint64_t)count ? (int)(hls->dense_nnz - first) : count;
    decode_dense(hls, first, dense, chunk);
  }
  for (int k = dense; k < count; ++k) {
    uint64_t p = first + (uint64_t)k - hls->dense_nnz;
    for (int n = 0; n < hls->order; ++n)
      chunk->index[n][k] = pd_hls_index(hls, n, p);
    chunk->value[k] = hls_decode_value_at(hls, hls->nnz_vals, p);
  }
}
