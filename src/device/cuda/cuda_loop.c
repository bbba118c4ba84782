/* Loops in a recorded CUDA graph. The loop is a conditional node of the graph, whose body is a
 * graph of its own: what follows in the record until the loop ends is captured into that, from a
 * stream of its own, in place of the stream that the record is captured from. */
#include "device/cuda/cuda_linalg_launch.h"
#include "device/cuda/cuda_state.h"

#if CUDART_VERSION >= PD_CUDA_LOOPS

/* The stream of the record that the loop is in; NULL: no loop is being recorded. */
static _Thread_local cudaStream_t around;

static polyad_status check_driver(polyad_context *context, struct pd_cuda_state *state) {
  int version;
  PD_TRY(PD_CUDA(context, state, cudaDriverGetVersion(&version)));
  if (version >= PD_CUDA_LOOPS) return POLYAD_OK;
  return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                "the driver is for CUDA %d.%d; recorded loops need CUDA 12.4",
                                version / 1000, version % 1000 / 10);
}

static cudaError_t add_loop(cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                            cudaGraphConditionalHandle handle, cudaGraphNode_t *node,
                            cudaGraph_t *body) {
  struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
#if CUDART_VERSION >= 13000
  cudaError_t code = cudaGraphAddNode(node, graph, before, NULL, count, &params);
#else
  cudaError_t code = cudaGraphAddNode(node, graph, before, count, &params);
#endif
  if (code == cudaSuccess) *body = params.conditional.phGraph_out[0];
  return code;
}

/* Puts the loop behind what the record has so far, and lets what follows it wait for its end. */
static cudaError_t insert_loop(cudaStream_t stream, cudaGraphConditionalHandle *handle,
                               cudaGraph_t *body) {
  enum cudaStreamCaptureStatus capturing;
  const cudaGraphNode_t *before = NULL;
  cudaGraphNode_t node;
  cudaGraph_t graph = NULL;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  cudaError_t code =
      cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, NULL, &count);
#else
  cudaError_t code = cudaStreamGetCaptureInfo_v2(stream, &capturing, NULL, &graph, &before, &count);
#endif
  if (code != cudaSuccess) return code;
  code = cudaGraphConditionalHandleCreate(handle, graph, 1, cudaGraphCondAssignDefault);
  if (code == cudaSuccess) code = add_loop(graph, before, count, *handle, &node, body);
  if (code != cudaSuccess) return code;
#if CUDART_VERSION >= 13000
  return cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                             cudaStreamSetCaptureDependencies);
#else
  return cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies);
#endif
}

/* Captures what follows into `body`. */
static polyad_status enter_body(polyad_context *context, struct pd_cuda_state *state,
                                cudaGraph_t body) {
  cudaStream_t stream = NULL;
  PD_TRY(PD_CUDA(context, state, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
  polyad_status status = PD_CUDA(
      context, state,
      cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  if (status == POLYAD_OK) {
    around = pd_cuda_recording;
    pd_cuda_recording = stream;
  } else if (cudaStreamDestroy(stream) != cudaSuccess) {
    (void)cudaGetLastError();
  }
  return status;
}

/* Not through PD_CUDA: the capture must end even where a test makes calls fail. */
static cudaError_t leave_body(void) {
  cudaStream_t stream = pd_cuda_recording;
  cudaGraph_t body = NULL; /* of the record, which destroys it */
  pd_cuda_recording = around;
  around = NULL;
  cudaError_t code = cudaStreamEndCapture(stream, &body);
  if (cudaStreamDestroy(stream) != cudaSuccess) (void)cudaGetLastError();
  return code;
}

polyad_status pd_cuda_loop_begin(polyad_context *context, const struct pd_device *device,
                                 struct pd_loop *loop) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  cudaGraphConditionalHandle handle = 0;
  cudaGraph_t body = NULL;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(check_driver(context, state));
  PD_TRY(PD_CUDA(context, state, insert_loop(pd_cuda_recording, &handle, &body)));
  loop->handle = handle;
  return enter_body(context, state, body);
}

polyad_status pd_cuda_loop_end(polyad_context *context, const struct pd_device *device) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  return PD_CUDA(context, state, leave_body());
}

void pd_cuda_loop_leave(void) {
  if (around != NULL && leave_body() != cudaSuccess) (void)cudaGetLastError();
}

#else

polyad_status pd_cuda_loop_begin(polyad_context *context, const struct pd_device *device,
                                 struct pd_loop *loop) {
  (void)device;
  (void)loop;
  return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                "polyad was built with CUDA %d.%d; recorded loops need CUDA 12.4",
                                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

polyad_status pd_cuda_loop_end(polyad_context *context, const struct pd_device *device) {
  (void)context;
  (void)device;
  return POLYAD_OK;
}

void pd_cuda_loop_leave(void) {}

#endif
