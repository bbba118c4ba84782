/* Recording work as a CUDA graph. It is captured from a stream of its own, so that other threads'
 * work on the device is not captured with it. */
#include "device/cuda/cuda_state.h"
#include <string.h>

_Thread_local cudaStream_t pd_cuda_recording;

polyad_status pd_cuda_record_begin(polyad_context *context, const struct pd_device *device) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  cudaStream_t stream = NULL;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
  polyad_status status =
      PD_CUDA(context, state, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  if (status == POLYAD_OK)
    pd_cuda_recording = stream;
  else if (cudaStreamDestroy(stream) != cudaSuccess)
    (void)cudaGetLastError();
  return status;
}

/* Nodes that the next one of a stream waits for: its own last one, and those of streams joined. */
enum { BEFORE_MOST = 8 };

/* Lets the next node wait for what this one, an event, has waited for, and not for this one. */
static polyad_status pass_event(polyad_context *context, struct pd_cuda_state *state,
                                cudaEvent_t event, cudaGraphNode_t *before, size_t count) {
  cudaStream_t stream = pd_cuda_recording;
  PD_TRY(PD_CUDA(context, state, cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal)));
#if CUDART_VERSION >= 13000
  cudaError_t code = cudaStreamUpdateCaptureDependencies(stream, before, NULL, count,
                                                         cudaStreamSetCaptureDependencies);
#else
  cudaError_t code =
      cudaStreamUpdateCaptureDependencies(stream, before, count, cudaStreamSetCaptureDependencies);
#endif
  return PD_CUDA(context, state, code);
}

polyad_status pd_cuda_record_event(polyad_context *context, struct pd_cuda_state *state,
                                   cudaEvent_t event) {
  cudaStream_t stream = pd_cuda_recording;
  enum cudaStreamCaptureStatus capturing;
  const cudaGraphNode_t *found = NULL;
  cudaGraphNode_t before[BEFORE_MOST];
  size_t count = 0;
#if CUDART_VERSION >= 13000
  cudaError_t code = cudaStreamGetCaptureInfo(stream, &capturing, NULL, NULL, &found, NULL, &count);
#else
  cudaError_t code = cudaStreamGetCaptureInfo_v2(stream, &capturing, NULL, NULL, &found, &count);
#endif
  PD_TRY(PD_CUDA(context, state, code));
  if (count > BEFORE_MOST)
    return PD_CUDA(context, state,
                   cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  if (count > 0) memcpy(before, found, count * sizeof *before);
  return pass_event(context, state, event, before, count);
}

static polyad_status instantiate(polyad_context *context, struct pd_cuda_state *state,
                                 cudaGraph_t graph, void **record) {
  cudaGraphExec_t executable = NULL;
  PD_TRY(PD_CUDA(context, state, cudaGraphInstantiate(&executable, graph, 0)));
  *record = executable;
  return POLYAD_OK;
}

polyad_status pd_cuda_record_end(polyad_context *context, const struct pd_device *device, bool keep,
                                 void **record) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  pd_cuda_loop_leave();
  cudaStream_t stream = pd_cuda_recording;
  cudaGraph_t graph = NULL;
  *record = NULL;
  if (stream == NULL) return POLYAD_OK;
  pd_cuda_recording = NULL;
  /* Not through PD_CUDA: the capture must end even where a test makes calls fail. */
  cudaError_t code = cudaStreamEndCapture(stream, &graph);
  polyad_status status = POLYAD_OK;
  if (keep) status = PD_CUDA(context, state, code);
  if (keep && status == POLYAD_OK) status = instantiate(context, state, graph, record);
  if (graph != NULL && cudaGraphDestroy(graph) != cudaSuccess) (void)cudaGetLastError();
  if (cudaStreamDestroy(stream) != cudaSuccess) (void)cudaGetLastError();
  if (!keep) (void)cudaGetLastError();
  return status;
}

polyad_status pd_cuda_replay(polyad_context *context, const struct pd_device *device,
                             void *record) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state, cudaGraphLaunch(record, pd_cuda_stream(state)));
}

void pd_cuda_record_release(polyad_context *context, const struct pd_device *device, void *record) {
  (void)context;
  if (record == NULL) return;
  if (cudaSetDevice(device->index) != cudaSuccess || cudaGraphExecDestroy(record) != cudaSuccess)
    (void)cudaGetLastError();
}
