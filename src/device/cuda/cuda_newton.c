/* PDNR and PQNR on a GPU: scratch memory, what kernels get, and their launches. */
#include "device/cuda/cuda_newton_launch.h"
#include "device/cuda/cuda_state.h"
#include "linalg/newton_rows.h"
#include <string.h>

/* Blocks for rows of different lengths: their threads, and how many numbers of products, and
 * nonzeros these are of, they keep at once. Sixteen of the smallest fit a multiprocessor at
 * rank 16. Rows that would leave most of the GPU idle are solved by several blocks, in the device's
 * memory.
 */
static const struct {
  int team, threads, products, least, most;
  uint64_t longest; /* nonzeros of their rows; 0: as many as they keep at once */
} kinds[PD_GPU_NEWTON_KINDS] = {{1, 32, 1280, 8, 64, 0},
                                {1, 128, 4096, 16, 256, 4096},
                                {1, 512, 6144, 16, 512, 1 << 14},
                                {8, 8 * 512, 1 << 19, 512, 1 << 15, UINT64_MAX}};
enum {
  LARGEST = PD_GPU_NEWTON_KINDS - 2, /* of single blocks */
  TEAMS = PD_GPU_NEWTON_KINDS - 1,
  BLOCKS_EACH = 2,       /* of a multiprocessor, where their memory is not shared memory */
  SHARED_RESERVED = 1024 /* bytes of a block's shared memory that are not ours */
};
static const uint64_t MOST_SCRATCH = UINT64_C(1) << 30; /* bytes, unless one block needs more */

/* Memory of blocks, or of teams of blocks, that is the device's. */
struct newton_scratch {
  int teams; /* 0: none */
  double *memory;
};

struct pd_newton_work {
  const struct pd_device *device;
  struct pd_cuda_state *state;
  struct pd_gpu_newton_found *found;
  struct newton_scratch single, together; /* single: where shared memory is too small */
  struct pd_gpu_newton_gate *gates;       /* of `together` */
  int shared_bytes;                       /* that a block may have */
};

static struct pd_newton_shape newton_shape_of(const struct pd_newton_job *job, int kind) {
  int batch = kinds[kind].products / (job->rank + 4);
  if (batch > kinds[kind].most) batch = kinds[kind].most;
  if (batch < kinds[kind].least) batch = kinds[kind].least;
  return pd_newton_shape(job, kinds[kind].threads, batch);
}

/* How many fit into what scratch may take, of `most`. */
static int newton_scratch_teams(const struct pd_newton_shape *shape, int most) {
  uint64_t fit = MOST_SCRATCH / (shape->numbers * sizeof(double));
  return fit < 1 ? 1 : fit < (uint64_t)most ? (int)fit : most;
}

/* Blocks whose memory lies in the device's; 0: it is shared memory. */
static int newton_scratch_blocks(const struct pd_newton_job *job, uint64_t shared_bytes,
                                 int processors) {
  const struct pd_newton_shape shape = newton_shape_of(job, LARGEST);
  if (shape.numbers * sizeof(double) + SHARED_RESERVED <= shared_bytes) return 0;
  return newton_scratch_teams(&shape, processors * BLOCKS_EACH);
}

/* Teams of blocks; 0: no row is so long. */
static int newton_teams(const struct pd_newton_job *job, uint64_t longest, int processors) {
  const struct pd_newton_shape shape = newton_shape_of(job, TEAMS);
  if (longest <= kinds[LARGEST].longest || processors < kinds[TEAMS].team) return 0;
  return newton_scratch_teams(&shape, processors / kinds[TEAMS].team);
}

static uint64_t newton_scratch_numbers(const struct pd_newton_job *job, int kind, int teams) {
  return (uint64_t)teams * newton_shape_of(job, kind).numbers;
}

