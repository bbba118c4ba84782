/* Roofs of a GPU: the function of the device's table, and launchers. */
#ifndef PD_CUDA_ROOF_H
#define PD_CUDA_ROOF_H

#include <cuda_runtime_api.h>
#include <stdint.h>

/** What the kernels get. */
struct pd_gpu_roof {
  uint64_t rank, count;
  const uint32_t *index;
  void *table, *result;
  int threads, steps; /* of flops */
};

#ifdef __cplusplus
extern "C" {
#else
#include "device/roof.h"
struct pd_device;
polyad_status pd_cuda_roof(polyad_context *context, const struct pd_device *device,
                           const struct pd_roof_job *job);
#endif

cudaError_t pd_gpu_roof_gather(const struct pd_gpu_roof *roof, int wide, cudaStream_t stream);
cudaError_t pd_gpu_roof_add(const struct pd_gpu_roof *roof, int wide, cudaStream_t stream);
cudaError_t pd_gpu_roof_flops(const struct pd_gpu_roof *roof, int wide, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
