/* MTTKRP of "hls": tiles on tensor cores, single nonzeros on CUDA cores, one launch.
 *
 * A block takes a segment of tiles whose output rows are the same 16 (or one), a warp four slices
 * of each. Per slice s it multiplies C' X(s)' (16 NB x 16) with mma.sync, then either multiplies by
 * B' elementwise and sums along its rows, or makes the product with B and takes its diagonal. Sums
 * of all 16 slices stay in registers for the whole segment; the four lanes that share a column are
 * added up at its end. Bytes per tile: 512 of bitmap, its values, two fragments of each factor (in
 * L2), or 16 of its rows where the block makes them (hls_own.cuh).
 *
 * A group of 4 NB lanes takes an item, a run of single nonzeros with one output row: each lane
 * decodes one nonzero, then all lanes add up one nonzero after the other, four columns each. */
#ifndef PD_HLS_MTTKRP_CUH
#define PD_HLS_MTTKRP_CUH

#include "formats/hls/hls_own.cuh"

enum { PD_HLS_WARPS = 4 /* of a block */ };

/* Product of the rows of the modes that the tile does not span, in column r. */
__device__ __forceinline__ float others_at(const struct pd_hls_run &a, uint32_t tile, int r) {
  float product = 1;
  for (int k = 0; k < a.others; ++k) {
    const struct pd_hls_input &in = a.input[a.other[k]];
    product *= r < in.rank ? __ldg(float_row(in, tile_index(a, a.other[k], tile)) + r) : 0.0f;
  }
  return product;
}

/* Entry (r, x) of a fragment for the lane's r (plus 8 when `high`), from the lane that has it. */
template <class V>
__device__ __forceinline__ float fragment_at(const Fragment<V> &f, uint32_t lane, uint32_t x,
                                             int high) {
  float2 both = V::floats(x >= 8 ? f.p[2 + high] : f.p[high]);
  return __shfl_sync(0xffffffffu, x & 1 ? both.y : both.x, (int)(lane & 28) + (int)(x % 8 / 2));
}

