/* Transfers between memory of the host and of a GPU. */
#ifndef PD_CUDA_COPY_H
#define PD_CUDA_COPY_H

#include "device/cuda/cuda_state.h"

/** Makes the pinned memory that transfers go through, where it is not there yet. The caller holds
 *  state->lock. */
cudaError_t pd_cuda_pin_staging(struct pd_cuda_state *state);
/** Makes it and its marks. The caller holds state->lock. */
polyad_status pd_cuda_open_staging(polyad_context *context, struct pd_cuda_state *state);

/** The slots `copy_in` and `copy_out` of a GPU. */
polyad_status pd_cuda_copy_in(polyad_context *context, const struct pd_device *device, void *to,
                              const void *from_host, uint64_t bytes);
polyad_status pd_cuda_copy_out(polyad_context *context, const struct pd_device *device,
                               void *to_host, const void *from, uint64_t bytes);

/** One of several arrays that are brought to the device together. */
struct pd_cuda_array {
  void *to;
  const void *host; /* where it comes from, or where it goes */
  uint64_t bytes;   /* on the device */
  bool halves;      /* words of 4 bytes on the host, all below 2^16, become words of 2 */
};

/** Brings them with the same threads, which cost more to start than short arrays to copy. */
polyad_status pd_cuda_copy_all_in(polyad_context *context, const struct pd_device *device,
                                  int count, const struct pd_cuda_array *arrays);

#endif
