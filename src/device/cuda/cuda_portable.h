/* The portable kernels and STREAM on a GPU: launchers, and the device's functions for them. */
#ifndef PD_CUDA_PORTABLE_H
#define PD_CUDA_PORTABLE_H

#include "device/device.h"
#include "portable/portable_launch.h"
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t pd_cuda_portable_rows_f32(const struct pd_rows_launch *launch, cudaStream_t stream);
cudaError_t pd_cuda_portable_rows_f64(const struct pd_rows_launch *launch, cudaStream_t stream);
cudaError_t pd_cuda_portable_stream_f32(const struct pd_stream_job *job, cudaStream_t stream);
cudaError_t pd_cuda_portable_stream_f64(const struct pd_stream_job *job, cudaStream_t stream);
/** STREAM tuned by hand. */
cudaError_t pd_cuda_tuned_stream(const struct pd_stream_job *job, cudaStream_t stream);

polyad_status pd_cuda_run_stream(polyad_context *context, const struct pd_device *device,
                                 const struct pd_stream_job *job, bool portable);
polyad_status pd_cuda_rows(polyad_context *context, const struct pd_device *device,
                           const struct pd_rows_launch *launch);
const struct pd_rows_shape *pd_cuda_rows_shape(const struct pd_device *device);
uint64_t pd_cuda_rows_groups(polyad_context *context, const struct pd_device *device);

#ifdef __cplusplus
}
#endif
#endif
