/* The kernels of "hls" for compute type tf32. */
#include "formats/hls/hls_chain.cuh"
#include "formats/hls/hls_instances.h"

extern "C" cudaError_t pd_hls_mttkrp_tf32(const struct pd_hls_run *run, cudaStream_t stream) {
  return mttkrp_any<TF32>(run, stream);
}

extern "C" cudaError_t pd_hls_chain_tf32(const struct pd_hls_run *run, cudaStream_t stream) {
  return chain_any<TF32>(run, stream);
}
