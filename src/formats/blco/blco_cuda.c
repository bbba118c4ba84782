/* MTTKRP of "blco" on a GPU: nonzeros on the device, or in the host's memory and streamed. */
#include "device/cuda/cuda_sum.h"
#include "formats/blco/blco_gpu.h"
#include "formats/blco/blco_layout.h"
#include "formats/nonzeros/nonzeros_copies.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/tables.h"

enum { BATCH_TILES = 1 << 14, BUFFERS = 3 };

/** Where a batch of nonzeros is while it is computed. */
struct buffer {
  uint64_t *key;
  void *values;
  cudaEvent_t ready, done;
};

struct scratch {
  struct pd_scratch base;
  void *copies;
  uint64_t batch; /* tiles; 0: not streamed */
  cudaStream_t stream;
  cudaEvent_t begin;
  uint64_t passes; /* through the batches */
  struct buffer buffer[BUFFERS];
};

static uint64_t blco_cuda_tiles_of(const struct pd_blco *blco) {
  return (blco->head.nnz + PD_BLCO_TILE - 1) / PD_BLCO_TILE;
}

static uint64_t batch_tiles(const struct pd_blco *blco) {
  uint64_t batch = blco_cuda_tiles_of(blco) / 8;
  return batch < 1 ? 1 : batch > BATCH_TILES ? BATCH_TILES : batch;
}

static uint64_t blco_cuda_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_blco *blco = storage;
  uint64_t size = pd_type_bytes(blco->head.type);
  uint64_t wide = pd_cuda_wide_columns(blco->head.type, rank);
  uint64_t bytes = pd_mul_saturated(pd_nz_copies_numbers(&blco->head, wide), size);
  if (blco->stream) bytes += BUFFERS * batch_tiles(blco) * PD_BLCO_TILE * (8 + size);
  return bytes;
}

static void blco_cuda_clear(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  (void)context;
  for (int k = 0; k < BUFFERS; ++k) {
    if (scratch->buffer[k].ready != NULL) (void)cudaEventDestroy(scratch->buffer[k].ready);
    if (scratch->buffer[k].done != NULL) (void)cudaEventDestroy(scratch->buffer[k].done);
  }
  if (scratch->begin != NULL) (void)cudaEventDestroy(scratch->begin);
  if (scratch->stream != NULL) (void)cudaStreamDestroy(scratch->stream);
}

static polyad_status blco_cuda_open_stream(polyad_context *context, const struct pd_blco *blco,
                                           struct scratch *scratch) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  size_t size = pd_type_bytes(blco->head.type);
  scratch->batch = batch_tiles(blco);
  PD_TRY(
      PD_CUDA(context, state, cudaStreamCreateWithFlags(&scratch->stream, cudaStreamNonBlocking)));
  PD_TRY(
      PD_CUDA(context, state, cudaEventCreateWithFlags(&scratch->begin, cudaEventDisableTiming)));
  for (int k = 0; k < BUFFERS; ++k) {
    struct buffer *buffer = &scratch->buffer[k];
    PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, scratch->batch * PD_BLCO_TILE,
                           sizeof *buffer->key, &buffer->key));
    PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, scratch->batch * PD_BLCO_TILE, size,
                           &buffer->values));
    PD_TRY(
        PD_CUDA(context, state, cudaEventCreateWithFlags(&buffer->ready, cudaEventDisableTiming)));
    PD_TRY(
        PD_CUDA(context, state, cudaEventCreateWithFlags(&buffer->done, cudaEventDisableTiming)));
  }
  return POLYAD_OK;
}

static polyad_status blco_cuda_fill(polyad_context *context, const void *storage,
                                    const uint64_t *ranks, void *pointer) {
  const struct pd_blco *blco = storage;
  struct scratch *scratch = pointer;
  if (ranks[0] > INT32_MAX / 16)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                  (unsigned long long)ranks[0]);
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(scratch->base.device)));
  uint64_t wide = pd_cuda_wide_columns(blco->head.type, ranks[0]);
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, pd_nz_copies_numbers(&blco->head, wide),
                         pd_type_bytes(blco->head.type), &scratch->copies));
  return blco->stream ? blco_cuda_open_stream(context, blco, scratch) : POLYAD_OK;
}

/* One call. */
struct job {
  struct pd_cuda_state *state;
  const struct pd_blco *blco;
  struct scratch *scratch;
  struct pd_blco_launch launch;
  int aligned;
  polyad_type type;
};

static int blco_cuda_prepare(const struct pd_blco *blco, int mode,
                             const struct pd_matrix *const *factors, struct pd_matrix *out,
                             struct pd_blco_launch *launch) {
  struct pd_nz_device_list list = {.levels = blco->head.order};
  list.list.nnz = blco->head.nnz;
  list.list.values = blco->values;
  for (int n = 0; n < blco->head.order; ++n)
    list.level[n] = n;
  *launch = (struct pd_blco_launch){.key = blco->key,
                                    .tile_block = blco->tile_block,
                                    .start = blco->start,
                                    .row_bits = out->rows < 2 ? 1 : pd_bit_length(out->rows - 1)};
  for (int n = 0; n < blco->head.order; ++n) {
    launch->base[n] = blco->base[n];
    launch->shift[n] = blco->shift[n];
    launch->mask[n] = pd_low_mask(blco->bits[n]);
  }
  return pd_nz_prepare(&list, mode, factors, out, &launch->nz);
}

