#include "device/cuda/cuda_sort.h"

polyad_status pd_cuda_sort_arrays(polyad_context *context, const struct pd_device *device,
                                  const struct pd_gpu_sort_job *job, int *at) {
  size_t bytes = 0;
  void *temporary = NULL;
  *at = 0;
  if (job->count < 2) return POLYAD_OK;
  PD_CUDA_ENTER(context, device);
  PD_TRY(PD_CUDA(context, state, pd_gpu_sort(job, NULL, &bytes, at, stream)));
  PD_TRY(pd_cuda_allocate(context, device, bytes, 1, &temporary));
  polyad_status status = PD_CUDA(context, state, pd_gpu_sort(job, temporary, &bytes, at, stream));
  /* The memory is in use until the sort has ended. */
  if (status == POLYAD_OK) status = PD_CUDA(context, state, cudaStreamSynchronize(stream));
  pd_cuda_release(context, device, temporary);
  return status;
}
