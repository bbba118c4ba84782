/* The tensor-times-matrix chain of "hls" (equation 7): Y(s) = J' (X(s) K) on tensor cores.
 *
 * Order 3: a block of eight warps takes a segment of tiles with the same 16 output rows; warp w has
 * slices 2 w and 2 w + 1 and keeps 16 Q x 16 P numbers of each output row in registers for the
 * whole segment: K' X(s)' is made with mma.sync, rounded, and is the left operand of the product
 * with J as it lies. A warp takes an item of single nonzeros; a lane has one column of the last
 * mode and 16 of the first; where no more columns are wanted than that, half a warp has them all,
 * and the halves take every other nonzero each.
 *
 * More modes: a warp per segment adds each product, times every combination of the other modes'
 * columns, to the segment's sums in memory, which no other warp touches. */
#ifndef PD_HLS_CHAIN_CUH
#define PD_HLS_CHAIN_CUH

#include "formats/hls/hls_mttkrp.cuh"

enum { PD_HLS_CHAIN_THREADS = 256 };

/* ---- order 3 --------------------------------------------------------------------------------- */

__device__ __forceinline__ void put_chain(const struct pd_hls_run &a, uint32_t segment,
                                          uint64_t tile_row, uint32_t slice, uint64_t column,
                                          float sum) {
  if (!a.atomic) {
    static_cast<float *>(
        a.dense_sums)[((uint64_t)segment * PD_HLS_SIDE + slice) * a.columns + column] = sum;
    return;
  }
  uint64_t row = tile_row * PD_HLS_SIDE + slice;
  if (row < a.input[a.mode].dim) atomicAdd(a.sums + row * a.columns + column, sum);
}

/* The fragments of a tile, a warp each: Q of k, then P of j. */
template <class V, int Q, int P>
__device__ __forceinline__ void make_chain_fragments(const struct pd_hls_run &a, uint32_t tile,
                                                     int first_k, int first_j,
                                                     OwnFragments<V> *own) {
  static_assert(Q + P <= OwnFragments<V>::MOST && Q + P <= PD_HLS_CHAIN_THREADS / 32,
                "there is a place and a warp for each");
  int f = (int)(threadIdx.x / 32);
  if (f >= Q + P) return;
  int mode = f < Q ? a.mode_k : a.mode_j;
  own->make(a.input[mode], tile_index(a, mode, tile), f < Q ? first_k + f : first_j + f - Q,
            threadIdx.x % 32, f);
}

/* What a block has of the factors of one tile. */
template <class V, int Q, int P> struct ChainFactors {
  Fragment<V> k[Q], j[P];

  __device__ void load(const struct pd_hls_run &a, uint32_t tile, int first_k, int first_j,
                       uint32_t lane) {
    const struct pd_hls_input &in_k = a.input[a.mode_k], &in_j = a.input[a.mode_j];
    uint64_t tile_k = tile_index(a, a.mode_k, tile), tile_j = tile_index(a, a.mode_j, tile);
#pragma unroll
    for (int q = 0; q < Q; ++q)
      k[q].load(in_k.fragment, tile_k * (uint64_t)in_k.blocks + (uint64_t)(first_k + q), lane);
#pragma unroll
    for (int p = 0; p < P; ++p)
      j[p].load(in_j.fragment, tile_j * (uint64_t)in_j.blocks + (uint64_t)(first_j + p), lane);
  }

  __device__ void load(const OwnFragments<V> &own, uint32_t lane) {
#pragma unroll
    for (int q = 0; q < Q; ++q)
      k[q] = own.load(q, lane);
#pragma unroll
    for (int p = 0; p < P; ++p)
      j[p] = own.load(Q + p, lane);
  }
};

/* OWN: the segment is one tile, and its fragments are made where a second tile would lie. */
template <class V, int Q, int P, bool OWN>
__device__ void chain_segment(const struct pd_hls_run &a, uint32_t segment, int first_k,
                              int first_j, typename V::Stored *cells) {
  const struct pd_hls_input &in_k = a.input[a.mode_k], &in_j = a.input[a.mode_j];
  uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum[2][Q][P][2][4];
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int q = 0; q < Q; ++q)
#pragma unroll
      for (int p = 0; p < P; ++p)
