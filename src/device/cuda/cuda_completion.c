/* Completion on a GPU: scratch memory, and the order of the kernels. */
#include "device/cuda/cuda_completion_launch.h"
#include "device/cuda/cuda_sort.h"
#include "device/cuda/cuda_state.h"
#include "linalg/completion.h"

/* A GPU has a thousand blocks to feed: rows are long sooner than on the CPU. */
enum { PIECE_LEAST = 1 << 10, PIECE_SHARE = 1 << 10, BLOCKS_EACH = 4 };

_Static_assert(sizeof(struct pd_gpu_piece) == sizeof(struct pd_row_piece), "the same struct");

/* Numbers on the device that the host fetches. */
struct found {
  double sums[PD_GPU_COMPLETION_SUMS];
  unsigned long long fallbacks; /* only grows */
};

struct pd_completion_work {
  struct pd_completion_job job;
  struct pd_cuda_state *state;
  int shared_bytes; /* that a block may have */
  double *sums;     /* of pieces */
  double *scratch;  /* matrices of rows, where shared memory is too small */
  double *residual; /* of the observations, for components */
  bool stands;      /* it is of the model as it is */
  double *column[POLYAD_MAX_ORDER];
  double *partial; /* sums of blocks: PD_GPU_COMPLETION_SUMS lists */
  struct found *found;
  uint64_t fallbacks; /* at the last fetch */
};

/* ---- order ---------------------------------------------------------------------------------- */

/* Sorts the numbers of the observations by their index in the mode. */
static polyad_status sort_places(polyad_context *context, struct pd_observations *o, int mode,
                                 struct pd_gpu_sort_job *job) {
  struct pd_cuda_state *state = pd_cuda_state_of(o->device);
  struct pd_observed_rows *rows = &o->rows[mode];
  int at = 0;
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_completion_keys(o->cell[mode], o->count, job->keys[0], job->values[0],
                                        pd_cuda_stream(state))));
  for (job->bits = 1; job->bits < 32 && o->dims[mode] > UINT64_C(1) << job->bits; ++job->bits)
    continue;
  PD_TRY(pd_cuda_sort_arrays(context, o->device, job, &at));
  PD_TRY(pd_cuda_device_functions.copy(context, o->device, rows->place, job->values[at],
                                       o->count * sizeof *rows->place));
  for (int n = 0; n < o->order; ++n)
    if (n != mode)
      PD_TRY(PD_CUDA(context, state,
                     pd_gpu_completion_gather(o->cell[n], rows->place, o->count, rows->index[n],
                                              pd_cuda_stream(state))));
  return POLYAD_OK;
}

static polyad_status cuda_completion_sort(polyad_context *context, struct pd_observations *o,
                                          int threads) {
  struct pd_gpu_sort_job job = {.key_bytes = 8, .value_bytes = 8, .count = o->count};
  polyad_status status = pd_cuda_enter(context, pd_cuda_state_of(o->device));
  (void)threads;
  for (int k = 0; k < 2 && status == POLYAD_OK; ++k) {
    status = pd_cuda_allocate(context, o->device, o->count, 8, &job.keys[k]);
    if (status == POLYAD_OK)
      status = pd_cuda_allocate(context, o->device, o->count, 8, &job.values[k]);
  }
  for (int n = 1; n < o->order && status == POLYAD_OK; ++n)
    status = sort_places(context, o, n, &job);
  for (int k = 0; k < 2; ++k) {
    pd_cuda_release(context, o->device, job.keys[k]);
    pd_cuda_release(context, o->device, job.values[k]);
  }
  return status;
}

/* ---- memory --------------------------------------------------------------------------------- */

static uint64_t piece_numbers(const struct pd_completion_job *job) {
  return job->rows ? pd_gpu_completion_piece((int)job->columns) : 2;
}

