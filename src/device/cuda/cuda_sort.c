#include "device/cuda/cuda_sort.h"

polyad_status pd_cuda_sort_arrays(polyad_context *context, const struct pd_device *device,
                                  const struct pd_gpu_sort_job *job, int *at) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  size_t bytes = 0;
  void *temporary = NULL;
  *at = 0;
  if (job->count < 2) return POLYAD_OK;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state, pd_gpu_sort(job, NULL, &bytes, at, pd_cuda_stream(state))));
  PD_TRY(pd_cuda_allocate(context, device, bytes, 1, &temporary));
  polyad_status status =
      PD_CUDA(context, state, pd_gpu_sort(job, temporary, &bytes, at, pd_cuda_stream(state)));
  /* The memory is in use until the sort has ended. */
  if (status == POLYAD_OK)
    status = PD_CUDA(context, state, cudaStreamSynchronize(pd_cuda_stream(state)));
  pd_cuda_release(context, device, temporary);
  return status;
}

static polyad_status cuda_sort_bring(polyad_context *context, const struct pd_device *device,
                                     uint64_t count, size_t size, const void *host, void *to[2]) {
  if (size == 0) return POLYAD_OK;
  PD_TRY(pd_cuda_upload(context, device, count, size, host, &to[0]));
  return pd_cuda_allocate(context, device, count, size, &to[1]);
}

polyad_status pd_cuda_sort(polyad_context *context, const struct pd_device *device, uint64_t count,
                           uint64_t *keys, int key_bits, void *payload, size_t payload_bytes,
                           bool keep_keys) {
  const struct pd_device_functions *functions = &pd_cuda_device_functions;
  struct pd_gpu_sort_job job = {.key_bytes = 8,
                                .value_bytes = (int)payload_bytes,
                                .count = count,
                                .bits = key_bits < 1 ? 1 : key_bits};
  int at = 0;
  polyad_status status = cuda_sort_bring(context, device, count, sizeof *keys, keys, job.keys);
  if (status == POLYAD_OK)
    status = cuda_sort_bring(context, device, count, payload_bytes, payload, job.values);
  if (status == POLYAD_OK) status = pd_cuda_sort_arrays(context, device, &job, &at);
  if (status == POLYAD_OK && keep_keys)
    status = functions->copy_out(context, device, keys, job.keys[at], count * sizeof *keys);
  if (status == POLYAD_OK && payload_bytes > 0)
    status = functions->copy_out(context, device, payload, job.values[at], count * payload_bytes);
  for (int k = 0; k < 2; ++k) {
    pd_cuda_release(context, device, job.keys[k]);
    pd_cuda_release(context, device, job.values[k]);
  }
  return status;
}