#pragma unroll
        for (int w = 0; w < 8; ++w)
          sum[i][q][p][w / 4][w % 4] = 0;
  uint32_t begin = segment, end = segment + 1, tile = segment;
  if (!OWN && !a.atomic) {
    begin = a.segment_start[segment];
    end = a.segment_start[segment + 1];
  }
  OwnFragments<V> *own = reinterpret_cast<OwnFragments<V> *>(cells + PD_HLS_CELLS);
  for (uint32_t place = begin; place < end; ++place) {
    if (OWN || !a.atomic) tile = __ldg(a.tile_order + place);
    typename V::Stored *here = cells + (place - begin) % 2 * PD_HLS_CELLS;
    ChainFactors<V, Q, P> factors;
    if (OWN) {
      Share share = load_share(a, tile, lane);
      make_chain_fragments<V, Q, P>(a, tile, first_k, first_j, own);
      expand_by_block<V, PD_HLS_CHAIN_THREADS / 32>(a, share, here);
      factors.load(*own, lane);
    } else {
      factors.load(a, tile, first_k, first_j, lane);
      expand_by_block<V, PD_HLS_CHAIN_THREADS / 32>(a, load_share(a, tile, lane), here);
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      typename V::Pair x[2][2], left[PD_HLS_PAIRS];
      load_slice<V>(here, warp * 2 + i, lane, x);
#pragma unroll
      for (int q = 0; q < Q; ++q) {
        float d[2][4];
        times_slice<V>(d, factors.k[q], x);
        as_left<V>(d, left);
#pragma unroll
        for (int p = 0; p < P; ++p) {
          times_right<V>(sum[i][q][p][0], left, factors.j[p], 0);
          times_right<V>(sum[i][q][p][1], left, factors.j[p], 1);
        }
      }
    }
  }
  uint64_t tile_row = !OWN && a.atomic ? tile_index(a, a.mode, tile) : 0;
#pragma unroll
  for (int q = 0; q < Q; ++q)
#pragma unroll
    for (int p = 0; p < P; ++p)
#pragma unroll
      for (int w = 0; w < 8; ++w) {
        int row = (first_k + q) * PD_HLS_BLOCK + (int)pd_hls_product_row(lane, w % 4);
        int column =
            (first_j + p) * PD_HLS_BLOCK + (w / 4) * 8 + (int)pd_hls_product_column(lane, w % 4);
        if (row >= in_k.rank || column >= in_j.rank) continue;
        float scale =
            OWN ? own->scale[q][row % PD_HLS_BLOCK] * own->scale[Q + p][column % PD_HLS_BLOCK]
                : in_k.scale[row] * in_j.scale[column];
        uint64_t at = (uint64_t)row * (uint64_t)in_j.rank + (uint64_t)column;
#pragma unroll
        for (uint32_t i = 0; i < 2; ++i)
          put_chain(a, segment, tile_row, warp * 2 + i, at, sum[i][q][p][w / 4][w % 4] * scale);
      }
}

/* Where a lane's numbers of a row of the output lie. */
struct ChainPlace {
  int column, first; /* of the last mode; of the first, the first of 16 */
};

__device__ __forceinline__ ChainPlace chain_place(const struct pd_hls_run &a, uint32_t part,
                                                  uint32_t lane) {
  int last = a.input[a.input_mode[1]].rank, across = last <= 16 ? 16 : 32;
  int parts = (last + across - 1) / across;
  return {(int)part % parts * across + (int)lane % across,
          ((int)part / parts * (32 / across) + (int)lane / across) * 16};
}

static inline uint32_t chain_parts(const struct pd_hls_run *run) {
  int first = run->input[run->input_mode[0]].rank, last = run->input[run->input_mode[1]].rank;
  int across = last <= 16 ? 16 : 32, down = 16 * (32 / across);
  return (uint32_t)((last + across - 1) / across * ((first + down - 1) / down));
}

