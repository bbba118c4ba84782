/* Stable sorting on a GPU: of arrays that are there, and of the host's (core/radix_sort.h). */
#ifndef PD_CUDA_SORT_H
#define PD_CUDA_SORT_H

#include "device/cuda/cuda_sort_launch.h"
#include "device/cuda/cuda_state.h"

/** Sorts arrays on the device, with temporary memory of its own. */
polyad_status pd_cuda_sort_arrays(polyad_context *context, const struct pd_device *device,
                                  const struct pd_gpu_sort_job *job, int *at);

/** pd_device_functions.sort. */
polyad_status pd_cuda_sort(polyad_context *context, const struct pd_device *device, uint64_t count,
                           uint64_t *keys, int key_bits, void *payload, size_t payload_bytes,
                           bool keep_keys);

#endif