/* There are no more pieces than long rows and shares. */
static uint64_t cuda_completion_bytes(const struct pd_completion_job *job, uint64_t observations) {
  uint64_t pieces = observations / PIECE_LEAST, scratch = 0;
  if (pieces > PIECE_SHARE) pieces = PIECE_SHARE;
  if (job->rows)
    scratch = pd_gpu_completion_scratch((int)job->columns, 48 << 10,
                                        BLOCKS_EACH * pd_cuda_state_of(job->device)->processors);
  uint64_t numbers = pd_add_saturated(pd_mul_saturated(2 * pieces, piece_numbers(job)), scratch);
  numbers = pd_add_saturated(numbers, pd_mul_saturated(4, observations)); /* sorting */
  if (job->components) numbers = pd_add_saturated(numbers, observations);
  return pd_mul_saturated(numbers, sizeof(double));
}

static void cuda_completion_destroy(polyad_context *context, struct pd_completion_work *work) {
  if (work == NULL) return;
  void *const arrays[] = {work->sums, work->scratch, work->residual, work->partial, work->found};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    pd_cuda_release(context, work->job.device, arrays[k]);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_cuda_release(context, work->job.device, work->column[n]);
  pd_cuda_services->free(context, work);
}

static polyad_status allocate_doubles(polyad_context *context,
                                      const struct pd_completion_work *work, uint64_t count,
                                      double **out) {
  if (count == 0) return POLYAD_OK;
  return pd_cuda_allocate(context, work->job.device, count, sizeof **out, (void **)out);
}

static polyad_status cuda_completion_fill(polyad_context *context,
                                          struct pd_completion_work *work) {
  const struct pd_completion_job *job = &work->job;
  uint64_t pieces = 0, partials = (uint64_t)PD_GPU_COMPLETION_SUMS * PD_GPU_COMPLETION_BLOCKS;
  if (job->rows && job->columns > PD_GPU_COMPLETION_COLUMNS)
    return pd_cuda_services->fail(
        context, POLYAD_UNSUPPORTED,
        "%llu columns found; completion by ALS on a GPU takes at most %d (the rank, and one more "
        "with biases): ccd takes any, as does the CPU",
        (unsigned long long)job->columns, PD_GPU_COMPLETION_COLUMNS);
  for (int n = 0; n < job->seen->order; ++n)
    if (job->seen->rows[n].pieces > pieces) pieces = job->seen->rows[n].pieces;
  PD_TRY(pd_cuda_enter(context, work->state));
  PD_TRY(
      PD_CUDA(context, work->state,
              cudaDeviceGetAttribute(&work->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                     job->device->index)));
  PD_TRY(
      allocate_doubles(context, work, pd_mul_saturated(pieces, piece_numbers(job)), &work->sums));
  PD_TRY(allocate_doubles(
      context, work, (uint64_t)PD_GPU_COMPLETION_SUMS * PD_GPU_COMPLETION_BLOCKS, &work->partial));
  PD_TRY(PD_CUDA(context, work->state,
                 cudaMemsetAsync(work->partial, 0, partials * sizeof *work->partial,
                                 pd_cuda_stream(work->state))));
  PD_TRY(pd_cuda_allocate(context, job->device, 1, sizeof *work->found, (void **)&work->found));
  PD_TRY(
      PD_CUDA(context, work->state,
              cudaMemsetAsync(work->found, 0, sizeof *work->found, pd_cuda_stream(work->state))));
  if (job->rows)
    PD_TRY(allocate_doubles(context, work,
                            pd_gpu_completion_scratch((int)job->columns, work->shared_bytes,
                                                      BLOCKS_EACH * work->state->processors),
                            &work->scratch));
  if (!job->components) return POLYAD_OK;
  for (int n = 0; n < job->seen->order; ++n)
    PD_TRY(allocate_doubles(context, work, job->seen->dims[n], &work->column[n]));
  return allocate_doubles(context, work, job->seen->count, &work->residual);
}

static polyad_status cuda_completion_create(polyad_context *context,
                                            const struct pd_completion_job *job,
                                            struct pd_completion_work **out) {
  struct pd_completion_work *work = NULL;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *work, (void **)&work));
  *work = (struct pd_completion_work){.job = *job, .state = pd_cuda_state_of(job->device)};
  polyad_status status = cuda_completion_fill(context, work);
  if (status == POLYAD_OK)
    *out = work;
  else
    cuda_completion_destroy(context, work);
  return status;
}

/* ---- what kernels get ----------------------------------------------------------------------- */

