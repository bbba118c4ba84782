/* The tensor-times-matrix chain of "modecopy" on a GPU: slots of its kernels. */
#ifndef PD_MODECOPY_TTMC_CUDA_H
#define PD_MODECOPY_TTMC_CUDA_H

#include "formats/format.h"

uint64_t pd_modecopy_ttmc_gpu_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_modecopy_ttmc_gpu_create(polyad_context *context, const struct pd_device *device,
                                          const void *storage, const uint64_t *ranks,
                                          void **scratch);

#endif
