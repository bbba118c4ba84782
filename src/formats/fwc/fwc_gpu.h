/* The kernels of "fwc". */
#ifndef PD_FWC_GPU_H
#define PD_FWC_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array k of a list: indices of the fibers in slot k, and of the nonzeros in the last. */
enum { PD_FWC_START = 32, PD_FWC_UNIT_FIBER };

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_fwc_add_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_fwc_add_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
