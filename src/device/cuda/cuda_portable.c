#include "device/cuda/cuda_portable.h"
#include "device/cuda/cuda_state.h"

polyad_status pd_cuda_run_stream(polyad_context *context, const struct pd_device *device,
                                 const struct pd_stream_job *job, bool portable) {
  PD_CUDA_ENTER(context, device);
  if (!portable) return PD_CUDA(context, state, pd_cuda_tuned_stream(job, pd_cuda_stream(state)));
  if (job->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_cuda_portable_stream_f32(job, pd_cuda_stream(state)));
  return PD_CUDA(context, state, pd_cuda_portable_stream_f64(job, pd_cuda_stream(state)));
}

polyad_status pd_cuda_rows(polyad_context *context, const struct pd_device *device,
                           const struct pd_rows_launch *launch) {
  PD_CUDA_ENTER(context, device);
  if (launch->groups == 0) return POLYAD_OK;
  if (launch->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_cuda_portable_rows_f32(launch, stream));
  return PD_CUDA(context, state, pd_cuda_portable_rows_f64(launch, stream));
}

/* The tiles of portable/vector_struct.h: 4, 8 and 16 lanes of 16 bytes. */
const struct pd_rows_shape *pd_cuda_rows_shape(const struct pd_device *device) {
  static const struct pd_rows_shape shape = {
      .columns = {[POLYAD_F32] = {16, 32, 64, 32}, [POLYAD_F64] = {8, 16, 32, 16}},
      .groups = {64, 32, 16, 32},
      .alignment = 16};
  (void)device;
  return &shape;
}

/* Four times what the GPU holds at once in groups of eight lanes, so that uneven ones even out. */
uint64_t pd_cuda_rows_groups(polyad_context *context, const struct pd_device *device) {
  (void)context;
  return (uint64_t)pd_cuda_state_of(device)->processors * (768 / 8) * 4;
}
