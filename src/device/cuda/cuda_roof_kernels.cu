/* What bounds kernels: rows read and added to in random order, and arithmetic in registers. Rows
 * are read as the kernels of the formats read them, 16 bytes a lane where they are aligned. */
#include "device/cuda/cuda_roof.h"

enum { ROOF_THREADS = 256, ROOF_EACH = 16 /* rows of a group of lanes */, ROOF_SUMS = 8 };

/* Lanes that share a row of 32 numbers. */
template <typename T> struct RoofLanes {
  static constexpr int numbers = 16 / (int)sizeof(T), value = 32 / numbers;
};

template <typename T, bool ALIGNED>
__global__ void __launch_bounds__(ROOF_THREADS)
    roof_gather(const __grid_constant__ struct pd_gpu_roof a) {
  constexpr int LANES = RoofLanes<T>::value, N = RoofLanes<T>::numbers;
  uint64_t group = ((uint64_t)blockIdx.x * ROOF_THREADS + threadIdx.x) / LANES;
  uint64_t lane = threadIdx.x % LANES, begin = group * ROOF_EACH;
  const T *table = static_cast<const T *>(a.table);
  T sum = 0;
#pragma unroll 4
  for (uint64_t k = begin; k < begin + ROOF_EACH; ++k) {
    if (k >= a.count) break;
    const T *row = table + __ldg(a.index + k) * a.rank;
    for (uint64_t r = lane * N; r < a.rank; r += LANES * N) {
      T part[N];
      if (ALIGNED) {
        int4 raw = __ldg(reinterpret_cast<const int4 *>(row + r));
        for (int i = 0; i < N; ++i)
          part[i] = reinterpret_cast<const T *>(&raw)[i];
      } else {
        for (int i = 0; i < N; ++i)
          part[i] = r + i < a.rank ? __ldg(row + r + i) : T(0);
      }
      for (int i = 0; i < N; ++i)
        sum += part[i];
    }
  }
  /* Never so, but the compiler does not know. */
  if (sum == T(-1)) static_cast<T *>(a.result)[threadIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(ROOF_THREADS)
    roof_add(const __grid_constant__ struct pd_gpu_roof a) {
  constexpr int LANES = RoofLanes<T>::value;
  uint64_t group = ((uint64_t)blockIdx.x * ROOF_THREADS + threadIdx.x) / LANES;
  uint64_t lane = threadIdx.x % LANES, begin = group * ROOF_EACH;
  for (uint64_t k = begin; k < begin + ROOF_EACH && k < a.count; ++k) {
    T *row = static_cast<T *>(a.table) + __ldg(a.index + k) * a.rank;
    for (uint64_t r = lane; r < a.rank; r += LANES)
      atomicAdd(row + r, T(1));
  }
}

template <typename T>
__global__ void __launch_bounds__(ROOF_THREADS)
    roof_flops(const __grid_constant__ struct pd_gpu_roof a) {
  T sum[ROOF_SUMS];
  for (int i = 0; i < ROOF_SUMS; ++i)
    sum[i] = T(threadIdx.x + i);
  for (int k = 0; k < a.steps; ++k)
#pragma unroll
    for (int i = 0; i < ROOF_SUMS; ++i)
      sum[i] = sum[i] * T(0.999) + T(0.5);
  T all = 0;
  for (int i = 0; i < ROOF_SUMS; ++i)
    all += sum[i];
  if (all == T(-1)) static_cast<T *>(a.result)[threadIdx.x] = all;
}

template <typename T> static unsigned row_blocks(uint64_t count) {
  uint64_t rows = (uint64_t)(ROOF_THREADS / RoofLanes<T>::value) * ROOF_EACH;
  return (unsigned)((count + rows - 1) / rows);
}

template <typename T>
static cudaError_t gather(const struct pd_gpu_roof *roof, cudaStream_t stream) {
  if (roof->rank * sizeof(T) % 16 == 0)
    roof_gather<T, true><<<row_blocks<T>(roof->count), ROOF_THREADS, 0, stream>>>(*roof);
  else
    roof_gather<T, false><<<row_blocks<T>(roof->count), ROOF_THREADS, 0, stream>>>(*roof);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_roof_gather(const struct pd_gpu_roof *roof, int wide,
                                          cudaStream_t stream) {
  return wide ? gather<double>(roof, stream) : gather<float>(roof, stream);
}

extern "C" cudaError_t pd_gpu_roof_add(const struct pd_gpu_roof *roof, int wide,
                                       cudaStream_t stream) {
  if (wide)
    roof_add<double><<<row_blocks<double>(roof->count), ROOF_THREADS, 0, stream>>>(*roof);
  else
    roof_add<float><<<row_blocks<float>(roof->count), ROOF_THREADS, 0, stream>>>(*roof);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_roof_flops(const struct pd_gpu_roof *roof, int wide,
                                         cudaStream_t stream) {
  unsigned blocks = (unsigned)(roof->threads / ROOF_THREADS);
  if (wide)
    roof_flops<double><<<blocks, ROOF_THREADS, 0, stream>>>(*roof);
  else
    roof_flops<float><<<blocks, ROOF_THREADS, 0, stream>>>(*roof);
  return cudaGetLastError();
}
