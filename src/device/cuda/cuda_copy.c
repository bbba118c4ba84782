/* Transfers go through a ring of small pinned buffers, since pinning the arrays themselves takes
 * longer than copying them. A long transfer is cut into pieces of one buffer each, and a few
 * threads take the pieces in turn: each has two buffers, and fills or empties one while the GPU is
 * busy with the other. One thread alone copies at a fraction of the bus's rate. */
#include "device/cuda/cuda_copy.h"
#include <string.h>

enum {
  DIRECT_BYTES = 64 << 10,    /* the driver copies so little before it returns */
  BYTES_PER_THREAD = 4 << 20, /* a thread is worth starting for so much */
  MOST_THREADS = PD_CUDA_STAGES / 2
};

polyad_status pd_cuda_open_staging(polyad_context *context, struct pd_cuda_state *state) {
  if (state->pinned == NULL)
    PD_TRY(PD_CUDA(context, state,
                   cudaMallocHost(&state->pinned, PD_CUDA_STAGES * (size_t)PD_CUDA_STAGE_BYTES)));
  for (int k = 0; k < PD_CUDA_STAGES; ++k) {
    cudaEvent_t *idle = &state->stage_free[k];
    if (*idle == NULL)
      PD_TRY(PD_CUDA(context, state, cudaEventCreateWithFlags(idle, cudaEventDisableTiming)));
    PD_TRY(PD_CUDA(context, state, cudaEventRecord(*idle, pd_cuda_stream(state))));
  }
  return POLYAD_OK;
}

/* One transfer that threads share. */
struct transfer {
  struct pd_cuda_state *state;
  cudaStream_t stream;
  char *device, *host;
  uint64_t bytes;
  bool in;
  _Atomic uint64_t next; /* piece that nobody has taken */
  atomic_int code;       /* the first failure */
};

struct worker {
  struct transfer *transfer;
  int number;
  pthread_t thread;
};

static bool works(struct transfer *transfer, cudaError_t code) {
  int success = cudaSuccess;
  if (code != cudaSuccess)
    (void)atomic_compare_exchange_strong(&transfer->code, &success, (int)code);
  return code == cudaSuccess;
}

/* As PD_CUDA() does, but that the thread which started the transfer reports the error. */
#define WORKS(transfer, call) works(transfer, pd_cuda_refuses() ? cudaErrorUnknown : (call))

static char *stage_of(const struct transfer *transfer, int stage) {
  return (char *)transfer->state->pinned + (size_t)stage * PD_CUDA_STAGE_BYTES;
}

/* Takes the next piece. */
static bool cuda_copy_take(struct transfer *transfer, uint64_t *at, uint64_t *part) {
  if (atomic_load(&transfer->code) != cudaSuccess) return false;
  *at = atomic_fetch_add(&transfer->next, 1) * PD_CUDA_STAGE_BYTES;
  if (*at >= transfer->bytes) return false;
  uint64_t left = transfer->bytes - *at;
  *part = left < PD_CUDA_STAGE_BYTES ? left : PD_CUDA_STAGE_BYTES;
  return true;
}

static void move_in(struct transfer *transfer, int first_stage) {
  uint64_t at, part;
  for (int which = 0; cuda_copy_take(transfer, &at, &part); which ^= 1) {
    int stage = first_stage + which;
    cudaEvent_t idle = transfer->state->stage_free[stage];
    if (!WORKS(transfer, cudaEventSynchronize(idle))) return;
    memcpy(stage_of(transfer, stage), transfer->host + at, (size_t)part);
    if (!WORKS(transfer, cudaMemcpyAsync(transfer->device + at, stage_of(transfer, stage), part,
                                         cudaMemcpyHostToDevice, transfer->stream)))
      return;
    if (!WORKS(transfer, cudaEventRecord(idle, transfer->stream))) return;
  }
}

