/* The compute types that the kernels of "hls" are built for, one source file each. */
#ifndef PD_HLS_INSTANCES_H
#define PD_HLS_INSTANCES_H

#include "formats/hls/hls_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_hls_mttkrp_f16(const struct pd_hls_run *run, cudaStream_t stream);
cudaError_t pd_hls_chain_f16(const struct pd_hls_run *run, cudaStream_t stream);
cudaError_t pd_hls_mttkrp_bf16(const struct pd_hls_run *run, cudaStream_t stream);
cudaError_t pd_hls_chain_bf16(const struct pd_hls_run *run, cudaStream_t stream);
cudaError_t pd_hls_mttkrp_tf32(const struct pd_hls_run *run, cudaStream_t stream);
cudaError_t pd_hls_chain_tf32(const struct pd_hls_run *run, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