static struct pd_gpu_completed gpu_model(const struct pd_completed *model) {
  struct pd_gpu_completed gpu = {.order = model->order,
                                 .rank = (int)model->rank,
                                 .columns = (int)model->columns,
                                 .ridge = model->ridge,
                                 .bias_ridge = model->bias_ridge,
                                 .ridge_by_count = model->ridge_by_count,
                                 .nonnegative = model->nonnegative};
  for (int n = 0; n < model->order; ++n) {
    gpu.factor[n] = model->factor[n].data;
    gpu.rows[n] = model->factor[n].rows;
  }
  return gpu;
}

static struct pd_gpu_observations gpu_observations(const struct pd_observations *o) {
  struct pd_gpu_observations gpu = {.value = o->value, .weight = o->weight, .count = o->count};
  for (int n = 0; n < o->order; ++n)
    gpu.cell[n] = o->cell[n];
  return gpu;
}

static struct pd_gpu_observed_rows gpu_observed_rows(const struct pd_observations *o, int mode) {
  const struct pd_observed_rows *rows = &o->rows[mode];
  struct pd_gpu_observed_rows gpu = {.start = rows->start,
                                     .place = rows->place,
                                     .long_row = rows->long_row,
                                     .first_piece = rows->first_piece,
                                     .piece = (const struct pd_gpu_piece *)rows->piece,
                                     .long_rows = rows->long_rows,
                                     .pieces = rows->pieces};
  for (int n = 0; n < o->order; ++n)
    gpu.index[n] = rows->index[n];
  return gpu;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static polyad_status cuda_completion_rows(polyad_context *context, struct pd_completion_work *work,
                                          const struct pd_completed *model, int mode) {
  const struct pd_gpu_completion_rows job = {.model = gpu_model(model),
                                             .seen = gpu_observations(work->job.seen),
                                             .order = gpu_observed_rows(work->job.seen, mode),
                                             .mode = mode,
                                             .sums = work->sums,
                                             .scratch = work->scratch,
                                             .fallbacks = &work->found->fallbacks,
                                             .shared_bytes = work->shared_bytes,
                                             .blocks = BLOCKS_EACH * work->state->processors};
  PD_TRY(pd_cuda_enter(context, work->state));
  return PD_CUDA(context, work->state,
                 pd_gpu_completion_solve_rows(&job, pd_cuda_stream(work->state)));
}

/* Sums of blocks over a list of observations: the list's losses and magnitudes. */
static polyad_status enqueue_compare(polyad_context *context, struct pd_completion_work *work,
                                     const struct pd_completed *model,
                                     const struct pd_observations *o, double shift,
                                     double *residual, int list) {
  struct pd_gpu_completed of = gpu_model(model);
  struct pd_gpu_observations observations = gpu_observations(o);
  PD_TRY(pd_cuda_enter(context, work->state));
  return PD_CUDA(context, work->state,
                 pd_gpu_completion_compare(&of, &observations, shift, residual,
                                           work->partial + 2 * list * PD_GPU_COMPLETION_BLOCKS,
                                           pd_cuda_stream(work->state)));
}

static polyad_status cuda_completion_component(polyad_context *context,
                                               struct pd_completion_work *work,
                                               const struct pd_completed *model, size_t r) {
  struct pd_cuda_state *state = work->state;
  struct pd_gpu_completion_column job = {.model = gpu_model(model),
                                         .seen = gpu_observations(work->job.seen),
                                         .bias = r == model->rank,
                                         .r = (int)r,
                                         .residual = work->residual,
                                         .sums = work->sums};
  for (int n = 0; n < model->order; ++n)
    job.column[n] = work->column[n];
  if (!work->stands)
    PD_TRY(enqueue_compare(context, work, model, work->job.seen, 0, work->residual, 0));
  work->stands = true;
  PD_TRY(pd_cuda_enter(context, state));
  cudaStream_t stream = pd_cuda_stream(state);
  PD_TRY(PD_CUDA(context, state, pd_gpu_completion_copy(&job, 0, stream)));
  for (int n = 0; n < model->order; ++n) {
    job.mode = n;
    job.order = gpu_observed_rows(work->job.seen, n);
    if (job.bias || n == 0)
      PD_TRY(PD_CUDA(context, state, pd_gpu_completion_shift(&job, 1, stream)));
    PD_TRY(PD_CUDA(context, state, pd_gpu_completion_solve_column(&job, stream)));
    if (job.bias || n == model->order - 1)
      PD_TRY(PD_CUDA(context, state, pd_gpu_completion_shift(&job, -1, stream)));
  }
  return PD_CUDA(context, state, pd_gpu_completion_copy(&job, 1, stream));
}

static polyad_status fetch_sums(polyad_context *context, struct pd_completion_work *work, int count,
                                struct found *found) {
  struct pd_cuda_state *state = work->state;
  PD_TRY(PD_CUDA(
      context, state,
      pd_gpu_completion_add(work->partial, count, work->found->sums, pd_cuda_stream(state))));
  return work->job.device->functions->copy_out(context, work->job.device, found, work->found,
                                               sizeof *found);
}

static polyad_status cuda_completion_measure(polyad_context *context,
                                             struct pd_completion_work *work,
                                             const struct pd_completed *model,
                                             struct pd_completion_sums *sums) {
  struct pd_gpu_completed of = gpu_model(model);
  struct found found;
  bool held = work->job.held != NULL;
  PD_TRY(enqueue_compare(context, work, model, work->job.seen, 0, work->residual, 0));
  work->stands = work->residual != NULL;
  if (held) PD_TRY(enqueue_compare(context, work, model, work->job.held, 0, NULL, 1));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(PD_CUDA(context, work->state,
                   pd_gpu_completion_penalty(&of, work->job.seen->rows[n].start, n,
                                             work->partial + (4 + n) * PD_GPU_COMPLETION_BLOCKS,
                                             pd_cuda_stream(work->state))));
  PD_TRY(fetch_sums(context, work, 4 + model->order, &found));
  *sums = (struct pd_completion_sums){.loss = found.sums[0],
                                      .held = held ? found.sums[2] : 0,
                                      .fallbacks = found.fallbacks - work->fallbacks};
  work->fallbacks = found.fallbacks;
  for (int n = 0; n < model->order; ++n)
    sums->penalty += found.sums[4 + n];
  return POLYAD_OK;
}

static polyad_status cuda_completion_compare(polyad_context *context,
                                             struct pd_completion_work *work,
                                             const struct pd_completed *model,
                                             const struct pd_observations *o, double shift,
                                             double sums[2]) {
  struct found found;
  PD_TRY(enqueue_compare(context, work, model, o, shift, NULL, 0));
  PD_TRY(fetch_sums(context, work, 2, &found));
  sums[0] = found.sums[0];
  sums[1] = found.sums[1];
  return POLYAD_OK;
}

static polyad_status cuda_completion_residuals(polyad_context *context,
                                               struct pd_completion_work *work,
                                               const struct pd_completed *model,
                                               const struct pd_observations *o, double *host) {
  const struct pd_device *device = work->job.device;
  double *residual = NULL;
  PD_TRY(allocate_doubles(context, work, o->count, &residual));
  polyad_status status = enqueue_compare(context, work, model, o, 0, residual, 0);
  if (status == POLYAD_OK)
    status =
        device->functions->copy_out(context, device, host, residual, o->count * sizeof *residual);
  pd_cuda_release(context, device, residual);
  return status;
}

static void cuda_completion_forget(struct pd_completion_work *work) { work->stands = false; }

const struct pd_completion pd_cuda_completion = {.piece_least = PIECE_LEAST,
                                                 .piece_share = PIECE_SHARE,
                                                 .sort = cuda_completion_sort,
                                                 .work_bytes = cuda_completion_bytes,
                                                 .work_create = cuda_completion_create,
                                                 .work_destroy = cuda_completion_destroy,
                                                 .solve_rows = cuda_completion_rows,
                                                 .solve_component = cuda_completion_component,
                                                 .forget = cuda_completion_forget,
                                                 .measure = cuda_completion_measure,
                                                 .compare = cuda_completion_compare,
                                                 .residuals = cuda_completion_residuals};
