/* Before and after the kernels of "hls": factors into fragments and aligned rows; sums of segments
 * and items into the output, in order. */
#include "formats/hls/hls_launch.h"
#include "formats/hls/hls_tile.cuh"
#include <math_constants.h>

enum { THREADS = 256, FEW_GROUPS = 8, MANY_GROUPS = 32 };

/* ---- factors --------------------------------------------------------------------------------- */

template <typename T>
__device__ __forceinline__ float entry(const struct pd_hls_source &from, uint64_t row, int column) {
  if (row >= from.rows || column >= from.rank) return 0;
  return (float)__ldg(static_cast<const T *>(from.factor) + row * from.stride + column);
}

/* Bits of the largest magnitude in each column; magnitudes order as their bits do. Columns go
 * across the lanes, rows down the warps and blocks. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    hls_most(const __grid_constant__ struct pd_hls_pack pack) {
  const struct pd_hls_source &from = pack.source[blockIdx.y];
  __shared__ uint32_t most[THREADS / 32][32];
  if (from.fragment == nullptr) return;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int first = 0; first < from.rank; first += 32) {
    uint32_t mine = 0;
    for (uint64_t row = (uint64_t)blockIdx.x * (THREADS / 32) + warp; row < from.rows;
         row += (uint64_t)gridDim.x * (THREADS / 32)) {
      uint32_t bits = __float_as_uint(fabsf(entry<T>(from, row, first + lane)));
      mine = bits > mine ? bits : mine;
    }
    most[warp][lane] = mine;
    __syncthreads();
    for (int w = 0; warp == 0 && w < THREADS / 32; ++w)
      mine = most[w][lane] > mine ? most[w][lane] : mine;
    if (warp == 0 && first + lane < from.rank && mine > 0)
      atomicMax(from.most + first + lane, mine);
    __syncthreads();
  }
}

/* What a column is divided by; 1 where the compute type has the range of floats. */
template <class V>
__device__ __forceinline__ float column_scale(const struct pd_hls_source &from, int column) {
  return V::SCALED && column < from.rank ? scale_above(from.most[column]) : 1.0f;
}

/* A warp per fragment; and all threads for the aligned copy. */
template <class V, typename T>
static __global__ void __launch_bounds__(THREADS)
    hls_pack(const __grid_constant__ struct pd_hls_pack pack) {
  const struct pd_hls_source &from = pack.source[blockIdx.y];
  uint32_t lane = threadIdx.x % 32;
  uint64_t warp = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
  uint64_t warps = (uint64_t)gridDim.x * (THREADS / 32);
  uint64_t fragments = (from.rows + 15) / 16 * (uint64_t)from.blocks;
  if (from.fragment != nullptr)
    for (uint64_t f = warp; f < fragments; f += warps) {
      uint64_t tile = f / (uint64_t)from.blocks;
      int block = (int)(f % (uint64_t)from.blocks);
      Fragment<V> out;
#pragma unroll
      for (int p = 0; p < PD_HLS_PAIRS; ++p) {
        int column = block * PD_HLS_BLOCK + (int)pd_hls_pair_r(lane, p);
        uint64_t row = tile * PD_HLS_SIDE + pd_hls_pair_x(lane, p);
        float scale = column_scale<V>(from, column);
        out.p[p] =
            V::pair(entry<T>(from, row, column) / scale, entry<T>(from, row + 1, column) / scale);
        if (tile == 0 && lane % 4 == 0) from.scale[column] = scale;
      }
      constexpr int QUADS = sizeof out.p / sizeof(uint4);
      uint4 *to = static_cast<uint4 *>(from.fragment) + (f * PD_HLS_LANES + lane) * (uint64_t)QUADS;
#pragma unroll
      for (int q = 0; q < QUADS; ++q)
        to[q] = reinterpret_cast<const uint4 *>(out.p)[q];
    }
  if (from.copy == nullptr) return;
  uint64_t numbers = from.rows * (uint64_t)from.width;
  for (uint64_t n = (uint64_t)blockIdx.x * THREADS + threadIdx.x; n < numbers;
       n += (uint64_t)gridDim.x * THREADS)
    from.copy[n] = entry<T>(from, n / (uint64_t)from.width, (int)(n % (uint64_t)from.width));
}

/* Rows of doubles, padded, for F64. */
static __global__ void __launch_bounds__(THREADS)
    hls_pad(const __grid_constant__ struct pd_hls_pack pack) {
  const struct pd_hls_source &from = pack.source[blockIdx.y];
  if (from.copy == nullptr) return;
  double *to = reinterpret_cast<double *>(from.copy);
  uint64_t numbers = from.rows * (uint64_t)from.width;
  for (uint64_t n = (uint64_t)blockIdx.x * THREADS + threadIdx.x; n < numbers;
       n += (uint64_t)gridDim.x * THREADS) {
    uint64_t row = n / (uint64_t)from.width;
    int column = (int)(n % (uint64_t)from.width);
    to[n] = column < from.rank
                ? static_cast<const double *>(from.factor)[row * from.stride + column]
                : 0.0;
  }
}

