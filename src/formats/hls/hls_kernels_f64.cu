/* The kernels of "hls" in double, for single nonzeros, and the choice between compute types. */
#include "formats/hls/hls_chain.cuh"
#include "formats/hls/hls_instances.h"

static cudaError_t launch_chain_wide(struct pd_hls_run run, cudaStream_t stream) {
  uint64_t blocks = chain_blocks(&run, PD_HLS_WARPS);
  if (blocks == 0) return cudaSuccess;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  hls_chain_wide<<<(unsigned)blocks, 32 * PD_HLS_WARPS, 0, stream>>>(run);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_hls_mttkrp_run(enum pd_hls_kernel kernel, const struct pd_hls_run *run,
                                         cudaStream_t stream) {
  switch (kernel) {
  case PD_HLS_KERNEL_F16:
    return pd_hls_mttkrp_f16(run, stream);
  case PD_HLS_KERNEL_BF16:
    return pd_hls_mttkrp_bf16(run, stream);
  case PD_HLS_KERNEL_TF32:
    return pd_hls_mttkrp_tf32(run, stream);
  default:
    return run->columns == PD_HLS_BLOCK ? launch_wide<1>(*run, stream)
                                        : launch_wide<2>(*run, stream);
  }
}

extern "C" cudaError_t pd_hls_chain_run(enum pd_hls_kernel kernel, const struct pd_hls_run *run,
                                        cudaStream_t stream) {
  switch (kernel) {
  case PD_HLS_KERNEL_F16:
    return pd_hls_chain_f16(run, stream);
  case PD_HLS_KERNEL_BF16:
    return pd_hls_chain_bf16(run, stream);
  case PD_HLS_KERNEL_TF32:
    return pd_hls_chain_tf32(run, stream);
  default:
    return launch_chain_wide(*run, stream);
  }
}
