/* A GPU as a device: memory with a limit, one stream, marks in it. */
#include "device/cuda/cuda_build.h"
#include "device/cuda/cuda_copy.h"
#include "device/cuda/cuda_portable.h"
#include "device/cuda/cuda_roof.h"
#include "device/cuda/cuda_state.h"

static polyad_status cuda_device_open_locked(polyad_context *context, struct pd_cuda_state *state) {
  if (state->ready) return POLYAD_OK;
  if (state->stream == NULL)
    PD_TRY(
        PD_CUDA(context, state, cudaStreamCreateWithFlags(&state->stream, cudaStreamNonBlocking)));
  for (int k = 0; k < 2; ++k)
    if (state->timer[k] == NULL) PD_TRY(PD_CUDA(context, state, cudaEventCreate(&state->timer[k])));
  if (state->passed == NULL)
    PD_TRY(
        PD_CUDA(context, state, cudaEventCreateWithFlags(&state->passed, cudaEventDisableTiming)));
  PD_TRY(pd_cuda_open_staging(context, state));
  state->ready = true;
  return POLYAD_OK;
}

polyad_status pd_cuda_enter(polyad_context *context, struct pd_cuda_state *state) {
  if (atomic_load(&state->lost))
    return pd_cuda_services->fail(context, POLYAD_DEVICE_LOST,
                                  "%s was lost by an earlier error; start a new process to use "
                                  "it again",
                                  state->device.name);
  PD_TRY(PD_CUDA(context, state, cudaSetDevice(state->device.index)));
  pthread_mutex_lock(&state->lock);
  polyad_status status = cuda_device_open_locked(context, state);
  pthread_mutex_unlock(&state->lock);
  return status;
}

static polyad_status cuda_device_fail_limit(polyad_context *context,
                                            const struct pd_cuda_state *state, uint64_t bytes) {
  char need[32], used[32], limit[32];
  const struct pd_services *core = pd_cuda_services;
  return core->fail(context, POLYAD_MEMORY_LIMIT,
                    "%s: %s more are needed and %s are in use, the memory limit is %s; raise the "
                    "memory limit or ask for less",
                    state->device.name, core->bytes_text(need, bytes),
                    core->bytes_text(used, state->bytes_in_use),
                    core->bytes_text(limit, core->memory_limit(context)));
}

static polyad_status fail_memory(polyad_context *context, const struct pd_cuda_state *state,
                                 uint64_t bytes) {
  char need[32], left[32], whole[32];
  const struct pd_services *core = pd_cuda_services;
  size_t available = 0, total = 0;
  (void)cudaGetLastError();
  if (cudaMemGetInfo(&available, &total) != cudaSuccess) (void)cudaGetLastError();
  return core->fail(context, POLYAD_OUT_OF_MEMORY,
                    "%s is out of memory: %s are needed, %s of %s are free", state->device.name,
                    core->bytes_text(need, bytes), core->bytes_text(left, available),
                    core->bytes_text(whole, state->total_bytes));
}

static polyad_status cuda_device_allocate_locked(polyad_context *context,
                                                 struct pd_cuda_state *state, uint64_t bytes,
                                                 void **out) {
  uint64_t total = pd_add_saturated(state->bytes_in_use, bytes);
  if (total > pd_cuda_services->memory_limit(context))
    return cuda_device_fail_limit(context, state, bytes);
  struct pd_cuda_block *block = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *block, (void **)&block));
  cudaError_t code = pd_cuda_refuses() ? cudaErrorUnknown : cudaMalloc(&block->pointer, bytes);
  if (code != cudaSuccess) {
    pd_cuda_services->free(context, block);
    return code == cudaErrorMemoryAllocation ? fail_memory(context, state, bytes)
                                             : pd_cuda_check(context, state, code, "cudaMalloc");
  }
  block->bytes = bytes;
  block->next = state->blocks;
  state->blocks = block;
  state->bytes_in_use = total;
  if (total > state->bytes_peak) state->bytes_peak = total;
  *out = block->pointer;
  return POLYAD_OK;
}

