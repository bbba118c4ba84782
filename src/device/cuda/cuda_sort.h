/* Stable sorting on a GPU of arrays that are there. */
#ifndef PD_CUDA_SORT_H
#define PD_CUDA_SORT_H

#include "device/cuda/cuda_sort_launch.h"
#include "device/cuda/cuda_state.h"

/** Sorts arrays on the device, with temporary memory of its own. */
polyad_status pd_cuda_sort_arrays(polyad_context *context, const struct pd_device *device,
                                  const struct pd_gpu_sort_job *job, int *at);

#endif