static unsigned pack_blocks(const struct pd_hls_pack *pack) {
  uint64_t most = 1;
  for (int k = 0; k < pack->count; ++k) {
    const struct pd_hls_source *from = &pack->source[k];
    uint64_t fragments = from->fragment != nullptr ? (from->rows + 15) / 16 * from->blocks : 0;
    uint64_t numbers = from->copy != nullptr ? from->rows * (uint64_t)from->width / 32 : 0;
    uint64_t warps = fragments > numbers ? fragments : numbers;
    if (warps > most) most = warps;
  }
  uint64_t blocks = (most + THREADS / 32 - 1) / (THREADS / 32);
  return (unsigned)(blocks < 4096 ? blocks : 4096);
}

template <class V>
static cudaError_t pack_any(const struct pd_hls_pack *pack, cudaStream_t stream) {
  dim3 grid(pack_blocks(pack), (unsigned)pack->count), few(64, (unsigned)pack->count);
  bool fragments = false;
  for (int k = 0; k < pack->count; ++k)
    fragments = fragments || pack->source[k].fragment != nullptr;
  if (V::SCALED && fragments) {
    if (pack->wide)
      hls_most<double><<<few, THREADS, 0, stream>>>(*pack);
    else
      hls_most<float><<<few, THREADS, 0, stream>>>(*pack);
  }
  if (pack->wide)
    hls_pack<V, double><<<grid, THREADS, 0, stream>>>(*pack);
  else
    hls_pack<V, float><<<grid, THREADS, 0, stream>>>(*pack);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_hls_pack_run(enum pd_hls_kernel kernel, const struct pd_hls_pack *pack,
                                       cudaStream_t stream) {
  bool any = false;
  for (int k = 0; k < pack->count; ++k)
    any = any || pack->source[k].fragment != nullptr || pack->source[k].copy != nullptr;
  if (!any) return cudaSuccess;
  switch (kernel) {
  case PD_HLS_KERNEL_F16:
    return pack_any<F16>(pack, stream);
  case PD_HLS_KERNEL_BF16:
    return pack_any<BF16>(pack, stream);
  case PD_HLS_KERNEL_TF32:
    return pack_any<TF32>(pack, stream);
  default:
    hls_pad<<<dim3(pack_blocks(pack), (unsigned)pack->count), THREADS, 0, stream>>>(*pack);
    return cudaGetLastError();
  }
}

/* ---- single nonzeros in another order ----------------------------------------------------------
 */

static __global__ void __launch_bounds__(THREADS)
    hls_rows(const uint32_t *inds, uint64_t count, struct pd_hls_field field, uint32_t *rows) {
  uint64_t p = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p < count)
    rows[p] = packed(inds, p * (uint64_t)field.linear_bits + (uint64_t)field.shift, field.bits);
}

extern "C" cudaError_t pd_hls_rows_run(const uint32_t *inds, uint64_t count,
                                       const struct pd_hls_field *field, uint32_t *rows,
                                       cudaStream_t stream) {
  uint64_t blocks = (count + THREADS - 1) / THREADS;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (blocks > 0) hls_rows<<<(unsigned)blocks, THREADS, 0, stream>>>(inds, count, *field, rows);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    hls_reorder(const __grid_constant__ struct pd_hls_reorder a) {
  uint64_t p = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p >= a.nonzeros) return;
  uint64_t from = a.order[p], bit = from * (uint64_t)a.linear_bits;
  for (int w = 0; w < a.words; ++w) {
    int left = a.linear_bits - 32 * w;
    a.out_inds[p * (uint64_t)a.words + (uint64_t)w] =
        packed(a.nnz_inds, bit + 32 * (uint64_t)w, left < 32 ? left : 32);
  }
  if (a.value_bytes == 2)
    static_cast<uint16_t *>(a.out_vals)[p] = static_cast<const uint16_t *>(a.nnz_vals)[from];
  else if (a.value_bytes == 4)
    static_cast<uint32_t *>(a.out_vals)[p] = static_cast<const uint32_t *>(a.nnz_vals)[from];
  else
    static_cast<uint64_t *>(a.out_vals)[p] = static_cast<const uint64_t *>(a.nnz_vals)[from];
}

extern "C" cudaError_t pd_hls_reorder_run(const struct pd_hls_reorder *reorder,
                                          cudaStream_t stream) {
  uint64_t blocks = (reorder->nonzeros + THREADS - 1) / THREADS;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (blocks > 0) hls_reorder<<<(unsigned)blocks, THREADS, 0, stream>>>(*reorder);
  return cudaGetLastError();
}

/* ---- the output ------------------------------------------------------------------------------ */

