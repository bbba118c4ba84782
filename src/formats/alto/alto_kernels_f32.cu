/* The kernels of "alto" for float. */
#include "formats/alto/alto_kernels.cuh"

extern "C" cudaError_t pd_alto_sum_f32(const struct pd_gpu_alto *a, int aligned, int phi,
                                       cudaStream_t stream) {
  return sum_any<float>(a, aligned, phi, stream);
}

extern "C" cudaError_t pd_alto_weigh_f32(const struct pd_gpu_alto *a, cudaStream_t stream) {
  return weigh_any<float>(a, stream);
}

extern "C" int pd_alto_gpu_columns(int value_bytes) { return 32 * 16 / value_bytes; }