template <class V>
__device__ void chain_item(const struct pd_hls_run &a, uint32_t item, uint32_t part,
                           uint32_t lane) {
  typedef typename V::Sum S;
  const struct pd_hls_input &in0 = a.input[a.input_mode[0]], &in1 = a.input[a.input_mode[1]];
  ChainPlace place = chain_place(a, part, lane);
  uint64_t begin = a.atomic ? (uint64_t)item * 32 : a.item_start[item];
  uint64_t end = a.atomic ? begin + 32 : a.item_start[item + 1];
  if (end > a.nonzeros) end = a.nonzeros;
  S sum[16];
#pragma unroll
  for (int f = 0; f < 16; ++f)
    sum[f] = 0;
  for (uint64_t base = begin; base < end; base += 32) {
    Nonzero<V, 2> mine;
    mine.x = 0;
    mine.row = mine.index[0] = mine.index[1] = 0;
    if (base + lane < end) mine.load(a, base + lane);
    int count = end - base < 32 ? (int)(end - base) : 32;
#pragma unroll 2
    for (int turn = 0; turn < count; ++turn) {
      S x = __shfl_sync(0xffffffffu, mine.x, turn);
      uint32_t index0 = __shfl_sync(0xffffffffu, mine.index[0], turn);
      uint32_t index1 = __shfl_sync(0xffffffffu, mine.index[1], turn);
      uint32_t row = a.atomic ? __shfl_sync(0xffffffffu, mine.row, turn) : 0;
      if (place.column >= in1.rank) continue;
      S times = x * __ldg(static_cast<const S *>(in1.rows) +
                          (uint64_t)index1 * (uint32_t)in1.stride + place.column);
      const S *first = static_cast<const S *>(in0.rows) + (uint64_t)index0 * (uint32_t)in0.stride;
#pragma unroll
      for (int f = 0; f < 16; f += 4) {
        if (place.first + f >= in0.width) continue;
        Four<S> four = load_four(first + place.first + f);
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sum[f + e] += times * four.v[e];
      }
      if (!a.atomic) continue;
#pragma unroll
      for (int f = 0; f < 16; ++f) {
        if (place.first + f < in0.rank)
          atomicAdd(a.sums + row * a.columns + (uint64_t)(place.first + f) * (uint64_t)in1.rank +
                        (uint64_t)place.column,
                    (float)sum[f]);
        sum[f] = 0;
      }
    }
  }
  if (a.atomic || place.column >= in1.rank) return;
  S *to = static_cast<S *>(a.sparse_sums) + (uint64_t)item * a.columns + (uint64_t)place.column;
#pragma unroll
  for (int f = 0; f < 16; ++f)
    if (place.first + f < in0.rank) to[(uint64_t)(place.first + f) * (uint64_t)in1.rank] = sum[f];
}

/* An item where half a warp covers the row of the output, of at most 16 x 16 numbers: the halves
 * take every other nonzero each, and their sums are added at the end. As in sparse_item() no branch
 * stands between one nonzero's loads and the next: beyond the end there is the item's last nonzero
 * times 0, beyond the columns the first ones. */
template <class V>
__device__ void chain_item_by_halves(const struct pd_hls_run &a, uint32_t item, uint32_t lane) {
  typedef typename V::Sum S;
  const struct pd_hls_input &in0 = a.input[a.input_mode[0]], &in1 = a.input[a.input_mode[1]];
  uint64_t begin = a.item_start[item], end = a.item_start[item + 1];
  int column = (int)lane % 16, half = (int)lane / 16;
  int from = column < in1.rank ? column : 0;
  S sum[16];
#pragma unroll
  for (int f = 0; f < 16; ++f)
    sum[f] = 0;
  for (uint64_t base = begin; base < end; base += 32) {
    Nonzero<V, 2> mine;
    mine.load(a, base + lane < end ? base + lane : end - 1);
    if (base + lane >= end) mine.x = 0;
    int count = end - base < 32 ? (int)(end - base) : 32;
#pragma unroll 4
    for (int turn = 0; turn < count; turn += 2) {
      S x = __shfl_sync(0xffffffffu, mine.x, turn + half);
      uint32_t index0 = __shfl_sync(0xffffffffu, mine.index[0], turn + half);
      uint32_t index1 = __shfl_sync(0xffffffffu, mine.index[1], turn + half);
      S times = x * __ldg(static_cast<const S *>(in1.rows) +
                          (uint64_t)index1 * (uint32_t)in1.stride + from);
      const S *first = static_cast<const S *>(in0.rows) + (uint64_t)index0 * (uint32_t)in0.stride;
#pragma unroll
      for (int f = 0; f < 16; f += 4) {
        Four<S> four = load_four(first + (f < in0.width ? f : 0));
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sum[f + e] += times * four.v[e];
      }
    }
  }
  S *to = static_cast<S *>(a.sparse_sums) + (uint64_t)item * a.columns + (uint64_t)column;
#pragma unroll
  for (int f = 0; f < 8; ++f) {
    S low = sum[f] + __shfl_xor_sync(0xffffffffu, sum[f], 16);
    S high = sum[f + 8] + __shfl_xor_sync(0xffffffffu, sum[f + 8], 16);
    int row = f + 8 * half;
    if (row < in0.rank && column < in1.rank)
      to[(uint64_t)row * (uint64_t)in1.rank] = half != 0 ? high : low;
  }
}

