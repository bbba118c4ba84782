/* Data of the host beside the device's work: a stream of its own copies, and events keep both in
 * step. A slot is filled when the kernels that read its last piece are done, and kernels that are
 * enqueued later wait for the copy. */
#include "device/cuda/cuda_state.h"

enum { MOST_SLOTS = 4 };

struct feed {
  struct pd_cuda_state *state;
  int slots;
  cudaStream_t stream;
  cudaEvent_t ready[MOST_SLOTS], done[MOST_SLOTS];
};

static void cuda_feed_close(void *pointer) {
  struct feed *feed = pointer;
  if (feed == NULL) return;
  bool lost = atomic_load(&feed->state->lost);
  if (!lost && cudaSetDevice(feed->state->device.index) != cudaSuccess) (void)cudaGetLastError();
  if (!lost && feed->stream != NULL && cudaStreamSynchronize(feed->stream) != cudaSuccess)
    (void)cudaGetLastError();
  for (int k = 0; k < feed->slots && !lost; ++k) {
    if (feed->ready[k] != NULL) (void)cudaEventDestroy(feed->ready[k]);
    if (feed->done[k] != NULL) (void)cudaEventDestroy(feed->done[k]);
  }
  if (!lost && feed->stream != NULL) (void)cudaStreamDestroy(feed->stream);
  pd_cuda_services->free(NULL, feed);
}

static polyad_status cuda_feed_make(polyad_context *context, struct feed *feed) {
  struct pd_cuda_state *state = feed->state;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state, cudaStreamCreateWithFlags(&feed->stream, cudaStreamNonBlocking)));
  for (int k = 0; k < feed->slots; ++k) {
    PD_TRY(
        PD_CUDA(context, state, cudaEventCreateWithFlags(&feed->ready[k], cudaEventDisableTiming)));
    PD_TRY(
        PD_CUDA(context, state, cudaEventCreateWithFlags(&feed->done[k], cudaEventDisableTiming)));
    /* What is enqueued so far may be using the memory that becomes the slot's. */
    PD_TRY(PD_CUDA(context, state, cudaEventRecord(feed->done[k], pd_cuda_stream(state))));
  }
  return POLYAD_OK;
}

static polyad_status cuda_feed_open(polyad_context *context, const struct pd_device *device,
                                    int slots, void **out) {
  struct feed *feed;
  *out = NULL;
  if (slots > MOST_SLOTS)
    return pd_cuda_services->fail(context, POLYAD_INTERNAL, "%d slots found; expected at most %d",
                                  slots, MOST_SLOTS);
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *feed, (void **)&feed));
  *feed = (struct feed){.state = pd_cuda_state_of(device), .slots = slots};
  polyad_status status = cuda_feed_make(context, feed);
  if (status == POLYAD_OK)
    *out = feed;
  else
    cuda_feed_close(feed);
  return status;
}

static polyad_status cuda_feed_copy(polyad_context *context, void *pointer, int slot, void *to,
                                    const void *from, uint64_t bytes) {
  struct feed *feed = pointer;
  struct pd_cuda_state *state = feed->state;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state, cudaStreamWaitEvent(feed->stream, feed->done[slot], 0)));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, feed->stream)));
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(feed->ready[slot], feed->stream)));
  return PD_CUDA(context, state, cudaStreamWaitEvent(pd_cuda_stream(state), feed->ready[slot], 0));
}

static polyad_status cuda_feed_used(polyad_context *context, void *pointer, int slot) {
  struct feed *feed = pointer;
  PD_TRY(pd_cuda_enter(context, feed->state));
  return PD_CUDA(context, feed->state,
                 cudaEventRecord(feed->done[slot], pd_cuda_stream(feed->state)));
}

static polyad_status cuda_feed_copied(polyad_context *context, void *pointer, int slot) {
  struct feed *feed = pointer;
  PD_TRY(pd_cuda_enter(context, feed->state));
  return PD_CUDA(context, feed->state, cudaEventSynchronize(feed->ready[slot]));
}

const struct pd_device_feed pd_cuda_feed = {
    .open = cuda_feed_open,
    .copy = cuda_feed_copy,
    .used = cuda_feed_used,
    .copied = cuda_feed_copied,
    .close = cuda_feed_close,
};
