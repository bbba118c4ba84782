/* An OpenCL device: buffers with a limit, one queue in order. */
#include "device/opencl/opencl_state.h"

polyad_status pd_opencl_check(polyad_context *context, const struct pd_opencl_state *state,
                              cl_int code, const char *function) {
  if (code == CL_SUCCESS) return POLYAD_OK;
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
      code == CL_INVALID_BUFFER_SIZE)
    return pd_opencl_services->fail(context, POLYAD_OUT_OF_MEMORY,
                                    "%s is out of memory: %s returned %d", state->device.name,
                                    function, (int)code);
  return pd_opencl_services->fail(context, POLYAD_DEVICE, "%s: %s returned %d", state->device.name,
                                  function, (int)code);
}

static polyad_status opencl_device_open_locked(polyad_context *context,
                                               struct pd_opencl_state *state) {
  cl_int code;
  if (state->queue != NULL) return POLYAD_OK;
  if (state->context == NULL) {
    cl_context made = pd_cl.clCreateContext(NULL, 1, &state->id, NULL, NULL, &code);
    PD_TRY(pd_opencl_check(context, state, code, "clCreateContext"));
    state->context = made;
  }
  cl_command_queue queue =
      pd_cl.clCreateCommandQueue(state->context, state->id, CL_QUEUE_PROFILING_ENABLE, &code);
  PD_TRY(pd_opencl_check(context, state, code, "clCreateCommandQueue"));
  state->queue = queue;
  return POLYAD_OK;
}

polyad_status pd_opencl_enter(polyad_context *context, struct pd_opencl_state *state) {
  pthread_mutex_lock(&state->lock);
  polyad_status status = opencl_device_open_locked(context, state);
  pthread_mutex_unlock(&state->lock);
  return status;
}

static polyad_status opencl_device_fail_limit(polyad_context *context,
                                              const struct pd_opencl_state *state, uint64_t bytes) {
  char need[32], used[32], limit[32];
  const struct pd_services *core = pd_opencl_services;
  return core->fail(context, POLYAD_MEMORY_LIMIT,
                    "%s: %s more are needed and %s are in use, the memory limit is %s; raise the "
                    "memory limit or ask for less",
                    state->device.name, core->bytes_text(need, bytes),
                    core->bytes_text(used, state->memory_in_use),
                    core->bytes_text(limit, core->memory_limit(context)));
}

/* No address is used twice, and a gap keeps the end of one buffer from being the begin of the next.
 */
enum { ADDRESS_STEP = 4096 };

static polyad_status name_buffer(polyad_context *context, struct pd_opencl_state *state,
                                 cl_mem memory, uint64_t bytes, void **out) {
  struct pd_opencl_buffer *made;
  PD_TRY(pd_opencl_services->alloc(context, 1, sizeof *made, (void **)&made));
  state->next_address += ADDRESS_STEP;
  *made = (struct pd_opencl_buffer){state->next_address, bytes, memory, state->buffers};
  state->next_address += (bytes + ADDRESS_STEP - 1) / ADDRESS_STEP * ADDRESS_STEP;
  state->buffers = made;
  *out = (void *)made->address; // NOLINT(performance-no-int-to-ptr): nobody follows it
  return POLYAD_OK;
}

cl_mem pd_opencl_buffer_locked(const struct pd_opencl_state *state, const void *address,
                               uint64_t *offset) {
  uintptr_t at = (uintptr_t)address;
  for (const struct pd_opencl_buffer *one = state->buffers; one != NULL; one = one->next) {
    if (at < one->address || at - one->address > one->bytes) continue;
    *offset = at - one->address;
    return one->memory;
  }
  *offset = 0;
  return NULL;
}

cl_mem pd_opencl_buffer(struct pd_opencl_state *state, const void *address, uint64_t *offset) {
  pthread_mutex_lock(&state->lock);
  cl_mem memory = pd_opencl_buffer_locked(state, address, offset);
  pthread_mutex_unlock(&state->lock);
  return memory;
}