/* Blocks that a multiprocessor is to hold, which bounds the registers. An item by halves needs more
 * of them than four blocks leave; many tiles want the four blocks, so that it keeps a few in memory
 * there. */
template <class V, int Q, int P, bool OWN>
constexpr int CHAIN_BLOCKS = Q *P == 4                         ? 2
                             : sizeof(typename V::Stored) == 4 ? (Q *P == 1 ? 3 : 2)
                             : Q *P == 1 && !OWN               ? 4
                                                               : 3;

/* Blocks below dense_blocks take tiles, the others single nonzeros. */
template <class V, int Q, int P, bool OWN>
__global__ void __launch_bounds__(PD_HLS_CHAIN_THREADS, CHAIN_BLOCKS<V, Q, P, OWN>)
    hls_chain(const __grid_constant__ struct pd_hls_run a) {
  __shared__ uint4 memory[2 * PD_HLS_CELLS * sizeof(typename V::Stored) / sizeof(uint4)];
  if (blockIdx.x < a.dense_blocks) {
    uint32_t part = blockIdx.x % a.dense_parts;
    uint32_t parts_k = (uint32_t)(a.input[a.mode_k].blocks / Q);
    chain_segment<V, Q, P, OWN>(a, blockIdx.x / a.dense_parts, (int)(part % parts_k) * Q,
                                (int)(part / parts_k) * P,
                                reinterpret_cast<typename V::Stored *>(memory));
    return;
  }
  uint64_t unit =
      (uint64_t)(blockIdx.x - a.dense_blocks) * (PD_HLS_CHAIN_THREADS / 32) + threadIdx.x / 32;
  uint32_t item = (uint32_t)(unit / a.sparse_parts);
  if (item >= a.items) return;
  if (Q == 1 && P == 1 && !a.atomic) /* at most 16 columns of both modes */
    chain_item_by_halves<V>(a, item, threadIdx.x % 32);
  else
    chain_item<V>(a, item, (uint32_t)(unit % a.sparse_parts), threadIdx.x % 32);
}

/* ---- more modes ------------------------------------------------------------------------------ */

/* The columns of modes that a product on tensor cores does not cover: combination `which` of the
 * `count` modes, the last fastest. Adds their places to `at` and multiplies their entries; an
 * index of a slice beyond the end of its mode gives 0. */
__device__ __forceinline__ float combination(const struct pd_hls_run &a, const int *modes,
                                             const uint64_t *index, int count, uint64_t which,
                                             uint64_t *at) {
  float product = 1;
  for (int k = count - 1; k >= 0; --k) {
    const struct pd_hls_input &in = a.input[modes[k]];
    uint64_t column = which % (uint64_t)in.rank;
    which /= (uint64_t)in.rank;
    *at += column * in.column_stride;
    product *= index[k] < in.dim ? __ldg(float_row(in, index[k]) + column) : 0.0f;
  }
  return product;
}