/* A piece that is on its way to the host. */
struct pending {
  int stage;
  uint64_t at, part; /* part 0: there is none */
};

static bool empty(struct transfer *transfer, const struct pending *pending) {
  if (pending->part == 0) return true;
  if (!WORKS(transfer, cudaEventSynchronize(transfer->state->stage_free[pending->stage])))
    return false;
  memcpy(transfer->host + pending->at, stage_of(transfer, pending->stage), (size_t)pending->part);
  return true;
}

static void move_out(struct transfer *transfer, int first_stage) {
  struct pending before = {0}, now = {.stage = first_stage};
  while (cuda_copy_take(transfer, &now.at, &now.part)) {
    if (!WORKS(transfer, cudaMemcpyAsync(stage_of(transfer, now.stage), transfer->device + now.at,
                                         now.part, cudaMemcpyDeviceToHost, transfer->stream)))
      return;
    if (!WORKS(transfer, cudaEventRecord(transfer->state->stage_free[now.stage], transfer->stream)))
      return;
    if (!empty(transfer, &before)) return;
    before = now;
    now.stage = first_stage + (now.stage == first_stage);
  }
  (void)empty(transfer, &before);
}

static void cuda_copy_move(struct transfer *transfer, int number) {
  if (transfer->in)
    move_in(transfer, 2 * number);
  else
    move_out(transfer, 2 * number);
}

static void *run_worker(void *user) {
  struct worker *worker = user;
  struct transfer *transfer = worker->transfer;
  if (WORKS(transfer, cudaSetDevice(transfer->state->device.index)))
    cuda_copy_move(transfer, worker->number);
  return NULL;
}

static int cuda_copy_threads_for(const polyad_context *context, uint64_t bytes) {
  uint64_t worth = bytes / BYTES_PER_THREAD;
  int threads = pd_cuda_services->threads(context);
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  if (worth < (uint64_t)threads) threads = (int)worth;
  return threads < 1 ? 1 : threads;
}

/* The calling thread is worker 0; where others cannot be started it does all by itself. */
static polyad_status run_transfer(polyad_context *context, struct transfer *transfer) {
  struct worker workers[MOST_THREADS];
  int threads = cuda_copy_threads_for(context, transfer->bytes), started = 1;
  pthread_mutex_lock(&transfer->state->lock);
  for (; started < threads; ++started) {
    struct worker *worker = &workers[started];
    *worker = (struct worker){.transfer = transfer, .number = started};
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0) break;
  }
  cuda_copy_move(transfer, 0);
  for (int k = 1; k < started; ++k)
    (void)pthread_join(workers[k].thread, NULL);
  pthread_mutex_unlock(&transfer->state->lock);
  return pd_cuda_check(context, transfer->state, (cudaError_t)atomic_load(&transfer->code),
                       transfer->in ? "a copy to the device" : "a copy from the device");
}

polyad_status pd_cuda_copy_in(polyad_context *context, const struct pd_device *device, void *to,
                              const void *from_host, uint64_t bytes) {
  PD_CUDA_ENTER(context, device);
  if (bytes == 0) return POLYAD_OK;
  if (bytes <= DIRECT_BYTES)
    return PD_CUDA(context, state,
                   cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream));
  struct transfer transfer = {.state = state,
                              .stream = stream,
                              .device = to,
                              .host = (char *)from_host, /* only read */
                              .bytes = bytes,
                              .in = true};
  return run_transfer(context, &transfer);
}

polyad_status pd_cuda_copy_out(polyad_context *context, const struct pd_device *device,
                               void *to_host, const void *from, uint64_t bytes) {
  PD_CUDA_ENTER(context, device);
  if (bytes == 0) return POLYAD_OK;
  struct transfer transfer = {.state = state,
                              .stream = stream,
                              .device = (char *)from, /* only read */
                              .host = to_host,
                              .bytes = bytes};
  return run_transfer(context, &transfer);
}
