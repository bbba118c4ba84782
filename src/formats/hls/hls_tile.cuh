/* What the kernels of "hls" share: indices, bitmaps into shared memory, rows of other modes. */
#ifndef PD_HLS_TILE_CUH
#define PD_HLS_TILE_CUH

#include "formats/hls/hls_launch.h"
#include "formats/hls/hls_mma.cuh"

__device__ __forceinline__ uint32_t packed(const uint32_t *words, uint64_t at, int width) {
  uint32_t low = __ldg(words + at / 32), high = __ldg(words + at / 32 + 1);
  uint32_t bits = __funnelshift_r(low, high, (uint32_t)(at % 32));
  return width == 32 ? bits : bits & ((1u << width) - 1);
}

__device__ __forceinline__ uint32_t tile_index(const struct pd_hls_run &a, int mode,
                                               uint64_t tile) {
  const struct pd_hls_input &in = a.input[mode];
  return packed(a.b_inds, tile * (uint64_t)a.tile_linear_bits + (uint64_t)in.tile_shift,
                in.tile_bits);
}

__device__ __forceinline__ uint32_t nonzero_index(const struct pd_hls_run &a, int mode,
                                                  uint64_t p) {
  const struct pd_hls_input &in = a.input[mode];
  return packed(a.nnz_inds, p * (uint64_t)a.linear_bits + (uint64_t)in.shift, in.bits);
}

__device__ __forceinline__ const float *float_row(const struct pd_hls_input &in, uint64_t index) {
  return static_cast<const float *>(in.rows) + index * in.stride;
}

/* Copies the values whose bits are set in `bits`, the first of which is cell `first` of the bitmap,
 * from `at` on. */
template <class V>
__device__ __forceinline__ void scatter(int output, uint32_t bits, uint32_t first,
                                        const typename V::Stored *values,
                                        typename V::Stored *cells) {
  struct pd_hls_steps steps = pd_hls_steps_of(output);
  uint32_t origin = pd_hls_cell(output, first);
  for (; bits != 0; bits &= bits - 1, ++values) {
    uint32_t bit = (uint32_t)(__ffs((int)bits) - 1);
    uint32_t place = origin + bit % 16 * steps.next + bit / 16 * steps.half;
    cells[pd_hls_bank(place, (int)sizeof *cells)] = V::cell(__ldg(values));
  }
}

/* The power of two above a column's largest magnitude, whose bits are given: entries divided by it
 * are below one, where half precision is finest. 1 where the largest is not a normal number. */
__device__ __forceinline__ float scale_above(uint32_t most) {
  if (most < 0x00800000u || most >= 0x7f800000u) return 1;
  uint32_t above = (most >> 23) + 1; /* most < 2^(above - 127) */
  return __uint_as_float((above < 254 ? above : 254) << 23);
}

/* The 128 bits of a tile's bitmap that a lane looks after, and the place of a value. */
struct Share {
  uint32_t word[4];
  uint32_t first;
};

/* As it lies in memory: `first` is the place of the tile's first value. By itself, so that other
 * loads can follow before anything waits for this one. */
__device__ __forceinline__ Share load_share(const struct pd_hls_run &a, uint32_t tile,
                                            uint32_t lane) {
  uint4 raw =
      __ldg(reinterpret_cast<const uint4 *>(a.b_bmp + (uint64_t)tile * PD_HLS_WORDS) + lane);
  return {{raw.x, raw.y, raw.z, raw.w}, __ldg(a.b_vals_ptr + tile)};
}

/* Moves `first` on to the lane's first value: an exclusive prefix sum over the warp. */
__device__ __forceinline__ Share find_first(Share share, uint32_t lane) {
  uint32_t own = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    own += __popc(share.word[k]);
  uint32_t sum = own;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    uint32_t before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += before;
  }
  share.first += sum - own;
  return share;
}

template <class V, uint32_t THREADS>
__device__ __forceinline__ void zero_cells(typename V::Stored *cells, uint32_t thread) {
  constexpr uint32_t QUADS = PD_HLS_CELLS * sizeof(typename V::Stored) / sizeof(uint4);
#pragma unroll
  for (uint32_t q = 0; q < QUADS; q += THREADS)
    reinterpret_cast<uint4 *>(cells)[q + thread] = make_uint4(0, 0, 0, 0);
}

/* One warp expands a tile. */
template <class V>
__device__ __forceinline__ void expand_by_warp(const struct pd_hls_run &a, uint32_t tile,
                                               uint32_t lane, typename V::Stored *cells) {
  int output = a.output < 0 ? 0 : a.output;
  Share share = find_first(load_share(a, tile, lane), lane);
  __syncwarp(); /* the tile before has been read */
  zero_cells<V, 32>(cells, lane);
  __syncwarp();
  const typename V::Stored *values =
      static_cast<const typename V::Stored *>(a.b_vals) + share.first;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    scatter<V>(output, share.word[k], (lane * 4 + k) * 32, values, cells);
    values += __popc(share.word[k]);
  }
  __syncwarp();
}

/* All warps of a block expand a tile, whose bitmap they have loaded: of each lane's 128 bits every
 * warp takes as many. Successive tiles go to two places in turn: a warp that is ahead then clears
 * what nobody reads any more. */
template <class V, uint32_t WARPS>
__device__ __forceinline__ void expand_by_block(const struct pd_hls_run &a, const Share &loaded,
                                                typename V::Stored *cells) {
  constexpr uint32_t BITS = 128 / WARPS;
  static_assert(BITS <= 32, "a warp takes bits of one word");
  uint32_t lane = threadIdx.x % 32, bit = threadIdx.x / 32 * BITS;
  Share share = find_first(loaded, lane);
  zero_cells<V, 32 * WARPS>(cells, threadIdx.x);
  __syncthreads();
  uint32_t first = share.first, mine = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    if (k < bit / 32) first += __popc(share.word[k]);
    if (k == bit / 32) mine = share.word[k];
  }
  if (BITS < 32) {
    first += __popc(mine & ((1u << bit % 32) - 1));
    mine = mine >> bit % 32 & ((1u << BITS % 32) - 1);
  }
  scatter<V>(a.output < 0 ? 0 : a.output, mine, lane * 128 + bit,
             static_cast<const typename V::Stored *>(a.b_vals) + first, cells);
  __syncthreads();
}

/* The right operand X(s)': two blocks of 8 columns, two halves of the sum. */
template <class V>
__device__ __forceinline__ void load_slice(const typename V::Stored *cells, uint32_t slice,
                                           uint32_t lane, typename V::Pair x[2][2]) {
#pragma unroll
  for (int block = 0; block < 2; ++block)
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      /* The bank does not depend on the slice. */
      uint32_t place = pd_hls_bank(pd_hls_slice_place(lane, 0, block, step), (int)sizeof *cells);
      x[block][step] = *reinterpret_cast<const typename V::Pair *>(
          cells + slice * (PD_HLS_SIDE * PD_HLS_SIDE) + place);
    }
}

#endif
