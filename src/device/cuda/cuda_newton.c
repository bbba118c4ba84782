/* PDNR and PQNR on a GPU: scratch memory, what kernels get, and their launches. */
#include "device/cuda/cuda_newton_launch.h"
#include "device/cuda/cuda_state.h"
#include "linalg/newton_rows.h"
#include <string.h>

/* Blocks for rows of different lengths: their threads, and how many numbers of products, and
 * nonzeros these are of, they keep at once. Sixteen of the smallest fit a multiprocessor at
 * rank 16.
 */
static const struct {
  int threads, products, least, most;
  uint64_t longest; /* nonzeros of their rows; 0: as many as they keep at once */
} kinds[PD_GPU_NEWTON_KINDS] = {
    {32, 1280, 8, 64, 0}, {128, 4096, 16, 256, 4096}, {512, 6144, 16, 512, UINT64_MAX}};
enum {
  LARGEST = PD_GPU_NEWTON_KINDS - 1,
  BLOCKS_EACH = 2,       /* of a multiprocessor, where their memory is not shared memory */
  SHARED_RESERVED = 1024 /* bytes of a block's shared memory that are not ours */
};
static const uint64_t MOST_SCRATCH = UINT64_C(1) << 30; /* bytes, unless one block needs more */

struct pd_newton_work {
  const struct pd_device *device;
  struct pd_cuda_state *state;
  struct pd_gpu_newton_found *found;
  double *scratch;
  int scratch_blocks;
  int shared_bytes; /* that a block may have */
};

static struct pd_newton_job newton_job(const struct pd_newton_options *options) {
  return (struct pd_newton_job){.rank = options->rank,
                                .newton = options->newton,
                                .most = options->most,
                                .memory = options->memory,
                                .tolerance = options->tolerance,
                                .epsilon = options->epsilon,
                                .active_tolerance = options->active_tolerance,
                                .damping = options->damping};
}

static struct pd_newton_shape newton_shape_of(const struct pd_newton_job *job, int kind) {
  int batch = kinds[kind].products / (job->rank + 4);
  if (batch > kinds[kind].most) batch = kinds[kind].most;
  if (batch < kinds[kind].least) batch = kinds[kind].least;
  return pd_newton_shape(job, kinds[kind].threads, batch);
}

/* Blocks whose memory lies in the device's; 0: it is shared memory. */
static int newton_scratch_blocks(const struct pd_newton_shape *large, uint64_t shared_bytes,
                                 int processors) {
  uint64_t bytes = large->numbers * sizeof(double), blocks = (uint64_t)processors * BLOCKS_EACH;
  if (bytes + SHARED_RESERVED <= shared_bytes) return 0;
  if (blocks > MOST_SCRATCH / bytes) blocks = MOST_SCRATCH / bytes;
  return blocks > 0 ? (int)blocks : 1;
}

/* Shared memory may turn out to be enough: an upper bound. */
static uint64_t cuda_newton_bytes(const struct pd_device *device,
                                  const struct pd_newton_options *options) {
  const struct pd_newton_job job = newton_job(options);
  struct pd_newton_shape large = newton_shape_of(&job, LARGEST);
  int blocks = newton_scratch_blocks(&large, 48 << 10, pd_cuda_state_of(device)->processors);
  return sizeof(struct pd_gpu_newton_found) + (uint64_t)blocks * large.numbers * sizeof(double);
}

static void cuda_newton_destroy(polyad_context *context, struct pd_newton_work *work) {
  if (work == NULL) return;
  pd_cuda_release(context, work->device, work->found);
  pd_cuda_release(context, work->device, work->scratch);
  pd_cuda_services->free(context, work);
}

static polyad_status cuda_newton_fill(polyad_context *context,
                                      const struct pd_newton_options *options,
                                      struct pd_newton_work *work) {
  const struct pd_newton_job job = newton_job(options);
  struct pd_newton_shape large = newton_shape_of(&job, LARGEST);
  PD_TRY(pd_cuda_enter(context, work->state));
  PD_TRY(
      PD_CUDA(context, work->state,
              cudaDeviceGetAttribute(&work->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                     work->device->index)));
  PD_TRY(pd_cuda_allocate(context, work->device, 1, sizeof *work->found, (void **)&work->found));
  work->scratch_blocks =
      newton_scratch_blocks(&large, (uint64_t)work->shared_bytes, work->state->processors);
  if (work->scratch_blocks == 0) return POLYAD_OK;
  return pd_cuda_allocate(context, work->device, (uint64_t)work->scratch_blocks * large.numbers,
                          sizeof *work->scratch, (void **)&work->scratch);
}

