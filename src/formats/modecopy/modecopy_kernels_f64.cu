/* The kernels of "modecopy" for double. */
#include "formats/modecopy/modecopy_kernels.cuh"

extern "C" cudaError_t pd_modecopy_sum_f64(const struct pd_gpu_sum *sum, int aligned,
                                           cudaStream_t stream) {
  return sum_any<double>(sum, aligned, stream);
}
