/* Fragments that a block makes for its own tile, in shared memory: where a block has one tile, a
 * pass over whole factors before the kernel costs more than reading 16 of their rows here.
 *
 * The power of two that brings a column into the range of half precision follows from these 16 rows
 * alone. It is at most that of the whole column, so rounding is never coarser than that of
 * fragments that were packed before. */
#ifndef PD_HLS_OWN_CUH
#define PD_HLS_OWN_CUH

#include "formats/hls/hls_tile.cuh"

template <class V> struct OwnFragments {
  enum { MOST = 6, QUADS = sizeof(Fragment<V>) / sizeof(uint4) };
  uint4 fragment[MOST][PD_HLS_LANES * QUADS];
  float scale[MOST][PD_HLS_BLOCK]; /* what the columns were divided by */

  /* A warp makes fragment `f` from the 16 rows of a tile and the 16 columns of a block. */
  __device__ void make(const struct pd_hls_input &in, uint64_t tile, int block, uint32_t lane,
                       int f) {
    float x[PD_HLS_PAIRS][2], divisor[2];
#pragma unroll
    for (int p = 0; p < PD_HLS_PAIRS; ++p)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        int column = block * PD_HLS_BLOCK + (int)pd_hls_pair_r(lane, p);
        uint64_t row = tile * PD_HLS_SIDE + pd_hls_pair_x(lane, p) + (uint64_t)e;
        x[p][e] = row < in.dim && column < in.rank ? __ldg(float_row(in, row) + column) : 0.0f;
      }
#pragma unroll
    for (int high = 0; high < 2; ++high) {
      divisor[high] = column_divisor(x[high], x[2 + high]);
      if (lane % 4 == 0) scale[f][pd_hls_pair_r(lane, high)] = divisor[high];
    }
    Fragment<V> out;
#pragma unroll
    for (int p = 0; p < PD_HLS_PAIRS; ++p) {
      float inverse = 1 / divisor[p % 2]; /* exact */
      out.p[p] = V::pair(x[p][0] * inverse, x[p][1] * inverse);
    }
#pragma unroll
    for (int q = 0; q < QUADS; ++q)
      fragment[f][lane * QUADS + q] = reinterpret_cast<const uint4 *>(out.p)[q];
  }

  __device__ __forceinline__ Fragment<V> load(int f, uint32_t lane) const {
    Fragment<V> in;
#pragma unroll
    for (int q = 0; q < QUADS; ++q)
      reinterpret_cast<uint4 *>(in.p)[q] = fragment[f][lane * QUADS + q];
    return in;
  }

private:
  /* What a column is divided by, four neighbouring lanes of which have four numbers each. */
  static __device__ __forceinline__ float column_divisor(const float low[2], const float high[2]) {
    if (!V::SCALED) return 1;
    uint32_t most = 0; /* magnitudes order as their bits do */
#pragma unroll
    for (int e = 0; e < 2; ++e)
      most = max(most, max(__float_as_uint(fabsf(low[e])), __float_as_uint(fabsf(high[e]))));
    most = max(most, __shfl_xor_sync(0xffffffffu, most, 1));
    return scale_above(max(most, __shfl_xor_sync(0xffffffffu, most, 2)));
  }
};

static_assert(sizeof(OwnFragments<F16>) <= PD_HLS_CELLS * sizeof(F16::Stored) &&
                  sizeof(OwnFragments<TF32>) <= PD_HLS_CELLS * sizeof(TF32::Stored),
              "a tile's fragments lie where a second tile would");

#endif