static polyad_status cuda_newton_create(polyad_context *context, const struct pd_device *device,
                                        const struct pd_newton_options *options,
                                        struct pd_newton_work **out) {
  struct pd_newton_work *work = NULL;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *work, (void **)&work));
  *work = (struct pd_newton_work){.device = device, .state = pd_cuda_state_of(device)};
  polyad_status status = cuda_newton_fill(context, options, work);
  if (status == POLYAD_OK)
    *out = work;
  else
    cuda_newton_destroy(context, work);
  return status;
}

static polyad_status cuda_newton_find_rows(polyad_context *context, const struct pd_device *device,
                                           const struct pd_row_list *list, uint64_t rows,
                                           uint64_t *first, uint64_t *end) {
  const struct pd_gpu_newton_places places = {.nnz = list->nnz,
                                              .plane = list->row.plane,
                                              .order = list->order,
                                              .shift = list->row.shift,
                                              .mask = list->row.mask,
                                              .first = first,
                                              .end = end};
  PD_CUDA_ENTER(context, device);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(first, 0, rows * sizeof *first, stream)));
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(end, 0, rows * sizeof *end, stream)));
  return PD_CUDA(context, state, pd_gpu_newton_find_rows(&places, stream));
}

static void take_mode(const struct pd_newton_mode *mode, struct pd_newton_job *job) {
  const struct pd_row_list *list = mode->list;
  job->columns = list->columns;
  for (int k = 0; k < list->columns; ++k) {
    const struct pd_matrix *factor = mode->factors[list->column_mode[k]];
    job->column[k] = (struct pd_newton_column){.plane = list->column[k].plane,
                                               .shift = list->column[k].shift,
                                               .mask = list->column[k].mask,
                                               .factor = factor->data,
                                               .stride = factor->stride};
  }
  job->first = list->first;
  job->end = list->end;
  job->order = list->order;
  job->value_at = list->value_at;
  job->values = list->values;
  job->wide_values = list->type == POLYAD_F64;
  job->wide = mode->rows->type == POLYAD_F64;
  job->factor = mode->rows->data;
  job->stride = mode->rows->stride;
  job->rows = mode->rows->rows;
  job->logarithms = mode->logarithms;
}

/* Whether two blocks of a kind fit a multiprocessor's shared memory: else longer rows' blocks take
 * their rows. */
static bool fits_twice(const struct pd_newton_work *work, const struct pd_newton_shape *shape) {
  uint64_t bytes = shape->numbers * sizeof(double) + SHARED_RESERVED;
  return work->scratch == NULL && 2 * bytes <= (uint64_t)work->shared_bytes;
}

/* Long rows come last: what they leave idle is idle once. */
static polyad_status launch_kinds(polyad_context *context, struct pd_newton_work *work,
                                  const struct pd_newton_job *job) {
  struct pd_gpu_newton_rows rows = {.scratch = work->scratch,
                                    .blocks = work->scratch_blocks,
                                    .processors = work->state->processors};
  for (int kind = 0; kind < PD_GPU_NEWTON_KINDS; ++kind) {
    rows.shape = newton_shape_of(job, kind);
    if (kind < LARGEST && !fits_twice(work, &rows.shape)) continue;
    rows.most = kinds[kind].longest > 0 ? kinds[kind].longest : (uint64_t)rows.shape.batch;
    PD_TRY(PD_CUDA(context, work->state,
                   pd_gpu_newton_solve(job, &rows, &work->found->next[kind], work->found,
                                       pd_cuda_stream(work->state))));
    rows.least = rows.most + 1;
  }
  return POLYAD_OK;
}

static polyad_status cuda_newton_solve(polyad_context *context, struct pd_newton_work *work,
                                       const struct pd_newton_options *options,
                                       const struct pd_newton_mode *mode,
                                       struct pd_newton_found *found) {
  struct pd_newton_job job = newton_job(options);
  struct pd_gpu_newton_found there;
  take_mode(mode, &job);
  PD_TRY(pd_cuda_enter(context, work->state));
  PD_TRY(
      PD_CUDA(context, work->state,
              cudaMemsetAsync(work->found, 0, sizeof *work->found, pd_cuda_stream(work->state))));
  PD_TRY(launch_kinds(context, work, &job));
  PD_TRY(
      work->device->functions->copy_out(context, work->device, &there, work->found, sizeof there));
  memcpy(&found->kkt, &there.kkt, sizeof found->kkt);
  found->inner = there.inner;
  found->changed = there.changed != 0;
  return POLYAD_OK;
}

const struct pd_newton pd_cuda_newton = {.work_bytes = cuda_newton_bytes,
                                         .work_create = cuda_newton_create,
                                         .work_destroy = cuda_newton_destroy,
                                         .find_rows = cuda_newton_find_rows,
                                         .solve = cuda_newton_solve};
