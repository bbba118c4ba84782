/* What the parts of the OpenCL module share: one state per device, and the one way to call OpenCL.
 *
 * Algorithms hold pointers, and OpenCL has handles of buffers. So every buffer gets a range of
 * made-up addresses: nothing lies there, but algorithms can add offsets to them, and the module
 * finds the buffer and the offset again (pd_opencl_buffer()). */
#ifndef PD_OPENCL_STATE_H
#define PD_OPENCL_STATE_H

#include "device/module.h"
#include "device/opencl/opencl_api.h"
#include "portable/portable_launch.h"
#include <pthread.h>

/** Kernels, compiled when they are first needed. */
enum { PD_CL_JOIN, PD_CL_ZERO, PD_CL_GAINS, PD_CL_STREAM, PD_CL_ENTRIES = PD_CL_STREAM + 4 };

/** A buffer, and the first of its made-up addresses. */
struct pd_opencl_buffer {
  uintptr_t address;
  uint64_t bytes;
  cl_mem memory;
  struct pd_opencl_buffer *next;
};

struct pd_opencl_state {
  struct pd_device device;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  int compute_units;
  uint64_t memory_bytes;
  /* How the backend is to be compiled; see backend_opencl.h. */
  bool is_cpu;
  int vector_bytes, lanes[PD_ROWS_TILES], vectors[PD_ROWS_TILES];
  struct pd_rows_shape shape;
  pthread_mutex_t lock; /* guards all below, and arguments of kernels until they are enqueued */
  struct pd_opencl_buffer *buffers;
  uintptr_t next_address; /* no buffer has had this address or a higher one */
  uint64_t memory_in_use; /* bytes of the buffers */
  cl_event timer;
  cl_kernel rows[2][PD_ROWS_KINDS][PD_ROWS_CLASSES][PD_ROWS_TILES];
  cl_kernel entries[2][PD_CL_ENTRIES];
};

extern const struct pd_services *pd_opencl_services;

/** Calls OpenCL: `PD_CL(context, state, clFinish, (queue))` is a polyad_status. */
#define PD_CL(context, state, function, arguments)                                                 \
  pd_opencl_check(context, state, pd_cl.function arguments, #function)

polyad_status pd_opencl_check(polyad_context *context, const struct pd_opencl_state *state,
                              cl_int code, const char *function);

static inline struct pd_opencl_state *pd_opencl_state_of(const struct pd_device *device) {
  return device->state;
}

/** The buffer that an address lies in, and the offset in it; NULL: none. The caller of the first
 *  holds the lock; the second one takes it. */
cl_mem pd_opencl_buffer_locked(const struct pd_opencl_state *state, const void *address,
                               uint64_t *offset);
cl_mem pd_opencl_buffer(struct pd_opencl_state *state, const void *address, uint64_t *offset);

/** Makes the queue when it is first needed. */
polyad_status pd_opencl_enter(polyad_context *context, struct pd_opencl_state *state);

/** The kernel over rows for a launch, and one of enum above for a type. The lock is held. */
polyad_status pd_opencl_rows_kernel(polyad_context *context, struct pd_opencl_state *state,
                                    const struct pd_rows_launch *launch, cl_kernel *kernel);
polyad_status pd_opencl_entry_kernel(polyad_context *context, struct pd_opencl_state *state,
                                     polyad_type type, int which, cl_kernel *kernel);

polyad_status pd_opencl_stream(polyad_context *context, const struct pd_device *device,
                               const struct pd_stream_job *job, bool portable);
polyad_status pd_opencl_rows(polyad_context *context, const struct pd_device *device,
                             const struct pd_rows_launch *launch);
const struct pd_rows_shape *pd_opencl_rows_shape(const struct pd_device *device);
uint64_t pd_opencl_rows_groups(polyad_context *context, const struct pd_device *device);

extern const struct pd_device_functions pd_opencl_device_functions;
extern const struct pd_linalg pd_opencl_linalg;

/** The portable kernels' source with what it includes. */
extern const unsigned char pd_opencl_source[];
extern const size_t pd_opencl_source_bytes;

#endif
