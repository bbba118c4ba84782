/* Operations on single entries of matrices: random numbers, rounding to types of few bits, sums of
 * two, copies. */
#include "core/half.h"
#include "core/random.h"
#include "device/cuda/cuda_linalg_device.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { THREADS = 256, WARPS = THREADS / 32 };

/* The numbers of polyad_compute. */
enum { F16 = 1, BF16 = 2 };

/* What a type keeps of a number; tf32 (3) rounds ties away from zero, as cvt.rna does. */
__device__ static float keep(int compute, float x) {
  if (compute == F16) return __half2float(__float2half_rn(x));
  if (compute == BF16) return __bfloat162float(__float2bfloat16_rn(x));
  return isfinite(x) ? __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu) : x;
}

/* Calls DO(place in a, place in b) for every entry of two matrices of one shape. */
template <typename DO>
__device__ static void each_entry(const pd_gpu_matrix &a, const pd_gpu_matrix &b, const DO &act) {
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (uint64_t i = (uint64_t)blockIdx.x * WARPS + ty; i < b.rows; i += (uint64_t)gridDim.x * WARPS)
    for (int r = tx; r < b.rank; r += 32)
      act(i * a.stride + r, i * b.stride + r);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    round_entries(int compute, pd_gpu_matrix from, pd_gpu_matrix to) {
  const T *source = static_cast<const T *>(from.data);
  T *target = static_cast<T *>(to.data);
  each_entry(from, to,
             [&](uint64_t p, uint64_t q) { target[q] = (T)keep(compute, (float)source[p]); });
}

static __global__ void __launch_bounds__(THREADS) halve_entries(pd_gpu_matrix a, uint16_t *halves) {
  float *entry = static_cast<float *>(a.data);
  each_entry(a, a, [&](uint64_t p, uint64_t) {
    halves[p] = pd_bfloat_of(entry[p]);
    entry[p] = pd_float_of_bfloat(halves[p]);
  });
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) add_entries(pd_gpu_matrix y, pd_gpu_matrix x) {
  const T *source = static_cast<const T *>(y.data);
  T *target = static_cast<T *>(x.data);
  each_entry(y, x, [&](uint64_t p, uint64_t q) { target[q] += source[p]; });
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    random_entries(uint64_t seed, uint64_t stream, pd_gpu_matrix a) {
  T *target = static_cast<T *>(a.data);
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (uint64_t i = (uint64_t)blockIdx.x * WARPS + ty; i < a.rows; i += (uint64_t)gridDim.x * WARPS)
    for (int r = tx; r < a.rank; r += 32)
      target[i * a.stride + r] =
          (T)pd_random_uniform(seed, stream, i * (uint64_t)a.rank + (uint64_t)r);
}

/* Threads go over entries, since rows may have few; a row of blocks per copy. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    copy_entries(const __grid_constant__ Batch<pd_gpu_columns> batch) {
  const pd_gpu_matrix &from = batch.job[blockIdx.y].from, &to = batch.job[blockIdx.y].to;
  const T *source = static_cast<const T *>(from.data);
  T *target = static_cast<T *>(to.data);
  uint64_t columns = (uint64_t)to.rank, count = to.rows * columns;
  for (uint64_t e = (uint64_t)blockIdx.x * THREADS + threadIdx.x; e < count;
       e += (uint64_t)gridDim.x * THREADS)
    target[e / columns * to.stride + e % columns] = source[e / columns * from.stride + e % columns];
}

static unsigned blocks_for(uint64_t rows, int processors) {
  uint64_t most = (uint64_t)processors * 8, needed = (rows + WARPS - 1) / WARPS;
  return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

extern "C" cudaError_t pd_gpu_round(int compute, struct pd_gpu_matrix from, struct pd_gpu_matrix to,
                                    int processors, cudaStream_t stream) {
  unsigned blocks = blocks_for(from.rows, processors);
  if (from.wide)
    round_entries<double><<<blocks, THREADS, 0, stream>>>(compute, from, to);
  else
    round_entries<float><<<blocks, THREADS, 0, stream>>>(compute, from, to);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_halve(struct pd_gpu_matrix a, uint16_t *halves, int processors,
                                    cudaStream_t stream) {
  halve_entries<<<blocks_for(a.rows, processors), THREADS, 0, stream>>>(a, halves);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_random(uint64_t seed, uint64_t stream_of_numbers,
                                     struct pd_gpu_matrix a, int processors, cudaStream_t stream) {
  unsigned blocks = blocks_for(a.rows, processors);
  if (a.wide)
    random_entries<double><<<blocks, THREADS, 0, stream>>>(seed, stream_of_numbers, a);
  else
    random_entries<float><<<blocks, THREADS, 0, stream>>>(seed, stream_of_numbers, a);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_add(struct pd_gpu_matrix y, struct pd_gpu_matrix x, int processors,
                                  cudaStream_t stream) {
  unsigned blocks = blocks_for(x.rows, processors);
  if (x.wide)
    add_entries<double><<<blocks, THREADS, 0, stream>>>(y, x);
  else
    add_entries<float><<<blocks, THREADS, 0, stream>>>(y, x);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_copy_columns(const struct pd_gpu_columns *jobs, int count,
                                           cudaStream_t stream) {
  auto kind = [](const pd_gpu_columns &job) { return job.to.wide; };
  return launch_in_batches(
      jobs, count, kind, [&](const Batch<pd_gpu_columns> &batch, int together, int wide) {
        uint64_t most = 1;
        for (int k = 0; k < together; ++k) {
          uint64_t entries = batch.job[k].to.rows * (uint64_t)batch.job[k].to.rank;
          most = entries > most ? entries : most;
        }
        uint64_t wanted = (most + THREADS - 1) / THREADS;
        dim3 blocks((unsigned)(wanted < 1024 ? wanted : 1024), (unsigned)together);
        if (wide)
          copy_entries<double><<<blocks, THREADS, 0, stream>>>(batch);
        else
          copy_entries<float><<<blocks, THREADS, 0, stream>>>(batch);
      });
}
