/* The kernels of "alto" for double. */
#include "formats/alto/alto_kernels.cuh"

extern "C" cudaError_t pd_alto_sum_f64(const struct pd_gpu_alto *a, int aligned, int phi,
                                       cudaStream_t stream) {
  return sum_any<double>(a, aligned, phi, stream);
}

extern "C" cudaError_t pd_alto_weigh_f64(const struct pd_gpu_alto *a, cudaStream_t stream) {
  return weigh_any<double>(a, stream);
}

extern "C" cudaError_t pd_alto_logarithms_f64(const struct pd_gpu_alto *a, double *partial,
                                              double *total, cudaStream_t stream) {
  return logarithms_any<double>(a, partial, total, stream);
}