/* Segments and items of a row, as one list: the sums' places follow from the number in it. */
template <typename S> struct RowParts {
  const S *dense, *sparse;
  uint64_t segments, items, dense_step;

  __device__ RowParts(const struct pd_hls_finish &a, uint64_t row) : segments(0), items(0) {
    uint64_t rows = a.spanned ? PD_HLS_SIDE : 1;
    dense_step = rows * a.width;
    dense = sparse = nullptr;
    if (a.line_segment != nullptr) {
      uint64_t line = row / rows, first = a.line_segment[line];
      segments = a.line_segment[line + 1] - first;
      dense = static_cast<const S *>(a.dense_sums) + first * dense_step + row % rows * a.width;
    }
    if (a.row_item != nullptr) {
      uint64_t first = a.row_item[row];
      items = a.row_item[row + 1] - first;
      sparse = static_cast<const S *>(a.sparse_sums) + first * a.width;
    }
  }
  __device__ S at(uint64_t part, uint64_t width, uint64_t column) const {
    return part < segments ? __ldg(dense + part * dense_step + column)
                           : __ldg(sparse + (part - segments) * width + column);
  }
};

__device__ __forceinline__ void put_out(const struct pd_hls_finish &a, uint64_t row,
                                        uint64_t column, double sum) {
  uint64_t at = row * a.stride + column;
  if (a.wide)
    static_cast<double *>(a.out)[at] = sum * a.scale;
  else
    static_cast<float *>(a.out)[at] = (float)(sum * a.scale);
}

__device__ __forceinline__ void reset_most(const struct pd_hls_finish &a) {
  if (blockIdx.x != 0 || a.most == nullptr) return;
  for (uint32_t k = threadIdx.x; k < a.most_count; k += blockDim.x)
    a.most[k] = 0;
}

/* A thread per number: few parts per row. */
template <typename S>
static __global__ void __launch_bounds__(THREADS)
    hls_finish(const __grid_constant__ struct pd_hls_finish a) {
  reset_most(a);
  uint64_t n = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
  if (n >= a.rows * a.columns) return;
  uint64_t row = n / a.columns, column = n % a.columns;
  if (a.sums != nullptr) {
    put_out(a, row, column, (double)a.sums[row * a.width + column]);
    return;
  }
  RowParts<S> parts(a, row);
  S sum = 0;
#pragma unroll 4
  for (uint64_t k = 0; k < parts.segments + parts.items; ++k)
    sum += parts.at(k, a.width, column);
  put_out(a, row, column, (double)sum);
}

/* A block per row and 32 columns: of GROUPS groups each takes every GROUPS-th part, and they are
 * added in order. */
template <typename S, int GROUPS>
static __global__ void __launch_bounds__(32 * GROUPS)
    hls_finish_many(const __grid_constant__ struct pd_hls_finish a) {
  __shared__ S sums[GROUPS][32];
  uint32_t lane = threadIdx.x % 32, group = threadIdx.x / 32;
  uint64_t across = (a.columns + 31) / 32, row = blockIdx.x / across;
  uint64_t column = blockIdx.x % across * 32 + lane;
  reset_most(a);
  RowParts<S> parts(a, row);
  S sum = 0;
  if (column < a.columns) {
#pragma unroll 4
    for (uint64_t k = group; k < parts.segments + parts.items; k += GROUPS)
      sum += parts.at(k, a.width, column);
  }
  sums[group][lane] = sum;
  __syncthreads();
  if (group != 0 || column >= a.columns) return;
  for (int g = 1; g < GROUPS; ++g)
    sum += sums[g][lane];
  put_out(a, row, column, (double)sum);
}

template <typename S>
static cudaError_t finish_any(const struct pd_hls_finish *finish, cudaStream_t stream) {
  uint64_t numbers = finish->rows * finish->columns;
  uint64_t rows_per_segment = finish->spanned ? PD_HLS_SIDE : 1;
  uint64_t parts = finish->segments * rows_per_segment + finish->items;
  if (numbers == 0) return cudaSuccess;
  if (finish->sums == nullptr && parts > 6 * finish->rows) {
    uint64_t blocks = finish->rows * ((finish->columns + 31) / 32);
    if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
    if (parts > 64 * finish->rows)
      hls_finish_many<S, MANY_GROUPS><<<(unsigned)blocks, 32 * MANY_GROUPS, 0, stream>>>(*finish);
    else
      hls_finish_many<S, FEW_GROUPS><<<(unsigned)blocks, 32 * FEW_GROUPS, 0, stream>>>(*finish);
  } else {
    uint64_t blocks = (numbers + THREADS - 1) / THREADS;
    if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
    hls_finish<S><<<(unsigned)blocks, THREADS, 0, stream>>>(*finish);
  }
  return cudaGetLastError();
}

extern "C" cudaError_t pd_hls_finish_run(const struct pd_hls_finish *finish, cudaStream_t stream) {
  return finish->wide_sums ? finish_any<double>(finish, stream) : finish_any<float>(finish, stream);
}
