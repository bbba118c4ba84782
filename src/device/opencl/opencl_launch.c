/* Launching the portable kernels on an OpenCL device. */
#include "device/opencl/opencl_state.h"

/* Sets arguments in turn; the first failure stays. */
struct arguments {
  const struct pd_opencl_state *state; /* whose lock is held */
  cl_kernel kernel;
  cl_uint next;
  cl_int code;
};

static void opencl_launch_put(struct arguments *to, size_t size, const void *value) {
  cl_int code = pd_cl.clSetKernelArg(to->kernel, to->next++, size, value);
  if (to->code == CL_SUCCESS) to->code = code;
}

/* Passes an array, which has to begin where its buffer does; NULL for one that the kernel does not
 * read. */
static void put_buffer(struct arguments *to, const void *array) {
  uint64_t offset;
  cl_mem handle = pd_opencl_buffer_locked(to->state, array, &offset);
  if (handle != NULL && offset != 0) to->code = CL_INVALID_ARG_VALUE;
  opencl_launch_put(to, sizeof handle, handle == NULL ? NULL : &handle);
}

static polyad_status opencl_launch_enqueue(polyad_context *context, struct pd_opencl_state *state,
                                           const struct arguments *arguments, uint64_t items,
                                           size_t local) {
  PD_TRY(pd_opencl_check(context, state, arguments->code, "clSetKernelArg"));
  size_t global = (size_t)((items + local - 1) / local * local);
  return PD_CL(context, state, clEnqueueNDRangeKernel,
               (state->queue, arguments->kernel, 1, NULL, &global, &local, 0, NULL, NULL));
}

static polyad_status run_rows(polyad_context *context, struct pd_opencl_state *state,
                              const struct pd_rows_launch *launch) {
  struct arguments to = {.state = state, .code = CL_SUCCESS};
  const struct pd_rows_pointers *at = &launch->at;
  PD_TRY(pd_opencl_rows_kernel(context, state, launch, &to.kernel));
  opencl_launch_put(&to, sizeof launch->job, &launch->job);
  void *const arrays[] = {at->ends, at->values, at->row_start, at->row_id, at->chunk_row,
                          at->b,    at->out,    at->head,      at->tail};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    put_buffer(&to, arrays[k]);
  for (int k = 0; k < PD_PORTABLE_INPUTS; ++k)
    put_buffer(&to, at->plane[k]);
  for (int k = 0; k < PD_PORTABLE_INPUTS; ++k)
    put_buffer(&to, at->factor[k]);
  size_t lanes = (size_t)state->lanes[launch->tile];
  return opencl_launch_enqueue(context, state, &to, launch->groups * lanes,
                               lanes * (size_t)state->shape.groups[launch->tile]);
}

static size_t entries_at_once(const struct pd_opencl_state *state) {
  return state->is_cpu ? 1024 : 256;
}

static polyad_status run_entries(polyad_context *context, struct pd_opencl_state *state,
                                 const struct pd_rows_launch *launch) {
  struct arguments to = {.state = state, .code = CL_SUCCESS};
  const struct pd_rows_pointers *at = &launch->at;
  static const int kernels[] = {
      [PD_ROWS_JOIN] = PD_CL_JOIN, [PD_ROWS_ZERO] = PD_CL_ZERO, [PD_ROWS_GAINS] = PD_CL_GAINS};
  PD_TRY(pd_opencl_entry_kernel(context, state, launch->type, kernels[launch->what], &to.kernel));
  if (launch->what == PD_ROWS_JOIN) {
    void *const arrays[] = {at->row_start, at->row_id, at->chunk_row, at->head, at->tail, at->out};
    opencl_launch_put(&to, sizeof launch->job, &launch->job);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
      put_buffer(&to, arrays[k]);
  } else if (launch->what == PD_ROWS_GAINS) {
    opencl_launch_put(&to, sizeof launch->rows, &launch->rows);
    opencl_launch_put(&to, sizeof launch->job.segment, &launch->job.segment);
    put_buffer(&to, at->head);
    put_buffer(&to, at->out);
  } else {
    opencl_launch_put(&to, sizeof launch->job, &launch->job);
    put_buffer(&to, at->used);
    opencl_launch_put(&to, sizeof launch->rows, &launch->rows);
    put_buffer(&to, at->out);
  }
  return opencl_launch_enqueue(context, state, &to, launch->groups, entries_at_once(state));
}

polyad_status pd_opencl_rows(polyad_context *context, const struct pd_device *device,
                             const struct pd_rows_launch *launch) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  PD_TRY(pd_opencl_enter(context, state));
  if (launch->groups == 0) return POLYAD_OK;
  pthread_mutex_lock(&state->lock);
  polyad_status status = launch->what < PD_ROWS_JOIN ? run_rows(context, state, launch)
                                                     : run_entries(context, state, launch);
  pthread_mutex_unlock(&state->lock);
  return status;
}

static polyad_status run_stream(polyad_context *context, struct pd_opencl_state *state,
                                const struct pd_stream_job *job) {
  struct arguments to = {.state = state, .code = CL_SUCCESS};
  PD_TRY(
      pd_opencl_entry_kernel(context, state, job->type, PD_CL_STREAM + (int)job->loop, &to.kernel));
  float narrow = (float)job->scalar;
  if (job->loop == POLYAD_STREAM_SCALE || job->loop == POLYAD_STREAM_TRIAD) {
    if (job->type == POLYAD_F64)
      opencl_launch_put(&to, sizeof job->scalar, &job->scalar);
    else
      opencl_launch_put(&to, sizeof narrow, &narrow);
  }
  void *const arrays[4][3] = {
      {job->a, job->c}, {job->c, job->b}, {job->a, job->b, job->c}, {job->b, job->c, job->a}};
  for (int k = 0; k < 3 && arrays[job->loop][k] != NULL; ++k)
    put_buffer(&to, arrays[job->loop][k]);
  uint64_t width = (uint64_t)state->vector_bytes / pd_type_bytes(job->type);
  uint64_t items = job->count / width; /* PD_STREAM_UNIT is a multiple of 256 vectors of 16 bytes */
  return opencl_launch_enqueue(context, state, &to, items, 64);
}

polyad_status pd_opencl_stream(polyad_context *context, const struct pd_device *device,
                               const struct pd_stream_job *job, bool portable) {
  struct pd_opencl_state *state = pd_opencl_state_of(device);
  (void)portable; /* has_stream says that there are no others */
  PD_TRY(pd_opencl_enter(context, state));
  pthread_mutex_lock(&state->lock);
  polyad_status status = run_stream(context, state, job);
  pthread_mutex_unlock(&state->lock);
  return status;
}

const struct pd_rows_shape *pd_opencl_rows_shape(const struct pd_device *device) {
  return &pd_opencl_state_of(device)->shape;
}

uint64_t pd_opencl_rows_groups(polyad_context *context, const struct pd_device *device) {
  (void)context;
  const struct pd_opencl_state *state = pd_opencl_state_of(device);
  uint64_t units = (uint64_t)state->compute_units;
  return state->is_cpu ? units : units * (768 / 8) * 4;
}
