/* The sum of the copies of a short output. */
#include "formats/nonzeros/nonzeros_gpu.h"

template <typename T>
__global__ void nz_merge(const __grid_constant__ struct pd_nz_output from, T *to,
                         uint64_t to_stride) {
  uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= from.copy_stride) return;
  const T *copies = static_cast<const T *>(from.data);
  T sum = 0;
#pragma unroll 8
  for (int c = 0; c < from.copies; ++c)
    sum += copies[(uint64_t)c * from.copy_stride + k];
  to[k / from.stride * to_stride + k % from.stride] = sum;
}

template <typename T>
static cudaError_t merge(const struct pd_nz_output *from, void *to, uint64_t to_stride,
                         cudaStream_t stream) {
  const unsigned threads = 128;
  unsigned blocks = (unsigned)((from->copy_stride + threads - 1) / threads);
  nz_merge<<<blocks, threads, 0, stream>>>(*from, static_cast<T *>(to), to_stride);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_nz_merge_f32(const struct pd_nz_output *from, void *to,
                                       uint64_t to_stride, cudaStream_t stream) {
  return merge<float>(from, to, to_stride, stream);
}

extern "C" cudaError_t pd_nz_merge_f64(const struct pd_nz_output *from, void *to,
                                       uint64_t to_stride, cudaStream_t stream) {
  return merge<double>(from, to, to_stride, stream);
}
