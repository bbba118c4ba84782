/* MTTKRP of nonzeros stored as elements, for double. */
#include "formats/ordered/ordered_elements.cuh"
#include "formats/ordered/ordered_sum.cuh"

extern "C" cudaError_t pd_gpu_sum_elements_f64(const struct pd_gpu_sum *sum,
                                               const struct pd_gpu_elements *from,
                                               cudaStream_t stream) {
  return start_lanes<double, PD_GPU_MTTKRP, StagedElements, DirectElements>(sum, from, stream);
}