template <class V>
__device__ void general_segment(const struct pd_hls_run &a, uint32_t segment, uint32_t lane,
                                typename V::Stored *cells) {
  const struct pd_hls_input &in_k = a.input[a.mode_k], &in_j = a.input[a.mode_j];
  uint64_t rows = a.output >= 0 ? PD_HLS_SIDE : 1, out_dim = a.input[a.mode].dim;
  uint32_t begin = segment, end = segment + 1, tile = segment;
  float *to = a.sums;
  if (!a.atomic) {
    begin = a.segment_start[segment];
    end = a.segment_start[segment + 1];
    to = static_cast<float *>(a.dense_sums) + (uint64_t)segment * rows * a.columns;
    for (uint64_t c = lane; c < rows * a.columns; c += 32)
      to[c] = 0;
    __syncwarp();
  }
  int modes[PD_HLS_MODES], count = 0;
  uint64_t index[PD_HLS_MODES], combinations = 1;
  for (int k = 0; k < a.others; ++k)
    modes[count++] = a.other[k];
  if (a.output < 0) modes[count++] = a.mode_s;
  for (int k = 0; k < count; ++k)
    combinations *= (uint64_t)a.input[modes[k]].rank;
  for (uint32_t place = begin; place < end; ++place) {
    if (!a.atomic) tile = __ldg(a.tile_order + place);
    uint64_t tile_k = tile_index(a, a.mode_k, tile), tile_j = tile_index(a, a.mode_j, tile);
    uint64_t tile_out = tile_index(a, a.mode, tile);
    for (int k = 0; k < count; ++k)
      index[k] = tile_index(a, modes[k], tile);
    uint64_t tile_s = a.output < 0 ? index[count - 1] * PD_HLS_SIDE : 0;
    expand_by_warp<V>(a, tile, lane, cells);
    for (int q = 0; q < in_k.blocks; ++q)
      for (int p = 0; p < in_j.blocks; ++p) {
        if (q * PD_HLS_BLOCK >= in_k.rank || p * PD_HLS_BLOCK >= in_j.rank) continue;
        Fragment<V> k, j;
        k.load(in_k.fragment, tile_k * (uint64_t)in_k.blocks + (uint64_t)q, lane);
        j.load(in_j.fragment, tile_j * (uint64_t)in_j.blocks + (uint64_t)p, lane);
        for (uint32_t s = 0; s < PD_HLS_SIDE; ++s) {
          typename V::Pair x[2][2], left[PD_HLS_PAIRS];
          float d[2][4], y[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
          load_slice<V>(cells, s, lane, x);
          times_slice<V>(d, k, x);
          as_left<V>(d, left);
          times_right<V>(y[0], left, j, 0);
          times_right<V>(y[1], left, j, 1);
          if (a.output < 0) index[count - 1] = tile_s + s;
          uint64_t row = a.output >= 0 ? s : 0;
          if (a.atomic) row += tile_out * rows;
          if (a.atomic && row >= out_dim) continue;
          for (uint64_t c = 0; c < combinations; ++c) {
            uint64_t base = row * a.columns;
            float times = combination(a, modes, index, count, c, &base);
#pragma unroll
            for (int w = 0; w < 8; ++w) {
              int r = q * PD_HLS_BLOCK + (int)pd_hls_product_row(lane, w % 4);
              int column = p * PD_HLS_BLOCK + (w / 4) * 8 + (int)pd_hls_product_column(lane, w % 4);
              if (r >= in_k.rank || column >= in_j.rank) continue;
              float product = y[w / 4][w % 4] * times * (in_k.scale[r] * in_j.scale[column]);
              uint64_t at =
                  base + (uint64_t)r * in_k.column_stride + (uint64_t)column * in_j.column_stride;
              if (a.atomic)
                atomicAdd(to + at, product);
              else
                to[at] += product; /* this lane alone has the place */
            }
          }
        }
      }
  }
}

/* A lane has one column of the output. */
template <class V>
__device__ void general_item(const struct pd_hls_run &a, uint32_t item, uint32_t part,
                             uint32_t lane) {
  typedef typename V::Sum S;
  uint64_t column = (uint64_t)part * 32 + lane, rest = column;
  uint32_t digit[PD_HLS_MODES];
#pragma unroll
  for (int k = PD_HLS_MODES - 2; k >= 0; --k)
    if (k < a.inputs) {
      digit[k] = (uint32_t)(rest % (uint64_t)a.input[a.input_mode[k]].rank);
      rest /= (uint64_t)a.input[a.input_mode[k]].rank;
    }
  uint64_t begin = a.atomic ? (uint64_t)item * 32 : a.item_start[item];
  uint64_t end = a.atomic ? begin + 32 : a.item_start[item + 1];
  if (end > a.nonzeros) end = a.nonzeros;
  S sum = 0;
  for (uint64_t base = begin; base < end; base += 32) {
    Nonzero<V, PD_HLS_MODES - 1> mine;
    mine.x = 0;
    mine.row = 0;
#pragma unroll
    for (int k = 0; k < PD_HLS_MODES - 1; ++k)
      mine.index[k] = 0;
    if (base + lane < end) mine.load(a, base + lane);
    int count = end - base < 32 ? (int)(end - base) : 32;
    for (int turn = 0; turn < count; ++turn) {
      S product = __shfl_sync(0xffffffffu, mine.x, turn);
      uint32_t row = a.atomic ? __shfl_sync(0xffffffffu, mine.row, turn) : 0;
#pragma unroll
      for (int k = 0; k < PD_HLS_MODES - 1; ++k)
        if (k < a.inputs) {
          uint32_t index = __shfl_sync(0xffffffffu, mine.index[k], turn);
          const struct pd_hls_input &in = a.input[a.input_mode[k]];
          if (column < a.columns)
            product *= __ldg(static_cast<const S *>(in.rows) + index * in.stride + digit[k]);
        }
      if (!a.atomic)
        sum += product;
      else if (column < a.columns)
        atomicAdd(a.sums + row * a.columns + column, (float)product);
    }
  }
  if (!a.atomic && column < a.columns)
    static_cast<S *>(a.sparse_sums)[(uint64_t)item * a.columns + column] = sum;
}

template <class V>
__global__ void __launch_bounds__(32 * PD_HLS_WARPS)
    hls_chain_general(const __grid_constant__ struct pd_hls_run a) {
  extern __shared__ uint4 memory[];
  uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (blockIdx.x < a.dense_blocks) {
    uint32_t segment = blockIdx.x * PD_HLS_WARPS + warp;
    if (segment < a.segments)
      general_segment<V>(a, segment, lane,
                         reinterpret_cast<typename V::Stored *>(memory) + warp * PD_HLS_CELLS);
    return;
  }
  uint64_t unit = (uint64_t)(blockIdx.x - a.dense_blocks) * PD_HLS_WARPS + warp;
  uint32_t item = (uint32_t)(unit / a.sparse_parts);
  if (item < a.items) general_item<V>(a, item, (uint32_t)(unit % a.sparse_parts), lane);
}

/* Single nonzeros alone, in double, any order. */
static __global__ void __launch_bounds__(32 * PD_HLS_WARPS)
    hls_chain_wide(const __grid_constant__ struct pd_hls_run a) {
  uint64_t unit = (uint64_t)blockIdx.x * PD_HLS_WARPS + threadIdx.x / 32;
  uint32_t item = (uint32_t)(unit / a.sparse_parts), part = (uint32_t)(unit % a.sparse_parts);
  if (item >= a.items) return;
  if (a.inputs == 2)
    chain_item<F64>(a, item, part, threadIdx.x % 32);
  else
    general_item<F64>(a, item, part, threadIdx.x % 32);
}

/* ---- launching ------------------------------------------------------------------------------- */

static inline uint64_t chain_blocks(struct pd_hls_run *run, uint32_t warps) {
  if (run->atomic) run->items = (uint32_t)((run->nonzeros + 31) / 32);
  run->sparse_parts = run->inputs == 2 ? chain_parts(run) : (uint32_t)((run->columns + 31) / 32);
  return ((uint64_t)run->items * run->sparse_parts + warps - 1) / warps;
}

template <class V, int Q, int P>
static cudaError_t launch_chain(struct pd_hls_run run, cudaStream_t stream) {
  run.dense_parts =
      (uint32_t)(run.input[run.mode_k].blocks / Q * (run.input[run.mode_j].blocks / P));
  run.dense_blocks = run.segments * run.dense_parts;
  uint64_t blocks = run.dense_blocks + chain_blocks(&run, PD_HLS_CHAIN_THREADS / 32);
  if (blocks == 0) return cudaSuccess;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (run.own_fragments)
    hls_chain<V, Q, P, true><<<(unsigned)blocks, PD_HLS_CHAIN_THREADS, 0, stream>>>(run);
  else
    hls_chain<V, Q, P, false><<<(unsigned)blocks, PD_HLS_CHAIN_THREADS, 0, stream>>>(run);
  return cudaGetLastError();
}

template <class V> static cudaError_t launch_general(struct pd_hls_run run, cudaStream_t stream) {
  constexpr size_t SHARED = PD_HLS_WARPS * PD_HLS_CELLS * sizeof(typename V::Stored);
  run.dense_blocks = (run.segments + PD_HLS_WARPS - 1) / PD_HLS_WARPS;
  uint64_t blocks = run.dense_blocks + chain_blocks(&run, PD_HLS_WARPS);
  if (blocks == 0) return cudaSuccess;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (SHARED > 48 * 1024) {
    cudaError_t code = cudaFuncSetAttribute(
        hls_chain_general<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)SHARED);
    if (code != cudaSuccess) return code;
  }
  size_t shared = run.segments > 0 ? SHARED : 0;
  hls_chain_general<V><<<(unsigned)blocks, 32 * PD_HLS_WARPS, shared, stream>>>(run);
  return cudaGetLastError();
}

template <class V> static cudaError_t chain_any(const struct pd_hls_run *run, cudaStream_t stream) {
  if (run->order > 3) return launch_general<V>(*run, stream);
  bool one_k = run->input[run->mode_k].blocks == 1, one_j = run->input[run->mode_j].blocks == 1;
  if (one_k && one_j) return launch_chain<V, 1, 1>(*run, stream);
  if (one_k) return launch_chain<V, 1, 2>(*run, stream);
  if (one_j) return launch_chain<V, 2, 1>(*run, stream);
  return launch_chain<V, 2, 2>(*run, stream);
}

#endif