static polyad_status opencl_device_allocate_locked(polyad_context *context,
                                                   struct pd_opencl_state *state, uint64_t bytes,
                                                   void **out) {
  cl_int code;
  uint64_t total = pd_add_saturated(state->memory_in_use, bytes);
  if (total > pd_opencl_services->memory_limit(context))
    return opencl_device_fail_limit(context, state, bytes);
  cl_mem buffer = pd_cl.clCreateBuffer(state->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  PD_TRY(pd_opencl_check(context, state, code, "clCreateBuffer"));
  polyad_status status = name_buffer(context, state, buffer, bytes, out);
  if (status == POLYAD_OK)
    state->memory_in_use = total;
  else
    (void)pd_cl.clReleaseMemObject(buffer);
  return status;
}

static polyad_status opencl_device_allocate(polyad_context *context, const struct pd_device *device,
                                            uint64_t bytes, void **out) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  *out = NULL;
  PD_TRY(pd_opencl_enter(context, state));
  pthread_mutex_lock(&state->lock);
  polyad_status status =
      opencl_device_allocate_locked(context, state, bytes == 0 ? 16 : bytes, out);
  pthread_mutex_unlock(&state->lock);
  return status;
}

static void opencl_device_release(polyad_context *context, const struct pd_device *device,
                                  void *pointer) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  struct pd_opencl_buffer **link = &state->buffers, *found;
  if (pointer == NULL) return;
  pthread_mutex_lock(&state->lock);
  while (*link != NULL && (*link)->address != (uintptr_t)pointer)
    link = &(*link)->next;
  found = *link;
  if (found != NULL) {
    *link = found->next;
    state->memory_in_use -= found->bytes;
  }
  pthread_mutex_unlock(&state->lock);
  if (found != NULL) (void)pd_cl.clReleaseMemObject(found->memory);
  pd_opencl_services->free(context, found);
}

/* Drivers refuse single transfers of gigabytes. */
static uint64_t piece_at(uint64_t done, uint64_t bytes) {
  const uint64_t most = UINT64_C(1) << 30;
  return bytes - done < most ? bytes - done : most;
}

/* Waits: the host's memory is free again afterwards. */
static polyad_status copy_in(polyad_context *context, const struct pd_device *device, void *to,
                             const void *from_host, uint64_t bytes) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  uint64_t first;
  cl_mem buffer = pd_opencl_buffer(state, to, &first);
  for (uint64_t done = 0, piece; done < bytes; done += piece) {
    piece = piece_at(done, bytes);
    PD_TRY(PD_CL(context, state, clEnqueueWriteBuffer,
                 (state->queue, buffer, CL_TRUE, first + done, piece,
                  (const char *)from_host + done, 0, NULL, NULL)));
  }
  return POLYAD_OK;
}

static polyad_status copy_out(polyad_context *context, const struct pd_device *device,
                              void *to_host, const void *from, uint64_t bytes) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  uint64_t first;
  cl_mem buffer = pd_opencl_buffer(state, from, &first);
  for (uint64_t done = 0, piece; done < bytes; done += piece) {
    piece = piece_at(done, bytes);
    PD_TRY(PD_CL(context, state, clEnqueueReadBuffer,
                 (state->queue, buffer, CL_TRUE, first + done, piece, (char *)to_host + done, 0,
                  NULL, NULL)));
  }
  return POLYAD_OK;
}

static polyad_status opencl_device_copy(polyad_context *context, const struct pd_device *device,
                                        void *to, const void *from, uint64_t bytes) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  uint64_t at, first;
  cl_mem source = pd_opencl_buffer(state, from, &first), goal = pd_opencl_buffer(state, to, &at);
  if (bytes == 0) return POLYAD_OK;
  return PD_CL(context, state, clEnqueueCopyBuffer,
               (state->queue, source, goal, first, at, bytes, 0, NULL, NULL));
}

