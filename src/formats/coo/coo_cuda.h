/* The kernels of "coo" for CUDA. */
#ifndef PD_COO_CUDA_H
#define PD_COO_CUDA_H

#include "formats/nonzeros/nonzeros_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_coo_sorted_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_coo_sorted_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_coo_atomic_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_coo_atomic_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
