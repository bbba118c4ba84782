/* Transfers go through a ring of small pinned buffers, since pinning the arrays themselves takes
 * longer than copying them. The arrays of a long transfer are cut into pieces of one buffer each,
 * and a few threads take the pieces in turn: each has two buffers, and fills or empties one while
 * the GPU is busy with the other. One thread alone copies at a fraction of the bus's rate. */
#include "device/cuda/cuda_copy.h"
#include <omp.h>
#include <string.h>

enum {
  DIRECT_BYTES = 64 << 10,    /* the driver copies so little before it returns */
  BYTES_PER_THREAD = 4 << 20, /* a thread is worth starting for so much */
  MOST_THREADS = PD_CUDA_STAGES / 2
};

cudaError_t pd_cuda_pin_staging(struct pd_cuda_state *state) {
  if (state->pinned != NULL) return cudaSuccess;
  return cudaMallocHost(&state->pinned, PD_CUDA_STAGES * (size_t)PD_CUDA_STAGE_BYTES);
}

polyad_status pd_cuda_open_staging(polyad_context *context, struct pd_cuda_state *state) {
  if (state->pinned == NULL) PD_TRY(PD_CUDA(context, state, pd_cuda_pin_staging(state)));
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
  const struct pd_cuda_array *arrays; /* of one that goes out the first alone */
  int count;
  bool in;
  _Atomic uint64_t next; /* piece that nobody has taken, counted through all arrays */
  atomic_int code;       /* the first failure */
};

/* Bytes [at, at + part) of an array on the device. */
struct piece {
  const struct pd_cuda_array *array;
  uint64_t at, part;
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

static uint64_t pieces_of(const struct pd_cuda_array *array) {
  return (array->bytes + PD_CUDA_STAGE_BYTES - 1) / PD_CUDA_STAGE_BYTES;
}

/* Takes the next piece. */
static bool cuda_copy_take(struct transfer *transfer, struct piece *piece) {
  if (atomic_load(&transfer->code) != cudaSuccess) return false;
  uint64_t number = atomic_fetch_add(&transfer->next, 1);
  for (int k = 0; k < transfer->count; ++k) {
    const struct pd_cuda_array *array = &transfer->arrays[k];
    uint64_t pieces = pieces_of(array);
    if (number < pieces) {
      uint64_t at = number * PD_CUDA_STAGE_BYTES, left = array->bytes - at;
      *piece = (struct piece){array, at, left < PD_CUDA_STAGE_BYTES ? left : PD_CUDA_STAGE_BYTES};
      return true;
    }
    number -= pieces;
  }
  return false;
}

static void fill_stage(char *stage, const struct piece *piece) {
  const struct pd_cuda_array *array = piece->array;
  if (!array->halves) {
    memcpy(stage, (const char *)array->host + piece->at, (size_t)piece->part);
    return;
  }
  const uint32_t *from = (const uint32_t *)array->host + piece->at / sizeof(uint16_t);
  uint16_t *to = (uint16_t *)(void *)stage;
  for (uint64_t k = 0; k < piece->part / sizeof *to; ++k)
    to[k] = (uint16_t)from[k];
}

static void move_in(struct transfer *transfer, int first_stage) {
  struct piece piece;
  for (int which = 0; cuda_copy_take(transfer, &piece); which ^= 1) {
    int stage = first_stage + which;
    cudaEvent_t idle = transfer->state->stage_free[stage];
    if (!WORKS(transfer, cudaEventSynchronize(idle))) return;
    fill_stage(stage_of(transfer, stage), &piece);
    if (!WORKS(transfer,
               cudaMemcpyAsync((char *)piece.array->to + piece.at, stage_of(transfer, stage),
                               piece.part, cudaMemcpyHostToDevice, transfer->stream)))
      return;
    if (!WORKS(transfer, cudaEventRecord(idle, transfer->stream))) return;
  }
}

/* A piece that is on its way to the host. */
struct pending {
  int stage;
  struct piece piece; /* part 0: there is none */
};

static char *host_of(const struct piece *piece) {
  return (char *)(uintptr_t)piece->array->host + piece->at; /* the caller's to write */
}

static bool empty(struct transfer *transfer, const struct pending *pending) {
  if (pending->piece.part == 0) return true;
  if (!WORKS(transfer, cudaEventSynchronize(transfer->state->stage_free[pending->stage])))
    return false;
  memcpy(host_of(&pending->piece), stage_of(transfer, pending->stage), (size_t)pending->piece.part);
  return true;
}

static void move_out(struct transfer *transfer, int first_stage) {
  struct pending before = {0}, now = {.stage = first_stage};
  while (cuda_copy_take(transfer, &now.piece)) {
    if (!WORKS(transfer, cudaMemcpyAsync(stage_of(transfer, now.stage),
                                         (char *)now.piece.array->to + now.piece.at, now.piece.part,
                                         cudaMemcpyDeviceToHost, transfer->stream)))
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
  if (number > 0 && !WORKS(transfer, cudaSetDevice(transfer->state->device.index))) return;
  if (transfer->in)
    move_in(transfer, 2 * number);
  else
    move_out(transfer, 2 * number);
}

static int cuda_copy_threads_for(const polyad_context *context, uint64_t bytes) {
  uint64_t worth = bytes / BYTES_PER_THREAD;
  int threads = pd_cuda_services->threads(context);
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  if (worth < (uint64_t)threads) threads = (int)worth;
  return threads < 1 ? 1 : threads;
}

/* The threads are OpenMP's, which are there since the tensor was read; where fewer come they take
 * more pieces each. */
static polyad_status run_transfer(polyad_context *context, struct transfer *transfer) {
  uint64_t bytes = 0;
  for (int k = 0; k < transfer->count; ++k)
    bytes += transfer->arrays[k].bytes;
  int threads = cuda_copy_threads_for(context, bytes);
  pthread_mutex_lock(&transfer->state->lock);
#pragma omp parallel num_threads(threads)
  cuda_copy_move(transfer, omp_get_thread_num());
  pthread_mutex_unlock(&transfer->state->lock);
  return pd_cuda_check(context, transfer->state, (cudaError_t)atomic_load(&transfer->code),
                       transfer->in ? "a copy to the device" : "a copy from the device");
}

polyad_status pd_cuda_copy_all_in(polyad_context *context, const struct pd_device *device,
                                  int count, const struct pd_cuda_array *arrays) {
  PD_CUDA_ENTER(context, device);
  struct transfer transfer = {
      .state = state, .stream = stream, .arrays = arrays, .count = count, .in = true};
  return run_transfer(context, &transfer);
}

polyad_status pd_cuda_copy_in(polyad_context *context, const struct pd_device *device, void *to,
                              const void *from_host, uint64_t bytes) {
  const struct pd_cuda_array array = {.to = to, .host = from_host, .bytes = bytes};
  PD_CUDA_ENTER(context, device);
  if (bytes == 0) return POLYAD_OK;
  if (bytes <= DIRECT_BYTES)
    return PD_CUDA(context, state,
                   cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream));
  return pd_cuda_copy_all_in(context, device, 1, &array);
}

polyad_status pd_cuda_copy_out(polyad_context *context, const struct pd_device *device,
                               void *to_host, const void *from, uint64_t bytes) {
  const struct pd_cuda_array array = {
      .to = (void *)(uintptr_t)from, .host = to_host, .bytes = bytes}; /* the way back */
  PD_CUDA_ENTER(context, device);
  if (bytes == 0) return POLYAD_OK;
  struct transfer transfer = {.state = state, .stream = stream, .arrays = &array, .count = 1};
  return run_transfer(context, &transfer);
}
