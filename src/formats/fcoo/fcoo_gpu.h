/* The kernels of "fcoo". */
#ifndef PD_FCOO_GPU_H
#define PD_FCOO_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array k of a list: indices of slot k, which is an input for all k above 0. */
enum { PD_FCOO_FLAGS = 32, PD_FCOO_ROW_ID, PD_FCOO_UNIT_ROW };

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_fcoo_add_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_fcoo_add_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_fcoo_chain_f32(const struct pd_nz_chain *chain, cudaStream_t stream);
cudaError_t pd_fcoo_chain_f64(const struct pd_nz_chain *chain, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