static polyad_status blco_cuda_start(polyad_context *context, const struct job *job,
                                     const struct pd_blco_launch *launch) {
  cudaStream_t stream = pd_cuda_stream(job->state);
  if (job->type == POLYAD_F32)
    return PD_CUDA(context, job->state, pd_blco_add_f32(launch, job->aligned, stream));
  return PD_CUDA(context, job->state, pd_blco_add_f64(launch, job->aligned, stream));
}

/* Copies the tiles into the buffer and computes them, each as soon as the other permits. */
static polyad_status run_batch(polyad_context *context, const struct job *job,
                               struct buffer *buffer, uint64_t first, uint64_t tiles) {
  struct pd_cuda_state *state = job->state;
  struct scratch *scratch = job->scratch;
  const struct pd_blco *blco = job->blco;
  struct pd_blco_launch launch = job->launch;
  size_t size = pd_type_bytes(job->type);
  uint64_t begin = first * PD_BLCO_TILE, end = begin + tiles * PD_BLCO_TILE;
  if (end > blco->head.nnz) end = blco->head.nnz;
  PD_TRY(PD_CUDA(context, state, cudaStreamWaitEvent(scratch->stream, buffer->done, 0)));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(buffer->key, blco->key + begin, (end - begin) * sizeof *blco->key,
                                 cudaMemcpyHostToDevice, scratch->stream)));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(buffer->values, (const char *)blco->values + begin * size,
                                 (end - begin) * size, cudaMemcpyHostToDevice, scratch->stream)));
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(buffer->ready, scratch->stream)));
  PD_TRY(PD_CUDA(context, state, cudaStreamWaitEvent(pd_cuda_stream(state), buffer->ready, 0)));
  launch.first_tile = first;
  launch.tiles = tiles;
  launch.offset = begin;
  launch.key = buffer->key;
  launch.nz.list.values = buffer->values;
  PD_TRY(blco_cuda_start(context, job, &launch));
  return PD_CUDA(context, state, cudaEventRecord(buffer->done, pd_cuda_stream(state)));
}

static polyad_status run_streamed(polyad_context *context, const struct job *job) {
  struct pd_cuda_state *state = job->state;
  struct scratch *scratch = job->scratch;
  uint64_t all = blco_cuda_tiles_of(job->blco);
  ++scratch->passes;
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(scratch->begin, pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state, cudaStreamWaitEvent(scratch->stream, scratch->begin, 0)));
  for (uint64_t first = 0, k = 0; first < all; first += scratch->batch, ++k) {
    uint64_t tiles = all - first < scratch->batch ? all - first : scratch->batch;
    PD_TRY(run_batch(context, job, &scratch->buffer[k % BUFFERS], first, tiles));
  }
  return POLYAD_OK;
}

static polyad_status blco_cuda_run(polyad_context *context, const void *storage, void *workspace,
                                   const struct pd_call *call) {
  struct pd_matrix *out = call->out;
  struct scratch *scratch = workspace;
  struct job job = {.state = pd_cuda_state_of(scratch->base.device),
                    .blco = storage,
                    .scratch = scratch,
                    .type = out->type};
  struct pd_blco_launch *launch = &job.launch;
  PD_TRY(pd_cuda_enter(context, job.state));
  job.aligned = blco_cuda_prepare(job.blco, call->mode, call->factors, out, launch);
  PD_TRY(pd_nz_copies_begin(context, job.state, scratch->copies, out, &launch->nz.out));
  if (job.blco->head.nnz > 0 && job.blco->stream) {
    PD_TRY(run_streamed(context, &job));
  } else if (job.blco->head.nnz > 0) {
    launch->tiles = blco_cuda_tiles_of(job.blco);
    PD_TRY(blco_cuda_start(context, &job, launch));
  }
  return pd_nz_copies_end(context, job.state, &launch->nz.out, out);
}

/* Batches wait for those of the pass before, which no record of a round could. */
static uint64_t blco_cuda_position(const void *workspace) {
  return ((const struct scratch *)workspace)->passes;
}

static const struct pd_walk blco_cuda_tiles = {
    .ops = PD_OPS_MTTKRP,
    .any_order = true,
    .workspace_bytes = blco_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = blco_cuda_fill,
    .clear = blco_cuda_clear,
    .run = blco_cuda_run,
};

const struct polyad_kernels pd_blco_kernels_cuda = {
    .format = "blco",
    .device = "cuda",
    .walks = {&blco_cuda_tiles},
    .position = blco_cuda_position,
};
