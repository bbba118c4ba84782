/* Roofs of a GPU. */
#include "device/cuda/cuda_roof.h"
#include "device/cuda/cuda_state.h"

polyad_status pd_cuda_roof(polyad_context *context, const struct pd_device *device,
                           const struct pd_roof_job *job) {
  struct pd_gpu_roof roof = {.rank = job->rank,
                             .count = job->count,
                             .index = job->index,
                             .table = job->table,
                             .result = job->other,
                             .threads = PD_ROOF_FLOPS_THREADS,
                             .steps = (int)job->count};
  int wide = job->type == POLYAD_F64;
  PD_CUDA_ENTER(context, device);
  switch (job->what) {
  case POLYAD_ROOF_COPY:
    return PD_CUDA(context, state,
                   cudaMemcpyAsync(job->other, job->table, job->bytes, cudaMemcpyDeviceToDevice,
                                   pd_cuda_stream(state)));
  case POLYAD_ROOF_GATHER:
    return PD_CUDA(context, state, pd_gpu_roof_gather(&roof, wide, pd_cuda_stream(state)));
  case POLYAD_ROOF_ADD:
    return PD_CUDA(context, state, pd_gpu_roof_add(&roof, wide, pd_cuda_stream(state)));
  default:
    return PD_CUDA(context, state, pd_gpu_roof_flops(&roof, wide, pd_cuda_stream(state)));
  }
}