/* Shared memory may turn out to be enough: an upper bound. */
static uint64_t cuda_newton_bytes(const struct pd_device *device,
                                  const struct pd_newton_options *options) {
  const struct pd_newton_job job = pd_newton_job_of(options);
  int processors = pd_cuda_state_of(device)->processors;
  int blocks = newton_scratch_blocks(&job, 48 << 10, processors);
  int teams = newton_teams(&job, options->longest, processors);
  uint64_t numbers =
      newton_scratch_numbers(&job, LARGEST, blocks) + newton_scratch_numbers(&job, TEAMS, teams);
  return sizeof(struct pd_gpu_newton_found) + (uint64_t)teams * sizeof(struct pd_gpu_newton_gate) +
         numbers * sizeof(double);
}

static void cuda_newton_destroy(polyad_context *context, struct pd_newton_work *work) {
  if (work == NULL) return;
  pd_cuda_release(context, work->device, work->found);
  pd_cuda_release(context, work->device, work->gates);
  pd_cuda_release(context, work->device, work->single.memory);
  pd_cuda_release(context, work->device, work->together.memory);
  pd_cuda_services->free(context, work);
}

static polyad_status newton_allocate(polyad_context *context, const struct pd_newton_work *work,
                                     const struct pd_newton_job *job, int kind,
                                     struct newton_scratch *scratch) {
  if (scratch->teams == 0) return POLYAD_OK;
  return pd_cuda_allocate(context, work->device, newton_scratch_numbers(job, kind, scratch->teams),
                          sizeof *scratch->memory, (void **)&scratch->memory);
}

static polyad_status cuda_newton_fill(polyad_context *context,
                                      const struct pd_newton_options *options,
                                      struct pd_newton_work *work) {
  const struct pd_newton_job job = pd_newton_job_of(options);
  struct pd_cuda_state *state = work->state;
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(
      PD_CUDA(context, state,
              cudaDeviceGetAttribute(&work->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                     work->device->index)));
  PD_TRY(pd_cuda_allocate(context, work->device, 1, sizeof *work->found, (void **)&work->found));
  work->single.teams = newton_scratch_blocks(&job, (uint64_t)work->shared_bytes, state->processors);
  work->together.teams = newton_teams(&job, options->longest, state->processors);
  PD_TRY(newton_allocate(context, work, &job, LARGEST, &work->single));
  PD_TRY(newton_allocate(context, work, &job, TEAMS, &work->together));
  if (work->together.teams == 0) return POLYAD_OK;
  uint64_t teams = (uint64_t)work->together.teams;
  PD_TRY(
      pd_cuda_allocate(context, work->device, teams, sizeof *work->gates, (void **)&work->gates));
  return PD_CUDA(
      context, state,
      cudaMemsetAsync(work->gates, 0, teams * sizeof *work->gates, pd_cuda_stream(state)));
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

/* Whether blocks of a kind are launched: else those of the next kind take their rows. Two of the
 * smaller ones are to fit a multiprocessor. */
static bool newton_has_kind(const struct pd_newton_work *work, int kind,
                            const struct pd_newton_shape *shape) {
  uint64_t bytes = shape->numbers * sizeof(double) + SHARED_RESERVED;
  if (kind == TEAMS) return work->together.teams > 0;
  return kind == LARGEST || (work->single.teams == 0 && 2 * bytes <= (uint64_t)work->shared_bytes);
}

/* Long rows come last: what they leave idle is idle once. */
static polyad_status launch_kinds(polyad_context *context, struct pd_newton_work *work,
                                  const struct pd_newton_job *job) {
  struct pd_gpu_newton_rows rows = {.processors = work->state->processors, .gates = work->gates};
  for (int kind = 0; kind < PD_GPU_NEWTON_KINDS; ++kind) {
    const struct newton_scratch *scratch = kind == TEAMS ? &work->together : &work->single;
    rows.shape = newton_shape_of(job, kind);
    if (!newton_has_kind(work, kind, &rows.shape)) continue;
    rows.team = kinds[kind].team;
    rows.scratch = scratch->memory;
    rows.teams = scratch->teams;
    rows.most = kinds[kind].longest > 0 ? kinds[kind].longest : (uint64_t)rows.shape.batch;
    if (kind == LARGEST && work->together.teams == 0) rows.most = UINT64_MAX;
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
  struct pd_newton_job job = pd_newton_job_of(options);
  struct pd_gpu_newton_found there;
  pd_newton_take_mode(mode, &job);
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
