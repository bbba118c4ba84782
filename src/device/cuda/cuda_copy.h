/* Transfers between memory of the host and of a GPU. */
#ifndef PD_CUDA_COPY_H
#define PD_CUDA_COPY_H

#include "device/cuda/cuda_state.h"

/** Makes the pinned memory that transfers go through. The caller holds state->lock. */
polyad_status pd_cuda_open_staging(polyad_context *context, struct pd_cuda_state *state);

/** The slots `copy_in` and `copy_out` of a GPU. */
polyad_status pd_cuda_copy_in(polyad_context *context, const struct pd_device *device, void *to,
                              const void *from_host, uint64_t bytes);
polyad_status pd_cuda_copy_out(polyad_context *context, const struct pd_device *device,
                               void *to_host, const void *from, uint64_t bytes);

#endif
