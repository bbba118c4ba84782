/* What the parts of the CUDA module share: one state per GPU, and the one way to call CUDA.
 *
 * Host code of the module is C; kernels are in .cu files behind launchers that return a
 * cudaError_t. Nothing here is exported but the module's entry and its fault hook. */
#ifndef PD_CUDA_STATE_H
#define PD_CUDA_STATE_H

#include "device/module.h"
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>

/** Pinned memory that transfers go through: buffers of two per thread that copies. */
enum { PD_CUDA_STAGES = 32, PD_CUDA_STAGE_BYTES = 1 << 20 };

/** One allocation on the device, in a list, so that releasing knows its size. */
struct pd_cuda_block {
  struct pd_cuda_block *next;
  void *pointer;
  uint64_t bytes;
};

/** One GPU. */
struct pd_cuda_state {
  struct pd_device device;
  int processors;       /* streaming multiprocessors */
  uint64_t total_bytes; /* of its memory */
  pthread_mutex_t lock; /* guards all below but the atomics */
  bool ready;           /* stream and staging exist */
  bool begun;           /* a thread made the driver's context: see pd_cuda_end_beginning() */
  atomic_bool lost;
  /* Seconds after which a member of a team has given up waiting for others in NCCL: what the GPU
   * then did with data that have not come tells nothing, so every call fails until the team ends.
   * 0: none has. */
  atomic_int gave_up;
  cudaStream_t stream;  /* see pd_cuda_stream() */
  cudaEvent_t timer[2]; /* start, stop */
  cudaEvent_t passed;   /* a place in the stream that another GPU's waits for */
  uint64_t peers;       /* bit k: reading GPU k's memory was allowed, if it can be; not by `lock` */
  cudaEvent_t marks[PD_DEVICE_MARKS];
  void *pinned;                           /* the buffers, one after the other */
  cudaEvent_t stage_free[PD_CUDA_STAGES]; /* when the last copy from or to a buffer has ended */
  uint64_t bytes_in_use, bytes_peak;      /* now, and the most that there ever were */
  struct pd_cuda_block *blocks;
};

extern const struct pd_services *pd_cuda_services;

/** Calls CUDA: `PD_CUDA(context, state, cudaMemcpyAsync(…))` is a polyad_status. Every call of
 *  the module that can fail goes through here, so that a test can make any of them fail. */
#define PD_CUDA(context, state, call)                                                              \
  pd_cuda_check(context, state, pd_cuda_refuses() ? cudaErrorUnknown : (call), #call)

/** Whether the call that comes next is the one that a test wants to fail. */
bool pd_cuda_refuses(void);
/** Records an error; one that CUDA never recovers from marks the device as lost. */
polyad_status pd_cuda_check(polyad_context *context, struct pd_cuda_state *state, cudaError_t code,
                            const char *call);

/** Makes the GPU current on this thread; its stream and staging memory exist afterwards. */
polyad_status pd_cuda_enter(polyad_context *context, struct pd_cuda_state *state);
/** Lets a thread make the driver's context of a GPU; the next calls for that GPU do nothing. */
void pd_cuda_begin(const struct pd_device *device);
/** Waits for the threads that do so; `begun` of every GPU is then known. */
void pd_cuda_end_beginning(void);
static inline struct pd_cuda_state *pd_cuda_state_of(const struct pd_device *device) {
  return device->state;
}

/** Stream of what this thread records just now; NULL: it does not record. Another thread's work on
 *  the device goes its own way. */
extern _Thread_local cudaStream_t pd_cuda_recording;
/** Where work goes. */
static inline cudaStream_t pd_cuda_stream(const struct pd_cuda_state *state) {
  return pd_cuda_recording != NULL ? pd_cuda_recording : state->stream;
}
/** What functions begin with that enqueue work on a device: names its `state` and `stream`, and
 *  makes it current. */
#define PD_CUDA_ENTER(context, device)                                                             \
  struct pd_cuda_state *state = pd_cuda_state_of(device);                                          \
  PD_TRY(pd_cuda_enter((context), state));                                                         \
  cudaStream_t stream __attribute__((unused)) = pd_cuda_stream(state)
polyad_status pd_cuda_record_begin(polyad_context *context, const struct pd_device *device);
/** Records an event whose time each replay notes, and for which nothing in the record waits: marks
 *  took a fifth of an iteration on small tensors where kernels waited for them. */
polyad_status pd_cuda_record_event(polyad_context *context, struct pd_cuda_state *state,
                                   cudaEvent_t event);
polyad_status pd_cuda_record_end(polyad_context *context, const struct pd_device *device, bool keep,
                                 void **record);
polyad_status pd_cuda_replay(polyad_context *context, const struct pd_device *device, void *record);
void pd_cuda_record_release(polyad_context *context, const struct pd_device *device, void *record);
polyad_status pd_cuda_loop_begin(polyad_context *context, const struct pd_device *device,
                                 struct pd_loop *loop);
polyad_status pd_cuda_loop_end(polyad_context *context, const struct pd_device *device);
/** Ends a loop that a failure has left open; nothing where there is none. */
void pd_cuda_loop_leave(void);

/** Short forms for formats and linalg, which keep several arrays on a device. */
polyad_status pd_cuda_allocate(polyad_context *context, const struct pd_device *device,
                               uint64_t count, size_t size, void **out);
/** Allocates and copies an array of the host; NULL and zero bytes give NULL. */
polyad_status pd_cuda_upload(polyad_context *context, const struct pd_device *device,
                             uint64_t count, size_t size, const void *host, void **out);
/** NULL is fine. */
void pd_cuda_release(polyad_context *context, const struct pd_device *device, void *pointer);

extern const struct pd_device_functions pd_cuda_device_functions;
extern const struct pd_device_feed pd_cuda_feed;
extern const struct pd_linalg pd_cuda_linalg;
extern const struct pd_svd pd_cuda_svd;
extern const struct pd_completion pd_cuda_completion;
extern const struct pd_newton pd_cuda_newton;

/** Makes call number `call` from now on (from 1) fail; 0: none. Returns how many calls were made
 *  since it was last called. For tests. */
__attribute__((visibility("default"))) long pd_module_fail_call(long call);

#endif
