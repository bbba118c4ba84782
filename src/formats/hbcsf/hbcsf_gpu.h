/* The kernels of "hbcsf" for slices outside its trees. */
#ifndef PD_HBCSF_GPU_H
#define PD_HBCSF_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array 0 of a list of slices: ids of slices; arrays 1 on: ids of the other levels. */
enum { PD_HBCSF_START = 16, PD_HBCSF_UNIT_SLICE };

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_hbcsf_single_f32(const struct pd_nz_launch *launch, int aligned,
                                cudaStream_t stream);
cudaError_t pd_hbcsf_single_f64(const struct pd_nz_launch *launch, int aligned,
                                cudaStream_t stream);
cudaError_t pd_hbcsf_listed_f32(const struct pd_nz_launch *launch, int aligned,
                                cudaStream_t stream);
cudaError_t pd_hbcsf_listed_f64(const struct pd_nz_launch *launch, int aligned,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
