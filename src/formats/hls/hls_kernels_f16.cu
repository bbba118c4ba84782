/* The kernels of "hls" for compute type f16. */
#include "formats/hls/hls_chain.cuh"
#include "formats/hls/hls_instances.h"

extern "C" cudaError_t pd_hls_mttkrp_f16(const struct pd_hls_run *run, cudaStream_t stream) {
  return mttkrp_any<F16>(run, stream);
}

extern "C" cudaError_t pd_hls_chain_f16(const struct pd_hls_run *run, cudaStream_t stream) {
  return chain_any<F16>(run, stream);
}
