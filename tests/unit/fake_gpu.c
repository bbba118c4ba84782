/* CUDA and NCCL as far as a member of a team calls them (src/device/cuda/cuda_nccl.c), for machines
 * that have neither. No data move. What is kept is who waits for whom:
 *
 * - An operation is done when all members have enqueued it or its communicator has been aborted. A
 *   stream is a list of operations; an event is a place in the list, and has passed when all
 *   operations before it are done.
 * - The first group and the first gather of a communicator connect its members: as in NCCL, the
 *   host's call returns when all members have made it. Where one does not come within
 *   LEFT_SECONDS, the call fails and fake_gpu_left() counts it; NCCL would wait for ever. */
#include "fake_gpu.h"
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_OPERATIONS = 64, MOST_COMMUNICATORS = 16, MOST_STREAMS = 16, LEFT_SECONDS = 3 };
enum { GROUPS, GATHERS, KINDS };

struct meeting { /* one operation of all members */
  int entered;
};

struct clique { /* members with the same ticket */
  int64_t ticket;
  int joined;
  struct meeting meeting[MOST_OPERATIONS], connecting[KINDS];
};

struct communicator {
  struct clique *clique;
  int size, operations;
  bool aborted, connected[KINDS];
};

struct CUstream_st {
  int count;
  struct {
    const struct communicator *of;
    const struct meeting *meeting;
  } operation[MOST_OPERATIONS];
};

struct CUevent_st {
  cudaStream_t stream;
  int place;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct clique clique[MOST_COMMUNICATORS];
static struct communicator communicator[MOST_COMMUNICATORS];
static struct CUstream_st stream_of[MOST_STREAMS];
static int cliques, communicators, left;
static int64_t tickets;
static _Thread_local struct {
  struct communicator *of;
  cudaStream_t stream;
} group;

/* ---- for tests ------------------------------------------------------------------------------- */

cudaStream_t fake_gpu_stream(int device) { return &stream_of[device]; }

void fake_gpu_begin(void) {
  pthread_mutex_lock(&lock);
  memset(clique, 0, sizeof clique);
  memset(communicator, 0, sizeof communicator);
  memset(stream_of, 0, sizeof stream_of);
  cliques = communicators = left = 0;
  pthread_mutex_unlock(&lock);
}

int fake_gpu_left(void) {
  pthread_mutex_lock(&lock);
  int count = left;
  pthread_mutex_unlock(&lock);
  return count;
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

/* The lock is held. */
static bool is_done(const struct CUstream_st *stream, int place) {
  for (int k = 0; k < place; ++k)
    if (!stream->operation[k].of->aborted &&
        stream->operation[k].meeting->entered < stream->operation[k].of->size)
      return false;
  return true;
}

cudaError_t cudaSetDevice(int device) {
  return device < MOST_STREAMS ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error that a test has planted";
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  *pointer = malloc(bytes);
  return *pointer != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void *pointer) {
  free(pointer);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  (void)kind, (void)stream;
  memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof **event);
  return *event != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  pthread_mutex_lock(&lock);
  *event = (struct CUevent_st){stream, stream->count};
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  pthread_mutex_lock(&lock);
  bool passed = event->stream == NULL || is_done(event->stream, event->place);
  pthread_mutex_unlock(&lock);
  return passed ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  pthread_mutex_lock(&lock);
  while (!is_done(stream, stream->count))
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

enum { FAKE_SUCCESS = 0, FAKE_ERROR = 6 };

/* Waits until `count` has reached the size, with the lock held. */
static bool all_have_come(const int *count, int size) {
  struct timespec until;
  (void)clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += LEFT_SECONDS;
  while (*count < size)
    if (pthread_cond_timedwait(&changed, &lock, &until) != 0) {
      ++left;
      return false;
    }
  return true;
}

const char *ncclGetErrorString(int code) {
  return code == FAKE_SUCCESS ? "no error" : "a member did not come";
}

int ncclGetUniqueId(fake_ticket *ticket) {
  pthread_mutex_lock(&lock);
  ++tickets;
  memcpy(ticket->internal, &tickets, sizeof tickets);
  pthread_mutex_unlock(&lock);
  return FAKE_SUCCESS;
}

/* The lock is held. */
static struct clique *clique_of(int64_t ticket) {
  for (int k = 0; k < cliques; ++k)
    if (clique[k].ticket == ticket) return &clique[k];
  clique[cliques].ticket = ticket;
  return &clique[cliques++];
}

int ncclCommInitRank(struct communicator **made, int size, fake_ticket ticket, int rank) {
  (void)rank;
  int64_t number;
  memcpy(&number, ticket.internal, sizeof number);
  pthread_mutex_lock(&lock);
  struct communicator *mine = &communicator[communicators++];
  *mine = (struct communicator){.clique = clique_of(number), .size = size};
  ++mine->clique->joined;
  pthread_cond_broadcast(&changed);
  bool all = all_have_come(&mine->clique->joined, size);
  pthread_mutex_unlock(&lock);
  *made = mine;
  return all ? FAKE_SUCCESS : FAKE_ERROR;
}

int ncclCommAbort(struct communicator *of) {
  pthread_mutex_lock(&lock);
  of->aborted = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return FAKE_SUCCESS;
}
int ncclCommDestroy(struct communicator *of) { return ncclCommAbort(of); }

static int enqueue(struct communicator *of, cudaStream_t stream, int kind) {
  struct clique *with = of->clique;
  bool all = true;
  pthread_mutex_lock(&lock);
  if (!of->connected[kind]) {
    ++with->connecting[kind].entered;
    pthread_cond_broadcast(&changed);
    all = all_have_come(&with->connecting[kind].entered, of->size);
    of->connected[kind] = all;
  }
  if (all) {
    struct meeting *meeting = &with->meeting[of->operations++];
    ++meeting->entered;
    stream->operation[stream->count].of = of;
    stream->operation[stream->count++].meeting = meeting;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return all ? FAKE_SUCCESS : FAKE_ERROR;
}

int ncclGroupStart(void) {
  group.of = NULL;
  return FAKE_SUCCESS;
}
static int add_to_group(struct communicator *of, cudaStream_t stream) {
  group.of = of;
  group.stream = stream;
  return FAKE_SUCCESS;
}
int ncclSend(const void *data, size_t count, int type, int peer, struct communicator *of,
             cudaStream_t stream) {
  (void)data, (void)count, (void)type, (void)peer;
  return add_to_group(of, stream);
}
int ncclRecv(void *data, size_t count, int type, int peer, struct communicator *of,
             cudaStream_t stream) {
  (void)data, (void)count, (void)type, (void)peer;
  return add_to_group(of, stream);
}
int ncclGroupEnd(void) {
  return group.of == NULL ? FAKE_SUCCESS : enqueue(group.of, group.stream, GROUPS);
}
int ncclAllGather(const void *mine, void *all, size_t count, int type, struct communicator *of,
                  cudaStream_t stream) {
  (void)mine, (void)all, (void)count, (void)type;
  return enqueue(of, stream, GATHERS);
}
