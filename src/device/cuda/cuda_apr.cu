/* The elementwise steps of CP-APR. Counts and maxima are the same in any order, so they may be
 * updated atomically; sums over columns are those of the other dense algebra. */
#include "device/cuda/cuda_linalg_launch.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

/* Calls DO(column, place in a, place in b) for every entry of two matrices of one shape. */
template <typename DO>
__device__ static void each_entry(const pd_gpu_matrix &a, const pd_gpu_matrix &b, const DO &act) {
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (uint64_t i = (uint64_t)blockIdx.x * WARPS + ty; i < b.rows; i += (uint64_t)gridDim.x * WARPS)
    for (int r = tx; r < b.rank; r += 32)
      act(r, i * a.stride + r, i * b.stride + r);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    weigh(pd_gpu_matrix phi, double kappa, double kappa_tolerance, const double *lambda,
          pd_gpu_matrix x, double *scalars) {
  const T *measure = static_cast<const T *>(phi.data);
  T *entry = static_cast<T *>(x.data);
  int shifted = 0;
  each_entry(phi, x, [&](int r, uint64_t p, uint64_t q) {
    double value = (double)entry[q];
    if (measure != nullptr && measure[p] > T(1) && value < kappa_tolerance) {
      value += kappa;
      ++shifted;
    }
    entry[q] = (T)(value * lambda[r]);
  });
  if (shifted > 0) atomicAdd(scalars + PD_GPU_SHIFTED, (double)shifted);
}

/* Bits of a number that is not negative order like the number; those of NaN come last. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    kkt(pd_gpu_matrix phi, pd_gpu_matrix b, double *scalars) {
  const T *measure = static_cast<const T *>(phi.data), *entry = static_cast<const T *>(b.data);
  unsigned long long most = 0;
  each_entry(phi, b, [&](int, uint64_t p, uint64_t q) {
    double slack = 1 - (double)measure[p], value = (double)entry[q];
    double violation = slack != slack || slack < value ? slack : value;
    unsigned long long bits = (unsigned long long)__double_as_longlong(fabs(violation));
    most = bits > most ? bits : most;
  });
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    unsigned long long other = __shfl_xor_sync(0xffffffffu, most, step);
    most = other > most ? other : most;
  }
  if (threadIdx.x % 32 == 0)
    atomicMax(reinterpret_cast<unsigned long long *>(scalars + PD_GPU_KKT), most);
}

/* Notes what an inner iteration of a recorded loop has found, and whether another one follows. */
__device__ static void note_inner(const pd_gpu_loop &loop, double violation, bool multiplies) {
#if CUDART_VERSION >= PD_CUDA_LOOPS
  loop.outcome[0] = violation;
  if (multiplies) loop.outcome[1] += 1;
  cudaGraphSetConditional(loop.handle, multiplies && loop.outcome[1] < loop.most);
#endif
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    multiply_unless(pd_gpu_matrix phi, double tolerance, pd_gpu_loop loop, pd_gpu_matrix b,
                    double *scalars) {
  bool multiplies = !(scalars[PD_GPU_KKT] < tolerance);
  if (loop.outcome != nullptr && blockIdx.x == 0 && threadIdx.x == 0)
    note_inner(loop, scalars[PD_GPU_KKT], multiplies);
  if (!multiplies) return;
  const T *measure = static_cast<const T *>(phi.data);
  T *entry = static_cast<T *>(b.data);
  each_entry(phi, b, [&](int, uint64_t p, uint64_t q) { entry[q] *= measure[p]; });
  if (blockIdx.x == 0 && threadIdx.x == 0) scalars[PD_GPU_UPDATES] += 1;
}

static unsigned blocks_for(uint64_t rows, int processors) {
  uint64_t most = (uint64_t)processors * 8, needed = (rows + WARPS - 1) / WARPS;
  return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

extern "C" cudaError_t pd_gpu_weigh(struct pd_gpu_matrix phi, double kappa, double kappa_tolerance,
                                    const double *lambda, struct pd_gpu_matrix x, int processors,
                                    double *scalars, cudaStream_t stream) {
  unsigned blocks = blocks_for(x.rows, processors);
  if (x.wide)
    weigh<double><<<blocks, THREADS, 0, stream>>>(phi, kappa, kappa_tolerance, lambda, x, scalars);
  else
    weigh<float><<<blocks, THREADS, 0, stream>>>(phi, kappa, kappa_tolerance, lambda, x, scalars);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_kkt(struct pd_gpu_matrix phi, struct pd_gpu_matrix b, int processors,
                                  double *scalars, cudaStream_t stream) {
  unsigned blocks = blocks_for(b.rows, processors);
  cudaError_t code = cudaMemsetAsync(scalars + PD_GPU_KKT, 0, sizeof *scalars, stream);
  if (code != cudaSuccess) return code;
  if (b.wide)
    kkt<double><<<blocks, THREADS, 0, stream>>>(phi, b, scalars);
  else
    kkt<float><<<blocks, THREADS, 0, stream>>>(phi, b, scalars);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_multiply_unless(struct pd_gpu_matrix phi, double tolerance,
                                              struct pd_gpu_loop loop, struct pd_gpu_matrix b,
                                              int processors, double *scalars,
                                              cudaStream_t stream) {
  unsigned blocks = blocks_for(b.rows, processors);
  if (b.wide)
    multiply_unless<double><<<blocks, THREADS, 0, stream>>>(phi, tolerance, loop, b, scalars);
  else
    multiply_unless<float><<<blocks, THREADS, 0, stream>>>(phi, tolerance, loop, b, scalars);
  return cudaGetLastError();
}
