/* The kernels of "flycoo" for double. */
#include "formats/flycoo/flycoo_kernels.cuh"

extern "C" cudaError_t pd_flycoo_sum_f64(const struct pd_gpu_fly *fly, int aligned,
                                         cudaStream_t stream) {
  return fly_any<double>(fly, aligned, stream);
}
