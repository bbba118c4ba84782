/* Kernels of a team's members: sums of what blocks or members have left, and rows of factors taken
 * and added by lists of their numbers. */
#include "device/cuda/cuda_linalg_device.cuh"
#include "device/cuda/cuda_team_launch.h"

namespace {

enum { THREADS = 256, WARPS = THREADS / 32 };

__device__ double larger_or_nan(double a, double b) { return isnan(a) || a > b ? a : b; }

/* The largest of `count` numbers that lie `step` apart and are not negative, or NaN. */
__device__ double warp_largest_or_nan(const double *from, int count, size_t step) {
  double largest = 0;
  for (int k = (int)threadIdx.x % 32; k < count; k += 32)
    largest = larger_or_nan(from[(size_t)k * step], largest);
  for (int s = 16; s > 0; s /= 2)
    largest = larger_or_nan(__shfl_xor_sync(0xffffffffu, largest, s), largest);
  return largest;
}

/* A warp per column. */
__global__ void __launch_bounds__(THREADS) fold_sums(const __grid_constant__ pd_gpu_fold job) {
  uint64_t c = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (c >= job.width) return;
  bool largest = c >= job.largest_begin && c < job.largest_end;
  double found = largest ? warp_largest_or_nan(job.from + c, job.count, job.step)
                         : warp_sum(job.from + c, job.count, job.step);
  if (threadIdx.x % 32 == 0) job.out[c] = found;
}

/* Calls DO(place in the matrix, place in the packed rows) for every entry of the listed rows. */
template <typename DO>
__device__ void each_listed(const pd_gpu_matrix &matrix, uint64_t count, const uint64_t *index,
                            const DO &act) {
  int tx = (int)threadIdx.x % 32, ty = (int)threadIdx.x / 32;
  for (uint64_t j = (uint64_t)blockIdx.x * WARPS + (uint64_t)ty; j < count;
       j += (uint64_t)gridDim.x * WARPS) {
    uint64_t row = index[j];
    for (int r = tx; r < matrix.rank; r += 32)
      act(row * matrix.stride + (uint64_t)r, j * (uint64_t)matrix.rank + (uint64_t)r);
  }
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    take_rows(pd_gpu_matrix matrix, uint64_t count, const uint64_t *index, T *to) {
  const T *rows = static_cast<const T *>(matrix.data);
  each_listed(matrix, count, index, [&](uint64_t p, uint64_t q) { to[q] = rows[p]; });
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    add_rows(const T *from, uint64_t count, const uint64_t *index, pd_gpu_matrix matrix) {
  T *rows = static_cast<T *>(matrix.data);
  each_listed(matrix, count, index, [&](uint64_t p, uint64_t q) { rows[p] += from[q]; });
}

unsigned blocks_for(uint64_t rows, int processors) {
  uint64_t most = (uint64_t)processors * 16, needed = (rows + WARPS - 1) / WARPS;
  return (unsigned)(needed < most ? needed : most);
}

} // namespace

extern "C" cudaError_t pd_gpu_fold_sums(const struct pd_gpu_fold *fold, cudaStream_t stream) {
  fold_sums<<<(unsigned)((fold->width + WARPS - 1) / WARPS), THREADS, 0, stream>>>(*fold);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_take_rows(struct pd_gpu_matrix matrix, uint64_t count,
                                        const uint64_t *index, void *to, int processors,
                                        cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  unsigned blocks = blocks_for(count, processors);
  if (matrix.wide)
    take_rows<<<blocks, THREADS, 0, stream>>>(matrix, count, index, static_cast<double *>(to));
  else
    take_rows<<<blocks, THREADS, 0, stream>>>(matrix, count, index, static_cast<float *>(to));
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_add_rows(const void *from, uint64_t count, const uint64_t *index,
                                       struct pd_gpu_matrix matrix, int processors,
                                       cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  unsigned blocks = blocks_for(count, processors);
  if (matrix.wide)
    add_rows<<<blocks, THREADS, 0, stream>>>(static_cast<const double *>(from), count, index,
                                             matrix);
  else
    add_rows<<<blocks, THREADS, 0, stream>>>(static_cast<const float *>(from), count, index,
                                             matrix);
  return cudaGetLastError();
}
