/* MTTKRP of nonzeros stored as planes, of rows in bfloat16, summed in float. */
#include "formats/ordered/ordered_planes.cuh"
#include "formats/ordered/ordered_sum.cuh"

extern "C" cudaError_t pd_gpu_sum_planes_halves(const struct pd_gpu_sum *sum,
                                                const struct pd_gpu_planes *from,
                                                cudaStream_t stream) {
  return start_lanes<float, PD_GPU_HALVES, StagedPlanes, DirectPlanes>(sum, from, stream);
}