static polyad_status cuda_device_allocate(polyad_context *context, const struct pd_device *device,
                                          uint64_t bytes, void **out) {
  *out = NULL;
  PD_CUDA_ENTER(context, device);
  pthread_mutex_lock(&state->lock);
  polyad_status status = cuda_device_allocate_locked(context, state, bytes == 0 ? 16 : bytes, out);
  pthread_mutex_unlock(&state->lock);
  return status;
}

/* Cannot fail, even on a lost device: the count goes down whatever CUDA says. */
static void cuda_device_release(polyad_context *context, const struct pd_device *device,
                                void *pointer) {
  (void)context;
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  if (pointer == NULL) return;
  pthread_mutex_lock(&state->lock);
  for (struct pd_cuda_block **link = &state->blocks; *link != NULL; link = &(*link)->next) {
    struct pd_cuda_block *block = *link;
    if (block->pointer != pointer) continue;
    *link = block->next;
    state->bytes_in_use -= block->bytes;
    pd_cuda_services->free(context, block);
    break;
  }
  pthread_mutex_unlock(&state->lock);
  if (atomic_load(&state->lost)) return; /* gone with the rest, and a call would start it anew */
  if (cudaSetDevice(device->index) != cudaSuccess || cudaFree(pointer) != cudaSuccess)
    (void)cudaGetLastError();
}

static polyad_status cuda_device_copy(polyad_context *context, const struct pd_device *device,
                                      void *to, const void *from, uint64_t bytes) {
  PD_CUDA_ENTER(context, device);
  if (bytes == 0) return POLYAD_OK;
  return PD_CUDA(context, state,
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

static polyad_status cuda_device_copy_pieces(polyad_context *context,
                                             const struct pd_device *device, void *to,
                                             uint64_t to_step, const void *from, uint64_t from_step,
                                             uint64_t bytes, uint64_t rows) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  PD_TRY(pd_cuda_enter(context, state));
  if (bytes == 0 || rows == 0) return POLYAD_OK;
  return PD_CUDA(context, state,
                 cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, rows,
                                   cudaMemcpyDeviceToDevice, pd_cuda_stream(state)));
}

/* Lets copies from the other GPU take the direct way, where there is one. */
static polyad_status open_peer(polyad_context *context, struct pd_cuda_state *state,
                               const struct pd_cuda_state *other) {
  int possible = 0;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state,
                 cudaDeviceCanAccessPeer(&possible, state->device.index, other->device.index)));
  if (!possible) return POLYAD_OK;
  cudaError_t code = cudaDeviceEnablePeerAccess(other->device.index, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) code = cudaSuccess;
  (void)cudaGetLastError();
  return PD_CUDA(context, state, code);
}

/* One thread at a time opens a way: members of a team, each in a thread of its own, ask for the
 * same ones at the same time, and CUDA calls it an error to open one twice. */
static pthread_mutex_t peer_lock = PTHREAD_MUTEX_INITIALIZER;

static polyad_status allow_peer(polyad_context *context, struct pd_cuda_state *state,
                                const struct pd_cuda_state *other) {
  uint64_t bit = UINT64_C(1) << other->device.index;
  polyad_status status = POLYAD_OK;
  pthread_mutex_lock(&peer_lock);
  if ((state->peers & bit) == 0) {
    status = open_peer(context, state, other);
    if (status == POLYAD_OK) state->peers |= bit;
  }
  pthread_mutex_unlock(&peer_lock);
  return status;
}

/* What `state` does from now on waits for what `other` was asked to do so far. Neither call minds
 * which device is current. */
