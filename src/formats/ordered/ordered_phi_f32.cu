/* CP-APR's Phi and log-likelihood of nonzeros stored as planes, for float. */
#include "formats/ordered/ordered_planes.cuh"
#include "formats/ordered/ordered_sum.cuh"

extern "C" cudaError_t pd_gpu_phi_planes_f32(const struct pd_gpu_sum *sum,
                                             const struct pd_gpu_planes *from,
                                             cudaStream_t stream) {
  if (sum->what == PD_GPU_GRADIENT)
    return start_lanes<float, PD_GPU_GRADIENT, StagedPlanes, DirectPlanes>(sum, from, stream);
  return start_lanes<float, PD_GPU_GAIN, StagedPlanes, DirectPlanes>(sum, from, stream);
}