/* What a lane has of the products of one tile. */
template <class V, int NB, bool DIAGONAL> struct Columns {
  Fragment<V> k[NB], j[NB];
  float times[NB][2];

  __device__ void load(const struct pd_hls_run &a, uint32_t tile, int first, uint32_t lane) {
    const struct pd_hls_input &in_k = a.input[a.mode_k], &in_j = a.input[a.mode_j];
    uint64_t tile_k = tile_index(a, a.mode_k, tile), tile_j = tile_index(a, a.mode_j, tile);
#pragma unroll
    for (int b = 0; b < NB; ++b) {
      k[b].load(in_k.fragment, tile_k * (uint64_t)in_k.blocks + (uint64_t)(first + b), lane);
      j[b].load(in_j.fragment, tile_j * (uint64_t)in_j.blocks + (uint64_t)(first + b), lane);
    }
    load_times(a, tile, first, lane);
  }

  __device__ void load(const OwnFragments<V> &own, const struct pd_hls_run &a, uint32_t tile,
                       int first, uint32_t lane) {
#pragma unroll
    for (int b = 0; b < NB; ++b) {
      k[b] = own.load(b, lane);
      j[b] = own.load(NB + b, lane);
    }
    load_times(a, tile, first, lane);
  }

  __device__ void load_times(const struct pd_hls_run &a, uint32_t tile, int first, uint32_t lane) {
#pragma unroll
    for (int b = 0; b < NB; ++b)
#pragma unroll
      for (int high = 0; high < 2; ++high)
        times[b][high] =
            a.others == 0
                ? 1.0f
                : others_at(a, tile, (first + b) * PD_HLS_BLOCK + (int)pd_hls_pair_r(lane, high));
  }

  /* Adds the lane's share of the slice's sums in its two columns. */
  __device__ void add(int b, uint32_t lane, const typename V::Pair x[2][2], float sum[2]) const {
    float d[2][4];
    times_slice<V>(d, k[b], x);
    float low, high;
    if (DIAGONAL) {
      typename V::Pair left[PD_HLS_PAIRS];
      as_left<V>(d, left);
      float y[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
      times_right<V>(y[0], left, j[b], 0);
      times_right<V>(y[1], left, j[b], 1);
      /* Row lane / 4 of the first product and row lane / 4 + 8 of the second; their columns
       * lane % 4 * 2 and the next. */
      bool even = lane / 4 == lane % 4 * 2, odd = lane / 4 == lane % 4 * 2 + 1;
      low = even ? y[0][0] : odd ? y[0][1] : 0.0f;
      high = even ? y[1][2] : odd ? y[1][3] : 0.0f;
    } else {
      float2 f0 = V::floats(j[b].p[0]), f1 = V::floats(j[b].p[1]);
      float2 f2 = V::floats(j[b].p[2]), f3 = V::floats(j[b].p[3]);
      low = d[0][0] * f0.x + d[0][1] * f0.y + (d[1][0] * f2.x + d[1][1] * f2.y);
      high = d[0][2] * f1.x + d[0][3] * f1.y + (d[1][2] * f3.x + d[1][3] * f3.y);
    }
    sum[0] += low * times[b][0];
    sum[1] += high * times[b][1];
  }
};

/* Sum over the four lanes that share columns; all of them get it. */
__device__ __forceinline__ float sum_of_four(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* What the columns of fragments were divided by, counted from a block's first column on. */
struct Scales {
  const float *k, *j, *s; /* s: NULL where slices are rows of the output */

  __device__ float at(int column) const {
    float scale = k[column] * j[column];
    return s != nullptr ? scale * s[column] : scale;
  }
};

__device__ __forceinline__ Scales packed_scales(const struct pd_hls_run &a, int first) {
  int column = first * PD_HLS_BLOCK;
  return {a.input[a.mode_k].scale + column, a.input[a.mode_j].scale + column,
          a.output < 0 ? a.input[a.mode_s].scale + column : nullptr};
}

template <class V, int NB>
__device__ __forceinline__ Scales own_scales(const struct pd_hls_run &a,
                                             const OwnFragments<V> &own) {
  return {own.scale[0], own.scale[NB], a.output < 0 ? own.scale[2 * NB] : nullptr};
}

/* The fragments of a tile in NB blocks of columns: those of k, of j, and of the slices' mode where
 * the tile has one output row. The warps take turns. */
template <class V, int NB>
__device__ __forceinline__ void make_fragments(const struct pd_hls_run &a, uint32_t tile, int first,
                                               OwnFragments<V> *own) {
  static_assert(3 * NB <= OwnFragments<V>::MOST, "there is a place for each");
  for (int f = (int)(threadIdx.x / 32); f < (a.output < 0 ? 3 : 2) * NB; f += PD_HLS_WARPS) {
    int mode = f < NB ? a.mode_k : f < 2 * NB ? a.mode_j : a.mode_s;
    own->make(a.input[mode], tile_index(a, mode, tile), first + f % NB, threadIdx.x % 32, f);
  }
}

/* Writes or adds the sum of output row `row` (of the tile's) and column. */
__device__ __forceinline__ void put_dense(const struct pd_hls_run &a, uint32_t segment,
                                          uint64_t tile_row, int rows, int row, int column,
                                          float sum) {
  const struct pd_hls_input &out = a.input[a.mode];
  if (!a.atomic) {
    static_cast<float *>(
        a.dense_sums)[((uint64_t)segment * (uint64_t)rows + (uint64_t)row) * a.columns +
                      (uint64_t)column] = sum;
  } else if (column < out.rank) {
    uint64_t to = tile_row * (uint64_t)rows + (uint64_t)row;
    if (to < out.dim) atomicAdd(a.sums + to * a.columns + (uint64_t)column, sum);
  }
}

/* Sums of a segment with one output row: those of the warps' slices are added up in order. */
template <int NB>
__device__ void put_whole(const struct pd_hls_run &a, uint32_t segment, uint64_t tile_row,
                          int first, const Scales &scales, float (*shared)[NB * PD_HLS_BLOCK],
                          float whole[NB][2]) {
  uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads(); /* the last tile has been read */
#pragma unroll
  for (int b = 0; b < NB; ++b)
#pragma unroll
    for (int high = 0; high < 2; ++high) {
      float total = sum_of_four(whole[b][high]);
      if (lane % 4 == 0) shared[warp][b * PD_HLS_BLOCK + (int)pd_hls_pair_r(lane, high)] = total;
    }
  __syncthreads();
  if (threadIdx.x >= NB * PD_HLS_BLOCK) return;
  int column = first * PD_HLS_BLOCK + (int)threadIdx.x;
  float total = 0;
#pragma unroll
  for (int w = 0; w < PD_HLS_WARPS; ++w)
    total += shared[w][threadIdx.x];
  put_dense(a, segment, tile_row, 1, 0, column, total * scales.at((int)threadIdx.x));
}

/* Sums of a segment with 16 output rows, SLICES of them the warp's, from `slice` on. */
template <int NB, int SLICES>
__device__ __forceinline__ void put_slices(const struct pd_hls_run &a, uint32_t segment,
                                           uint64_t tile_row, int first, const Scales &scales,
                                           uint32_t slice, const float sum[NB][SLICES][2]) {
  uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (int b = 0; b < NB; ++b)
#pragma unroll
    for (int high = 0; high < 2; ++high) {
      int column = b * PD_HLS_BLOCK + (int)pd_hls_pair_r(lane, high);
      float scale = scales.at(column);
#pragma unroll
      for (uint32_t i = 0; i < SLICES; ++i) {
        float total = sum_of_four(sum[b][i][high]);
        if (lane % 4 == i % 4)
          put_dense(a, segment, tile_row, PD_HLS_SIDE, (int)(slice + i),
                    first * PD_HLS_BLOCK + column, total * scale);
      }
    }
}

/* OWN: the segment is one tile, and its fragments are made where a second tile would lie. */
template <class V, int NB, bool DIAGONAL, bool OWN>
__device__ void dense_segment(const struct pd_hls_run &a, uint32_t segment, int first,
                              typename V::Stored *cells) {
  constexpr int SLICES = PD_HLS_SIDE / PD_HLS_WARPS; /* of a tile that a warp takes */
  uint32_t lane = threadIdx.x % 32, slice = threadIdx.x / 32 * SLICES;
  float sum[NB][SLICES][2], whole[NB][2];
  uint32_t begin = segment, end = segment + 1, tile = segment;
#pragma unroll
  for (int b = 0; b < NB; ++b) {
    whole[b][0] = whole[b][1] = 0;
#pragma unroll
    for (int i = 0; i < SLICES; ++i)
      sum[b][i][0] = sum[b][i][1] = 0;
  }
  if (!OWN && !a.atomic) {
    begin = a.segment_start[segment];
    end = a.segment_start[segment + 1];
  }
  OwnFragments<V> *own = reinterpret_cast<OwnFragments<V> *>(cells + PD_HLS_CELLS);
  for (uint32_t place = begin; place < end; ++place) {
    if (OWN || !a.atomic) tile = __ldg(a.tile_order + place);
    typename V::Stored *here = cells + (place - begin) % 2 * PD_HLS_CELLS;
    Columns<V, NB, DIAGONAL> columns;
    if (OWN) {
      Share share = load_share(a, tile, lane);
      make_fragments<V, NB>(a, tile, first, own);
      expand_by_block<V, PD_HLS_WARPS>(a, share, here);
      columns.load(*own, a, tile, first, lane);
    } else {
      columns.load(a, tile, first, lane);
      expand_by_block<V, PD_HLS_WARPS>(a, load_share(a, tile, lane), here);
    }
#pragma unroll
    for (uint32_t i = 0; i < SLICES; ++i) {
      typename V::Pair x[2][2];
      load_slice<V>(here, slice + i, lane, x);
#pragma unroll
      for (int b = 0; b < NB; ++b)
        columns.add(b, lane, x, sum[b][i]);
    }
    if (a.output >= 0) continue;
    const struct pd_hls_input &in = a.input[a.mode_s];
    uint64_t tile_s = tile_index(a, a.mode_s, tile);
#pragma unroll
    for (int b = 0; b < NB; ++b) { /* one output row: slices are multiplied by their rows */
      Fragment<V> slices;
      if (OWN)
        slices = own->load(2 * NB + b, lane);
      else
        slices.load(in.fragment, tile_s * (uint64_t)in.blocks + (uint64_t)(first + b), lane);
#pragma unroll
      for (uint32_t i = 0; i < SLICES; ++i)
#pragma unroll
        for (int high = 0; high < 2; ++high) {
          whole[b][high] += sum[b][i][high] * fragment_at<V>(slices, lane, slice + i, high);
          sum[b][i][high] = 0;
        }
    }
  }
  uint64_t tile_row = !OWN && a.atomic ? tile_index(a, a.mode, tile) : 0;
  Scales scales = OWN ? own_scales<V, NB>(a, *own) : packed_scales(a, first);
  if (a.output < 0)
    put_whole<NB>(a, segment, tile_row, first, scales,
                  reinterpret_cast<float(*)[NB * PD_HLS_BLOCK]>(cells), whole);
  else
    put_slices<NB, SLICES>(a, segment, tile_row, first, scales, slice, sum);
}

/* A lane's nonzero: indices in the other modes (MODES of them at most) and the output, value. */
template <class V, int MODES> struct Nonzero {
  uint32_t index[MODES], row;
  typename V::Sum x;

  __device__ void load(const struct pd_hls_run &a, uint64_t p) {
    x = V::value(__ldg(static_cast<const typename V::Stored *>(a.nnz_vals) + p));
#pragma unroll
    for (int k = 0; k < MODES; ++k)
      index[k] = MODES == 2 || k < a.inputs ? nonzero_index(a, a.input_mode[k], p) : 0;
    row = a.atomic ? nonzero_index(a, a.mode, p) : 0;
  }
};

/* The product of a nonzero's rows in four columns. */
template <typename S, int MODES>
__device__ __forceinline__ void multiply_rows(const struct pd_hls_run &a, const uint32_t *index,
                                              S x, int column, S product[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e)
    product[e] = x;
#pragma unroll
  for (int k = 0; k < MODES; ++k)
    if (MODES == 2 || k < a.inputs) {
      const struct pd_hls_input &in = a.input[a.input_mode[k]];
      Four<S> row = load_four(static_cast<const S *>(in.rows) +
                              (uint64_t)index[k] * (uint32_t)in.stride + column);
#pragma unroll
      for (int e = 0; e < 4; ++e)
        product[e] *= row.v[e];
    }
}

/* Lanes beyond the end of their item go on with its last nonzero times 0, those beyond the end of
 * the rows with the first columns: no branch stands between one nonzero's loads and the next. */
template <class V, int LANES, int MODES, bool ATOMIC>
__device__ void sparse_item(const struct pd_hls_run &a, uint32_t item, int first_column,
                            uint32_t lane) {
  typedef typename V::Sum S;
  uint64_t begin = 0, end = 0;
  if (item < a.items) {
    begin = ATOMIC ? (uint64_t)item * LANES : a.item_start[item];
    end = ATOMIC ? begin + LANES : a.item_start[item + 1];
    if (end > a.nonzeros) end = a.nonzeros;
  }
  uint64_t last = end > begin ? end - 1 : 0;
  int column = first_column + (int)lane * 4;
  bool inside = column < a.input[a.input_mode[0]].width;
  S sum[4] = {0, 0, 0, 0};
  /* Groups of a warp go on together, so that all lanes take part in the shuffles. */
  for (uint64_t base = begin; __any_sync(0xffffffffu, base < end); base += LANES) {
    Nonzero<V, MODES> mine;
    mine.load(a, base + lane < end ? base + lane : last);
    if (base + lane >= end) mine.x = 0;
#pragma unroll 4
    for (uint32_t turn = 0; turn < LANES; ++turn) {
      uint32_t index[MODES];
      S product[4], x = __shfl_sync(0xffffffffu, mine.x, (int)turn, LANES);
#pragma unroll
      for (int k = 0; k < MODES; ++k)
        if (MODES == 2 || k < a.inputs)
          index[k] = __shfl_sync(0xffffffffu, mine.index[k], (int)turn, LANES);
      multiply_rows<S, MODES>(a, index, x, inside ? column : 0, product);
      if (!ATOMIC) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sum[e] += product[e];
        continue;
      }
      uint32_t row = __shfl_sync(0xffffffffu, mine.row, (int)turn, LANES);
      if (base + turn >= end || !inside) continue;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (column + e < a.input[a.mode].rank)
          atomicAdd(a.sums + row * a.columns + (uint64_t)(column + e), (float)product[e]);
    }
  }
  if (ATOMIC || item >= a.items) return;
  S *to = static_cast<S *>(a.sparse_sums) + (uint64_t)item * a.columns + (uint64_t)column;
#pragma unroll
  for (int e = 0; e < 4; ++e)
    to[e] = inside ? sum[e] : (S)0;
}

/* The usual case, three modes and sums in order, by itself. */
template <class V, int LANES>
__device__ __forceinline__ void any_item(const struct pd_hls_run &a, uint32_t item,
                                         int first_column, uint32_t lane) {
  if (a.atomic)
    sparse_item<V, LANES, PD_HLS_MODES - 1, true>(a, item, first_column, lane);
  else if (a.inputs == 2)
    sparse_item<V, LANES, 2, false>(a, item, first_column, lane);
  else
    sparse_item<V, LANES, PD_HLS_MODES - 1, false>(a, item, first_column, lane);
}

/* Blocks that a multiprocessor is to hold, which bounds the registers. */
template <class V, int NB, bool DIAGONAL>
constexpr int MTTKRP_BLOCKS = DIAGONAL || sizeof(typename V::Stored) == 4 ? 4
                              : NB == 2                                   ? 6
                                                                          : 8;

/* Blocks below dense_blocks take tiles, the others single nonzeros: one launch for both. */
template <class V, int NB, bool DIAGONAL, bool OWN>
__global__ void __launch_bounds__(32 * PD_HLS_WARPS, MTTKRP_BLOCKS<V, NB, DIAGONAL>)
    hls_mttkrp(const __grid_constant__ struct pd_hls_run a) {
  __shared__ uint4 memory[2 * PD_HLS_CELLS * sizeof(typename V::Stored) / sizeof(uint4)];
  if (blockIdx.x < a.dense_blocks) {
    dense_segment<V, NB, DIAGONAL, OWN>(a, blockIdx.x / a.dense_parts,
                                        (int)(blockIdx.x % a.dense_parts) * NB,
                                        reinterpret_cast<typename V::Stored *>(memory));
    return;
  }
  constexpr uint32_t LANES = 4 * NB, GROUPS = 32 * PD_HLS_WARPS / LANES;
  uint32_t block = blockIdx.x - a.dense_blocks;
  any_item<V, LANES>(a, block / a.sparse_parts * GROUPS + threadIdx.x / LANES,
                     (int)(block % a.sparse_parts) * NB * PD_HLS_BLOCK, threadIdx.x % LANES);
}

/* Single nonzeros alone, in double. */
template <int NB>
__global__ void __launch_bounds__(32 * PD_HLS_WARPS)
    hls_mttkrp_wide(const __grid_constant__ struct pd_hls_run a) {
  constexpr uint32_t LANES = 4 * NB, GROUPS = 32 * PD_HLS_WARPS / LANES;
  any_item<F64, LANES>(a, blockIdx.x / a.sparse_parts * GROUPS + threadIdx.x / LANES,
                       (int)(blockIdx.x % a.sparse_parts) * NB * PD_HLS_BLOCK, threadIdx.x % LANES);
}

static inline uint32_t sparse_blocks(struct pd_hls_run *run, int lanes) {
  uint32_t groups = 32 * PD_HLS_WARPS / (uint32_t)lanes;
  if (run->atomic) run->items = (uint32_t)((run->nonzeros + (uint64_t)lanes - 1) / (uint64_t)lanes);
  return (run->items + groups - 1) / groups * run->sparse_parts;
}

template <class V, int NB, bool DIAGONAL>
static cudaError_t launch_mttkrp(struct pd_hls_run run, cudaStream_t stream) {
  run.dense_parts = run.sparse_parts = (uint32_t)(run.columns / (NB * PD_HLS_BLOCK));
  uint64_t blocks = (uint64_t)run.segments * run.dense_parts;
  run.dense_blocks = (uint32_t)blocks;
  blocks += sparse_blocks(&run, 4 * NB);
  if (blocks == 0) return cudaSuccess;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (run.own_fragments)
    hls_mttkrp<V, NB, DIAGONAL, true><<<(unsigned)blocks, 32 * PD_HLS_WARPS, 0, stream>>>(run);
  else
    hls_mttkrp<V, NB, DIAGONAL, false><<<(unsigned)blocks, 32 * PD_HLS_WARPS, 0, stream>>>(run);
  return cudaGetLastError();
}

template <class V>
static cudaError_t mttkrp_any(const struct pd_hls_run *run, cudaStream_t stream) {
  bool one = run->columns == PD_HLS_BLOCK;
  if (run->diagonal)
    return one ? launch_mttkrp<V, 1, true>(*run, stream) : launch_mttkrp<V, 2, true>(*run, stream);
  return one ? launch_mttkrp<V, 1, false>(*run, stream) : launch_mttkrp<V, 2, false>(*run, stream);
}

template <int NB> static cudaError_t launch_wide(struct pd_hls_run run, cudaStream_t stream) {
  run.sparse_parts = (uint32_t)(run.columns / (NB * PD_HLS_BLOCK));
  uint32_t blocks = sparse_blocks(&run, 4 * NB);
  if (blocks == 0) return cudaSuccess;
  hls_mttkrp_wide<NB><<<blocks, 32 * PD_HLS_WARPS, 0, stream>>>(run);
  return cudaGetLastError();
}

#endif
