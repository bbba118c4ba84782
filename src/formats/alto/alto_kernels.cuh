/* MTTKRP and Phi of "alto" on a GPU.
 *
 * LANES lanes form a group and hold a tile of a row, 16 bytes each, as in "modecopy". A group takes
 * `segment` places. It decodes LANES nonzeros at a time, one per lane, then walks them four at a
 * time. Pull-based: places are sorted by output row, sums stay in registers until the row ends and
 * are written once, rows that groups share are joined in their order. Atomic: places are in the
 * order of the keys, and the sum of nonzeros that follow each other in one row is added to the
 * output by atomic operations. */
#ifndef PD_ALTO_KERNELS_CUH
#define PD_ALTO_KERNELS_CUH

#include "engine/loss.h"
#include "formats/alto/alto_decode.cuh"
#include "formats/nonzeros/nonzeros_products.cuh"
#include "formats/ordered/ordered_join.cuh"
#include "formats/ordered/ordered_launch.h"

/* Sum over the lanes of the group; all of them call it. */
template <typename T, int LANES> __device__ __forceinline__ T over_group(T sum) {
  int first = (int)(threadIdx.x % 32) / LANES * LANES;
  unsigned mask = LANES == 32 ? 0xffffffffu : ((1u << (LANES % 32)) - 1u) << first;
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    sum += __shfl_xor_sync(mask, sum, step);
  return sum;
}

/* product: rows of Pi; becomes the nonzero's term of the gradient. */
template <typename T, int LANES>
__device__ __forceinline__ void weigh(const struct pd_gpu_alto &a, T value, const Row<T> &own,
                                      Row<T> &product) {
  T model = over_group<T, LANES>(dot(product, own));
  T weight = PD_LOSS_SLOPE(a.loss, value, model, (T)a.least);
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    product.v[i] *= weight;
}

/* The values that products begin with: those of the nonzeros, or ones for rows of Pi. */
template <typename T, bool PHI>
__device__ __forceinline__ void first_values(const Decoded<T> &from, int first, T value[4]) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
    value[j] = PHI ? T(1) : from.value[first + j];
}

template <typename T, int LANES, bool ALIGNED, int INPUTS, bool PHI>
__global__ void __launch_bounds__(PD_ALTO_GPU_THREADS)
    alto_pull(const __grid_constant__ struct pd_gpu_alto a) {
  using LANE = Lane<T, LANES, ALIGNED>;
  constexpr int GROUPS = PD_ALTO_GPU_THREADS / LANES;
  __shared__ Partials<T, LANES, GROUPS> parts;
  __shared__ Decoded<T> decoded;
  int lane = (int)threadIdx.x % LANES, group = (int)threadIdx.x / LANES;
  LANE part(lane, (int)blockIdx.y, a.rank);
  uint64_t begin = ((uint64_t)blockIdx.x * GROUPS + (uint64_t)group) * (uint64_t)a.segment;
  uint64_t end = begin + (uint64_t)a.segment < a.nnz ? begin + (uint64_t)a.segment : a.nnz;
  bool works = begin < a.nnz, inside = true, ended = false;
  bool has_first = false;
  uint64_t row = 0, row_end = 0, id = 0;
  T *out = static_cast<T *>(a.out);
  const T *b = static_cast<const T *>(a.output.factor);
  Row<T> sum = LANE::zero(), own = LANE::zero();
  if (works) {
    row = a.chunk_row[begin / 64];
    inside = a.row_start[row] == begin;
    has_first = !inside;
    row_end = a.row_start[row + 1];
    id = a.row_id[row];
    if (PHI) own = part.load(b + id * a.output.stride);
  }
  Products<T, LANE, INPUTS> products;
  products.begin();
  /* All groups of a warp take as many steps, so that the warp can wait for its lanes. */
  for (uint64_t step = 0; step < (uint64_t)a.segment; step += LANES) {
    uint64_t q = begin + step;
    __syncwarp();
    if (q + (uint64_t)lane < end)
      alto_decode(a, decoded, q + (uint64_t)lane, false);
    else
      alto_decode_none(a, decoded);
    __syncwarp();
    for (int at = 0; at < LANES && q + (uint64_t)at < end; at += 4) {
      int first = group * LANES + at;
      T value[4];
      Row<T> product[4];
      first_values<T, PHI>(decoded, first, value);
      products.compute(AltoSource<T>{a, decoded, first}, part, value, product);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint64_t place = q + (uint64_t)(at + j);
        if (place >= end) break;
        if (PHI) weigh<T, LANES>(a, decoded.value[first + j], own, product[j]);
        add(sum, product[j]);
        ended = place + 1 == row_end;
        if (!ended) continue;
        if (inside)
          part.store(out + id * a.out_stride, sum);
        else
          parts.first[group][lane] = sum;
        sum = LANE::zero();
        inside = true;
        if (++row == a.rows) continue;
        row_end = a.row_start[row + 1];
        id = a.row_id[row];
        if (PHI) own = part.load(b + id * a.output.stride);
      }
    }
  }
  bool open = works && !ended, has_last = open && inside, through = open && !inside;
  if (has_last) parts.last[group][lane] = sum;
  if (through) parts.first[group][lane] = sum;
  if (lane == 0) {
    parts.has_first[group] = has_first;
    parts.has_last[group] = has_last;
    parts.through[group] = through;
    parts.last_row[group] = (uint32_t)id;
  }
  __syncthreads();
  uint64_t carry = (uint64_t)blockIdx.x * (uint64_t)a.rank;
  join_groups<T, LANES, GROUPS>(parts, group, lane, part, out, a.out_stride,
                                static_cast<T *>(a.head) + carry, static_cast<T *>(a.tail) + carry);
}

