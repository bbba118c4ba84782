/* The kernels of "hicoo". */
#ifndef PD_HICOO_GPU_H
#define PD_HICOO_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array n of the list: elements of mode n; array PD_HICOO_BLOCK + n: its blocks. */
enum { PD_HICOO_BLOCK = 16, PD_HICOO_START = 32, PD_HICOO_UNIT_BLOCK, PD_HICOO_SHIFT = 7 };

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_hicoo_add_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_hicoo_add_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_hicoo_chain_f32(const struct pd_nz_chain *chain, cudaStream_t stream);
cudaError_t pd_hicoo_chain_f64(const struct pd_nz_chain *chain, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