static polyad_status wait_for(polyad_context *context, struct pd_cuda_state *state,
                              struct pd_cuda_state *other) {
  PD_TRY(PD_CUDA(context, other, cudaEventRecord(other->passed, pd_cuda_stream(other))));
  return PD_CUDA(context, state, cudaStreamWaitEvent(pd_cuda_stream(state), other->passed, 0));
}

/* Members of a team call it many times in an iteration, while the GPUs wait for what they enqueue:
 * so it makes no call that it can do without. Both devices have been entered before. */
static polyad_status copy_peer(polyad_context *context, const struct pd_device *device, void *to,
                               const struct pd_device *from_device, const void *from,
                               uint64_t bytes) {
  struct pd_cuda_state *state = pd_cuda_state_of(device), *other = pd_cuda_state_of(from_device);
  if (state == other) return cuda_device_copy(context, device, to, from, bytes);
  if (bytes == 0) return POLYAD_OK;
  PD_TRY(allow_peer(context, other, state));
  PD_TRY(allow_peer(context, state, other));
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(wait_for(context, state, other));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyPeerAsync(to, device->index, from, from_device->index, bytes,
                                     pd_cuda_stream(state))));
  return wait_for(context, other, state);
}

static polyad_status cuda_device_fill_zero(polyad_context *context, const struct pd_device *device,
                                           void *to, uint64_t bytes) {
  PD_CUDA_ENTER(context, device);
  if (bytes == 0) return POLYAD_OK;
  return PD_CUDA(context, state, cudaMemsetAsync(to, 0, bytes, stream));
}

static polyad_status cuda_device_synchronize(polyad_context *context,
                                             const struct pd_device *device) {
  PD_CUDA_ENTER(context, device);
  return PD_CUDA(context, state, cudaStreamSynchronize(stream));
}

static void cuda_device_memory_used(const struct pd_device *device, uint64_t *in_use,
                                    uint64_t *peak) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  pthread_mutex_lock(&state->lock);
  *in_use = state->bytes_in_use;
  *peak = state->bytes_peak;
  pthread_mutex_unlock(&state->lock);
}

static uint64_t cuda_device_memory_available(polyad_context *context,
                                             const struct pd_device *device) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  size_t available = 0, total = 0;
  if (atomic_load(&state->lost) || cudaSetDevice(device->index) != cudaSuccess ||
      cudaMemGetInfo(&available, &total) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  uint64_t limit = pd_cuda_services->memory_limit(context);
  uint64_t left = limit > state->bytes_in_use ? limit - state->bytes_in_use : 0;
  return available < left ? available : left;
}

static polyad_status cuda_device_timer_start(polyad_context *context,
                                             const struct pd_device *device) {
  PD_CUDA_ENTER(context, device);
  return PD_CUDA(context, state, cudaEventRecord(state->timer[0], stream));
}

/* The time between two places that have been passed. Where several members of a team have the same
 * device, another may have marked one of them anew: then the time is not known, and 0. */
static polyad_status elapsed(polyad_context *context, struct pd_cuda_state *state,
                             cudaEvent_t first, cudaEvent_t second, double *seconds) {
  float milliseconds = 0;
  *seconds = 0;
  PD_TRY(pd_cuda_enter(context, state));
  if (cudaEventQuery(first) == cudaErrorNotReady || cudaEventQuery(second) == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return POLYAD_OK;
  }
  cudaError_t code = cudaEventElapsedTime(&milliseconds, first, second);
  if (code == cudaErrorNotReady) { /* marked anew since it was asked for */
    (void)cudaGetLastError();
    return POLYAD_OK;
  }
  /* Below 0: another member on this GPU has started the timer anew. */
  if (milliseconds > 0) *seconds = 1e-3 * (double)milliseconds;
  return PD_CUDA(context, state, code);
}

static polyad_status cuda_device_timer_stop(polyad_context *context, const struct pd_device *device,
                                            double *seconds) {
  *seconds = 0;
  PD_CUDA_ENTER(context, device);
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(state->timer[1], stream)));
  PD_TRY(PD_CUDA(context, state, cudaEventSynchronize(state->timer[1])));
  return elapsed(context, state, state->timer[0], state->timer[1], seconds);
}