template <typename T, typename LANE>
__device__ __forceinline__ void add_atomically(const LANE &part, T *to, const Row<T> &sum,
                                               int distance) {
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    if (part.column + i * distance < part.rank)
      atomicAdd(to + part.column + i * distance, sum.v[i]);
}

template <typename T, int LANES, bool ALIGNED, bool PHI>
__global__ void __launch_bounds__(PD_ALTO_GPU_THREADS)
    alto_atomic(const __grid_constant__ struct pd_gpu_alto a) {
  using LANE = Lane<T, LANES, ALIGNED>;
  constexpr int GROUPS = PD_ALTO_GPU_THREADS / LANES, DISTANCE = ALIGNED ? 1 : LANES;
  __shared__ Decoded<T> decoded;
  int lane = (int)threadIdx.x % LANES, group = (int)threadIdx.x / LANES;
  LANE part(lane, (int)blockIdx.y, a.rank);
  uint64_t begin = ((uint64_t)blockIdx.x * GROUPS + (uint64_t)group) * (uint64_t)a.segment;
  uint64_t end = begin + (uint64_t)a.segment < a.nnz ? begin + (uint64_t)a.segment : a.nnz;
  T *out = static_cast<T *>(a.out);
  const T *b = static_cast<const T *>(a.output.factor);
  Row<T> sum = LANE::zero(), own = LANE::zero();
  uint64_t id = UINT64_MAX;
  Products<T, LANE, 0> products;
  for (uint64_t step = 0; step < (uint64_t)a.segment; step += LANES) {
    uint64_t q = begin + step;
    __syncwarp();
    if (q + (uint64_t)lane < end)
      alto_decode(a, decoded, q + (uint64_t)lane, true);
    else
      alto_decode_none(a, decoded);
    __syncwarp();
    for (int at = 0; at < LANES && q + (uint64_t)at < end; at += 4) {
      int first = group * LANES + at;
      T value[4];
      Row<T> product[4];
      first_values<T, PHI>(decoded, first, value);
      products.compute(AltoSource<T>{a, decoded, first}, part, value, product);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (q + (uint64_t)(at + j) >= end) break;
        uint64_t next = decoded.index[PD_ALTO_INPUTS_MAX][first + j];
        if (next != id) {
          if (id != UINT64_MAX) add_atomically<T>(part, out + id * a.out_stride, sum, DISTANCE);
          sum = LANE::zero();
          id = next;
          if (PHI) own = part.load(b + id * a.output.stride);
        }
        if (PHI) weigh<T, LANES>(a, decoded.value[first + j], own, product[j]);
        add(sum, product[j]);
      }
    }
  }
  if (id != UINT64_MAX) add_atomically<T>(part, out + id * a.out_stride, sum, DISTANCE);
}

/* <B row, product of the factors' rows> of the nonzero that thread `from` decoded; all lanes of the
 * warp call it and get it. */
template <typename T>
__device__ T model_of(const struct pd_gpu_alto &a, const Decoded<T> &decoded, int from) {
  int lane = (int)threadIdx.x % 32;
  T model = 0;
  const T *b = static_cast<const T *>(a.output.factor);
  b += decoded.index[PD_ALTO_INPUTS_MAX][from] * a.output.stride;
  for (int c = lane; c < a.rank; c += 32) {
    T product = __ldg(b + c);
    for (int k = 0; k < a.inputs; ++k)
      product *= __ldg(static_cast<const T *>(a.input[k].factor) +
                       decoded.index[k][from] * a.input[k].stride + c);
    model += product;
  }
  return over_group<T, 32>(model);
}

