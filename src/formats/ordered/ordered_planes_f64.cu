/* MTTKRP of nonzeros stored as planes, for double. */
#include "formats/ordered/ordered_planes.cuh"
#include "formats/ordered/ordered_sum.cuh"

extern "C" cudaError_t pd_gpu_sum_planes_f64(const struct pd_gpu_sum *sum,
                                             const struct pd_gpu_planes *from,
                                             cudaStream_t stream) {
  return start_lanes<double, PD_GPU_MTTKRP, StagedPlanes, DirectPlanes>(sum, from, stream);
}