static polyad_status cuda_device_mark(polyad_context *context, const struct pd_device *device,
                                      int number) {
  PD_CUDA_ENTER(context, device);
  pthread_mutex_lock(&state->lock);
  polyad_status status = POLYAD_OK;
  if (state->marks[number] == NULL)
    status = PD_CUDA(context, state, cudaEventCreate(&state->marks[number]));
  pthread_mutex_unlock(&state->lock);
  PD_TRY(status);
  if (pd_cuda_recording != NULL) return pd_cuda_record_event(context, state, state->marks[number]);
  return PD_CUDA(context, state, cudaEventRecord(state->marks[number], stream));
}

static polyad_status between(polyad_context *context, const struct pd_device *device, int first,
                             int second, double *seconds) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  return elapsed(context, state, state->marks[first], state->marks[second], seconds);
}

static void cuda_device_pin(const struct pd_device *device, void *host, uint64_t bytes,
                            bool pinned) {
  if (bytes == 0 || cudaSetDevice(device->index) != cudaSuccess) return;
  cudaError_t code =
      pinned ? cudaHostRegister(host, bytes, cudaHostRegisterDefault) : cudaHostUnregister(host);
  if (code != cudaSuccess) (void)cudaGetLastError();
}

polyad_status pd_cuda_allocate(polyad_context *context, const struct pd_device *device,
                               uint64_t count, size_t size, void **out) {
  uint64_t bytes;
  *out = NULL;
  if (!pd_mul(count, size, &bytes))
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW,
                                  "an array of %llu items of %zu bytes is too large",
                                  (unsigned long long)count, size);
  return cuda_device_allocate(context, device, bytes, out);
}

polyad_status pd_cuda_upload(polyad_context *context, const struct pd_device *device,
                             uint64_t count, size_t size, const void *host, void **out) {
  *out = NULL;
  if (host == NULL || count == 0) return POLYAD_OK;
  PD_TRY(pd_cuda_allocate(context, device, count, size, out));
  return pd_cuda_copy_in(context, device, *out, host, count * size);
}

void pd_cuda_release(polyad_context *context, const struct pd_device *device, void *pointer) {
  cuda_device_release(context, device, pointer);
}

const struct pd_device_functions pd_cuda_device_functions = {
    .host_memory = false,
    .wide_rows = true,
    .begin = pd_cuda_begin,
    .allocate = cuda_device_allocate,
    .release = cuda_device_release,
    .copy_in = pd_cuda_copy_in,
    .copy_out = pd_cuda_copy_out,
    .copy = cuda_device_copy,
    .copy_pieces = cuda_device_copy_pieces,
    .copy_peer = copy_peer,
    .pin = cuda_device_pin,
    .feed = &pd_cuda_feed,
    .fill_zero = cuda_device_fill_zero,
    .synchronize = cuda_device_synchronize,
    .memory_used = cuda_device_memory_used,
    .memory_available = cuda_device_memory_available,
    .timer_start = cuda_device_timer_start,
    .timer_stop = cuda_device_timer_stop,
    .roof = pd_cuda_roof,
    .stream = pd_cuda_run_stream,
    .has_stream = {true, true},
    .rows = pd_cuda_rows,
    .rows_shape = pd_cuda_rows_shape,
    .rows_groups = pd_cuda_rows_groups,
    .mark = cuda_device_mark,
    .between = between,
    .build = &pd_cuda_build,
    .record_begin = pd_cuda_record_begin,
    .record_end = pd_cuda_record_end,
    .replay = pd_cuda_replay,
    .loop_begin = pd_cuda_loop_begin,
    .loop_end = pd_cuda_loop_end,
    .record_release = pd_cuda_record_release,
};