/* A warp per 32 places. GAINS: writes a sum per block to `partial`, else the weights. */
template <typename T, bool GAINS>
__global__ void __launch_bounds__(PD_ALTO_GPU_THREADS)
    alto_models(const __grid_constant__ struct pd_gpu_alto a, double *partial) {
  __shared__ Decoded<T> decoded;
  __shared__ double of_warp[PD_ALTO_GPU_THREADS / 32];
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  uint64_t q = ((uint64_t)blockIdx.x * (PD_ALTO_GPU_THREADS / 32) + (uint64_t)warp) * 32;
  bool inside = q + (uint64_t)lane < a.nnz;
  if (inside)
    alto_decode(a, decoded, q + (uint64_t)lane, true);
  else
    alto_decode_none(a, decoded);
  __syncwarp();
  T mine = 0;
  for (int j = 0; j < 32 && q + (uint64_t)j < a.nnz; ++j) {
    T model = model_of(a, decoded, warp * 32 + j);
    if (j == lane) mine = model;
  }
  T value = decoded.value[threadIdx.x];
  if (!GAINS) {
    if (inside)
      static_cast<T *>(a.weights)[q + (uint64_t)lane] =
          PD_LOSS_SLOPE(a.loss, value, mine, (T)a.least);
    return;
  }
  double sum =
      over_group<double, 32>(inside ? PD_LOSS_GAIN(a.loss, (double)value, (double)mine) : 0.0);
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (int w = 0; w < PD_ALTO_GPU_THREADS / 32; ++w)
    sum += of_warp[w];
  partial[blockIdx.x] = sum;
}

/* ---- launching ---------------------------------------------------------------------------------
 */

template <typename T, int LANES, bool ALIGNED, bool PHI>
static cudaError_t launch_pull(const struct pd_gpu_alto *a, dim3 grid, cudaStream_t stream) {
  switch (a->inputs) {
  case 2:
    alto_pull<T, LANES, ALIGNED, 2, PHI><<<grid, PD_ALTO_GPU_THREADS, 0, stream>>>(*a);
    break;
  case 3:
    alto_pull<T, LANES, ALIGNED, 3, PHI><<<grid, PD_ALTO_GPU_THREADS, 0, stream>>>(*a);
    break;
  default:
    alto_pull<T, LANES, ALIGNED, 0, PHI><<<grid, PD_ALTO_GPU_THREADS, 0, stream>>>(*a);
  }
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess || grid.x == 1) return code;
  return start_join<T, LANES, ALIGNED>(a, grid.x, grid.y, PD_ALTO_GPU_THREADS, stream);
}

template <typename T, int LANES, bool ALIGNED>
static cudaError_t launch(const struct pd_gpu_alto *a, int phi, cudaStream_t stream) {
  int width = LANES * Row<T>::N, tiles = (a->rank + width - 1) / width;
  dim3 grid((unsigned)pd_gpu_sum_blocks(a->nnz, LANES, a->segment), (unsigned)tiles);
  if (a->order != nullptr)
    return phi ? launch_pull<T, LANES, ALIGNED, true>(a, grid, stream)
               : launch_pull<T, LANES, ALIGNED, false>(a, grid, stream);
  if (phi)
    alto_atomic<T, LANES, ALIGNED, true><<<grid, PD_ALTO_GPU_THREADS, 0, stream>>>(*a);
  else
    alto_atomic<T, LANES, ALIGNED, false><<<grid, PD_ALTO_GPU_THREADS, 0, stream>>>(*a);
  return cudaGetLastError();
}

template <typename T>
static cudaError_t sum_any(const struct pd_gpu_alto *a, int aligned, int phi, cudaStream_t stream) {
  int lanes = pd_gpu_lanes(a->rank, (int)sizeof(T), aligned);
  if (a->nnz == 0) return cudaSuccess;
  if (!aligned)
    return lanes == 8 ? launch<T, 8, false>(a, phi, stream) : launch<T, 32, false>(a, phi, stream);
  switch (lanes) {
  case 4:
    return launch<T, 4, true>(a, phi, stream);
  case 8:
    return launch<T, 8, true>(a, phi, stream);
  case 16:
    return launch<T, 16, true>(a, phi, stream);
  default:
    return launch<T, 32, true>(a, phi, stream);
  }
}

template <typename T>
static cudaError_t weigh_any(const struct pd_gpu_alto *a, cudaStream_t stream) {
  uint64_t blocks = pd_alto_gpu_partials(a->nnz);
  if (blocks == 0) return cudaSuccess;
  alto_models<T, false><<<(unsigned)blocks, PD_ALTO_GPU_THREADS, 0, stream>>>(*a, nullptr);
  return cudaGetLastError();
}

template <typename T>
static cudaError_t logarithms_any(const struct pd_gpu_alto *a, double *partial, double *total,
                                  cudaStream_t stream) {
  uint64_t blocks = pd_alto_gpu_partials(a->nnz);
  if (blocks > 0)
    alto_models<T, true><<<(unsigned)blocks, PD_ALTO_GPU_THREADS, 0, stream>>>(*a, partial);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  return pd_gpu_add_up(partial, blocks, total, stream);
}

#endif