static polyad_status opencl_device_fill_zero(polyad_context *context,
                                             const struct pd_device *device, void *to,
                                             uint64_t bytes) {
  static const unsigned char zero = 0;
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  uint64_t first;
  cl_mem buffer = pd_opencl_buffer(state, to, &first);
  if (bytes == 0) return POLYAD_OK;
  return PD_CL(context, state, clEnqueueFillBuffer,
               (state->queue, buffer, &zero, sizeof zero, first, bytes, 0, NULL, NULL));
}

static polyad_status opencl_device_synchronize(polyad_context *context,
                                               const struct pd_device *device) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  PD_TRY(pd_opencl_enter(context, state));
  return PD_CL(context, state, clFinish, (state->queue));
}

static uint64_t opencl_device_memory_available(polyad_context *context,
                                               const struct pd_device *device) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  uint64_t limit = pd_opencl_services->memory_limit(context);
  if (state->memory_bytes < limit) limit = state->memory_bytes;
  pthread_mutex_lock(&state->lock);
  uint64_t used = state->memory_in_use;
  pthread_mutex_unlock(&state->lock);
  return limit > used ? limit - used : 0;
}

static polyad_status opencl_device_timer_start(polyad_context *context,
                                               const struct pd_device *device) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  cl_event start, before;
  PD_TRY(opencl_device_synchronize(context, device));
  PD_TRY(PD_CL(context, state, clEnqueueMarkerWithWaitList, (state->queue, 0, NULL, &start)));
  pthread_mutex_lock(&state->lock);
  before = state->timer;
  state->timer = start;
  pthread_mutex_unlock(&state->lock);
  if (before != NULL) (void)pd_cl.clReleaseEvent(before);
  return POLYAD_OK;
}

/* The time from the device's timer to an event that has passed. Where several members of a team
 * have the same device, another may have started the timer anew: *seconds, which is not known then,
 * stays 0. The lock is held, so that nobody releases the event of the timer meanwhile. */
static polyad_status since_timer_locked(polyad_context *context, struct pd_opencl_state *state,
                                        cl_event end, double *seconds) {
  cl_ulong from = 0, to = 0;
  cl_int code = pd_cl.clGetEventProfilingInfo(state->timer, CL_PROFILING_COMMAND_END, sizeof from,
                                              &from, NULL);
  if (code == CL_PROFILING_INFO_NOT_AVAILABLE) return POLYAD_OK;
  PD_TRY(pd_opencl_check(context, state, code, "clGetEventProfilingInfo"));
  PD_TRY(PD_CL(context, state, clGetEventProfilingInfo,
               (end, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL)));
  if (to > from) *seconds = 1e-9 * (double)(to - from);
  return POLYAD_OK;
}

static polyad_status opencl_device_timer_stop(polyad_context *context,
                                              const struct pd_device *device, double *seconds) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  cl_event end;
  *seconds = 0;
  PD_TRY(PD_CL(context, state, clEnqueueMarkerWithWaitList, (state->queue, 0, NULL, &end)));
  polyad_status status = PD_CL(context, state, clWaitForEvents, (1, &end));
  if (status == POLYAD_OK) {
    pthread_mutex_lock(&state->lock);
    status = since_timer_locked(context, state, end, seconds);
    pthread_mutex_unlock(&state->lock);
  }
  (void)pd_cl.clReleaseEvent(end);
  return status;
}

const struct pd_device_functions pd_opencl_device_functions = {
    .host_memory = false,
    .allocate = opencl_device_allocate,
    .release = opencl_device_release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = opencl_device_copy,
    .fill_zero = opencl_device_fill_zero,
    .synchronize = opencl_device_synchronize,
    .memory_available = opencl_device_memory_available,
    .timer_start = opencl_device_timer_start,
    .timer_stop = opencl_device_timer_stop,
    .stream = pd_opencl_stream,
    .has_stream = {false, true},
    .rows = pd_opencl_rows,
    .rows_shape = pd_opencl_rows_shape,
    .rows_groups = pd_opencl_rows_groups,
};
