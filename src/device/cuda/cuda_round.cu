/* What compute types of few bits keep of a matrix. */
#include "device/cuda/cuda_linalg_launch.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { THREADS = 256, WARPS = THREADS / 32 };

/* The numbers of polyad_compute. */
enum { F16 = 1, BF16 = 2, TF32 = 3 };

/* tf32 rounds ties away from zero, as cvt.rna does where the GPU has it. */
__device__ static float keep(int compute, float x) {
  if (compute == F16) return __half2float(__float2half_rn(x));
  if (compute == BF16) return __bfloat162float(__float2bfloat16_rn(x));
  return isfinite(x) ? __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu) : x;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    round_entries(int compute, pd_gpu_matrix from, pd_gpu_matrix to) {
  const T *source = static_cast<const T *>(from.data);
  T *target = static_cast<T *>(to.data);
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (uint64_t i = (uint64_t)blockIdx.x * WARPS + ty; i < from.rows;
       i += (uint64_t)gridDim.x * WARPS)
    for (int r = tx; r < from.rank; r += 32)
      target[i * to.stride + r] = (T)keep(compute, (float)source[i * from.stride + r]);
}

extern "C" cudaError_t pd_gpu_round(int compute, struct pd_gpu_matrix from, struct pd_gpu_matrix to,
                                    int processors, cudaStream_t stream) {
  uint64_t most = (uint64_t)processors * 8, needed = (from.rows + WARPS - 1) / WARPS;
  unsigned blocks = (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
  if (from.wide)
    round_entries<double><<<blocks, THREADS, 0, stream>>>(compute, from, to);
  else
    round_entries<float><<<blocks, THREADS, 0, stream>>>(compute, from, to);
  return cudaGetLastError();
}
