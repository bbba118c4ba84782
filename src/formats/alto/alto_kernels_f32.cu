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

extern "C" cudaError_t pd_alto_logarithms_f32(const struct pd_gpu_alto *a, double *partial,
                                              double *total, cudaStream_t stream) {
  return logarithms_any<float>(a, partial, total, stream);
}

extern "C" uint64_t pd_alto_gpu_partials(uint64_t nnz) {
  return (nnz + PD_ALTO_GPU_THREADS - 1) / PD_ALTO_GPU_THREADS;
}
