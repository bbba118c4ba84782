/* Scratch memory of the dense algebra on a GPU. */
#include "device/cuda/cuda_linalg_work.h"

/* Numbers that one rank needs, by purpose. */
struct sizes {
  uint64_t square, invert, sums, partial, total;
};

static struct sizes sizes_of(uint64_t rank) {
  struct sizes size;
  int parts = pd_gpu_gram_parts(UINT64_MAX / 2, (int)rank);
  int blocks = pd_gpu_row_blocks(UINT64_MAX / 2, (int)rank);
  if (rank <= PD_GPU_RANK_PASS && parts < PD_GPU_PASS_BLOCKS) parts = PD_GPU_PASS_BLOCKS;
  if (rank <= PD_GPU_RANK_PASS && blocks < PD_GPU_PASS_BLOCKS) blocks = PD_GPU_PASS_BLOCKS;
  size.square = rank * rank;
  size.invert = 2 * size.square + 2 * rank + 2;
  size.sums = (uint64_t)blocks * PD_GPU_COLUMN_SUMS * rank;
  size.partial = (uint64_t)parts * size.square;
  size.total = PD_GPU_SCALARS + 2 * rank + size.square + size.invert + size.sums + size.partial +
               2 * PD_GPU_RESIDUAL_BLOCKS;
  return size;
}

uint64_t pd_cuda_work_bytes(uint64_t rank, int threads) {
  (void)threads;
  if (rank > PD_GPU_RANK_MAX) return UINT64_MAX;
  return sizes_of(rank).total * sizeof(double);
}

void pd_cuda_work_destroy(polyad_context *context, struct pd_linalg_work *work) {
  if (work == NULL) return;
  pd_cuda_release(context, work->device, work->memory);
  pd_cuda_release(context, work->device, work->mine);
  pd_cuda_release(context, work->device, work->gathered);
  if (work->host != NULL && cudaFreeHost(work->host) != cudaSuccess) (void)cudaGetLastError();
  if (work->side != NULL && cudaStreamDestroy(work->side) != cudaSuccess) (void)cudaGetLastError();
  if (work->fork != NULL && cudaEventDestroy(work->fork) != cudaSuccess) (void)cudaGetLastError();
  if (work->joined != NULL && cudaEventDestroy(work->joined) != cudaSuccess)
    (void)cudaGetLastError();
  if (work->arrived != NULL && cudaEventDestroy(work->arrived) != cudaSuccess)
    (void)cudaGetLastError();
  pd_cuda_services->free(context, work);
}

/* The side has no priority: its blocks, which fill a processor each, would hold up an MTTKRP that
 * takes longer than they may. */
static polyad_status create_side(polyad_context *context, struct pd_linalg_work *work) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  cudaEvent_t *const events[] = {&work->fork, &work->joined, &work->arrived};
  PD_TRY(PD_CUDA(context, state, cudaStreamCreateWithFlags(&work->side, cudaStreamNonBlocking)));
  for (size_t k = 0; k < sizeof events / sizeof *events; ++k)
    PD_TRY(PD_CUDA(context, state, cudaEventCreateWithFlags(events[k], cudaEventDisableTiming)));
  return POLYAD_OK;
}

polyad_status pd_cuda_work_create(polyad_context *context, const struct pd_device *device,
                                  uint64_t rank, struct pd_linalg_work **out) {
  struct pd_linalg_work *work = NULL;
  *out = NULL;
  if (rank > PD_GPU_RANK_MAX)
    return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                  "rank %llu found; expected at most %d: no GPU holds the "
                                  "matrices of that many rows and columns",
                                  (unsigned long long)rank, PD_GPU_RANK_MAX);
  PD_CUDA_ENTER(context, device);
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *work, (void **)&work));
  *work =
      (struct pd_linalg_work){.device = device, .rank = (int)rank, .processors = state->processors};
  struct sizes size = sizes_of(rank);
  polyad_status status =
      pd_cuda_allocate(context, device, size.total, sizeof(double), (void **)&work->memory);
  if (status == POLYAD_OK) status = create_side(context, work);
  if (status == POLYAD_OK)
    status = PD_CUDA(context, state,
                     cudaMemsetAsync(work->memory, 0, size.total * sizeof(double), stream));
  if (status != POLYAD_OK) {
    pd_cuda_work_destroy(context, work);
    return status;
  }
  double *next = work->memory;
  work->scalars = next;
  work->factor = (next += PD_GPU_SCALARS);
  work->squares = (next += rank);
  work->inverse = (next += rank);
  work->invert = (next += size.square);
  work->sums = (next += size.invert);
  work->partial = (next += size.sums);
  work->residual = next + size.partial;
  *out = work;
  return POLYAD_OK;
}

polyad_status pd_cuda_work_host(polyad_context *context, int runs, struct pd_linalg_work *work) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  if (runs <= work->host_runs) return POLYAD_OK;
  uint64_t room = runs > 1 ? PD_RUNS_AT_ONCE : 1;
  if (work->host != NULL && cudaFreeHost(work->host) != cudaSuccess) (void)cudaGetLastError();
  work->host = NULL;
  work->host_runs = 0;
  PD_TRY(PD_CUDA(context, state,
                 cudaMallocHost((void **)&work->host, room * PD_GPU_SCALARS * sizeof(double))));
  if (runs > 1)
    PD_TRY(pd_cuda_allocate(context, work->device, room * PD_GPU_SCALARS, sizeof(double),
                            (void **)&work->gathered));
  work->host_runs = (int)room;
  return POLYAD_OK;
}
