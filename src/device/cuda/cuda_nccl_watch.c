/* Members of a team meet on their hosts before each operation of NCCL, so that all enqueue it at
 * about the same time. Where one of them fails just then, or its process dies, the operation of the
 * others never ends, and whoever waits for their streams waits for ever. So a thread looks at each
 * member's last operations a few times in a second: one that has begun on the GPU, all earlier work
 * being done, and has not ended after a time is given up. NCCL then ends what runs on the GPU, so
 * that whatever the host waits for comes; since the numbers are worth nothing, every later call on
 * this GPU fails (pd_cuda_check()) until the team ends. The time is 30 seconds, or those that the
 * environment variable POLYAD_NCCL_TIMEOUT says (0: for ever).
 *
 * What this does not see: a GPU that hangs in a kernel of its own, and a host that hangs in NCCL or
 * in the driver. */
#include "device/cuda/cuda_nccl.h"
#include <stdlib.h>
#include <time.h>

enum { USUAL_SECONDS = 30, MOST_SECONDS = 1000000, LOOK_NANOSECONDS = 100000000 };

/* ---- the thread ------------------------------------------------------------------------------ */

struct watch {
  struct pd_nccl_member *member;
  uint64_t done;  /* operations that have ended */
  uint64_t first; /* the one that has been seen at the head of the stream ... */
  double since;   /* ... since then; 0: none */
};

static double nccl_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 0: for ever. */
static double limit_seconds(void) {
  const char *named = getenv("POLYAD_NCCL_TIMEOUT");
  if (named == NULL || *named == '\0') return USUAL_SECONDS;
  char *end;
  double limit = strtod(named, &end);
  return *end == '\0' && limit >= 0 && limit <= MOST_SECONDS ? limit : USUAL_SECONDS;
}

static bool passed(cudaEvent_t event) {
  cudaError_t code = cudaEventQuery(event);
  if (code != cudaSuccess) (void)cudaGetLastError();
  return code == cudaSuccess;
}

/* How long the operation at the head of the stream has been there; 0: there is none. */
static double waits(struct watch *watch, double now) {
  struct pd_nccl_member *member = watch->member;
  uint64_t asked = atomic_load(&member->asked);
  /* The events of the oldest of PD_NCCL_WATCHED may be in use again. */
  if (asked >= watch->done + PD_NCCL_WATCHED) watch->done = asked - PD_NCCL_WATCHED + 1;
  while (watch->done < asked && passed(member->ends[watch->done % PD_NCCL_WATCHED]))
    ++watch->done;
  if (watch->done == asked || !passed(member->begins[watch->done % PD_NCCL_WATCHED])) {
    watch->since = 0;
    return 0;
  }
  if (watch->since == 0 || watch->first != watch->done) {
    watch->first = watch->done;
    watch->since = now;
  }
  return now - watch->since;
}

/* The lock is held. */
static void give_up(struct pd_nccl_member *member, double seconds) {
  nccl_comm comm = member->comm;
  member->comm = NULL;
  atomic_store(&member->gave_up, true);
  atomic_store(&member->device->gave_up, seconds < 1 ? 1 : (int)seconds);
  (void)member->abort_comm(comm);
}

static void *watch_member(void *user) {
  struct pd_nccl_member *member = user;
  struct watch watch = {.member = member};
  if (cudaSetDevice(member->device->device.index) != cudaSuccess) (void)cudaGetLastError();
  pthread_mutex_lock(&member->lock);
  while (!member->leaving) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&member->leaves, &member->lock, &until);
    if (member->leaving || member->comm == NULL) continue;
    double seconds = waits(&watch, nccl_seconds());
    if (member->limit > 0 && seconds > member->limit) give_up(member, seconds);
  }
  pthread_mutex_unlock(&member->lock);
  return NULL;
}

/* ---- a member -------------------------------------------------------------------------------- */

static polyad_status make_events(polyad_context *context, struct pd_nccl_member *member) {
  for (int k = 0; k < PD_NCCL_WATCHED; ++k) {
    PD_TRY(PD_CUDA(context, member->device,
                   cudaEventCreateWithFlags(&member->begins[k], cudaEventDisableTiming)));
    PD_TRY(PD_CUDA(context, member->device,
                   cudaEventCreateWithFlags(&member->ends[k], cudaEventDisableTiming)));
  }
  return POLYAD_OK;
}

polyad_status pd_nccl_watch_begin(polyad_context *context, struct pd_nccl_member *member,
                                  int (*abort_comm)(nccl_comm comm)) {
  pthread_mutex_init(&member->lock, NULL);
  pthread_cond_init(&member->leaves, NULL);
  member->made = true;
  PD_TRY(make_events(context, member));
  member->abort_comm = abort_comm;
  member->limit = limit_seconds();
  member->watched = pthread_create(&member->watcher, NULL, watch_member, member) == 0;
  if (member->watched) return POLYAD_OK;
  return pd_cuda_services->fail(context, POLYAD_OUT_OF_MEMORY,
                                "no thread can be started that watches over NCCL");
}

void pd_nccl_watch_end(struct pd_nccl_member *member) {
  if (!member->made) return;
  pthread_mutex_lock(&member->lock);
  member->leaving = true;
  pthread_cond_signal(&member->leaves);
  pthread_mutex_unlock(&member->lock);
  if (member->watched) (void)pthread_join(member->watcher, NULL);
  for (int k = 0; k < PD_NCCL_WATCHED; ++k) {
    if (member->begins[k] != NULL) (void)cudaEventDestroy(member->begins[k]);
    if (member->ends[k] != NULL) (void)cudaEventDestroy(member->ends[k]);
  }
  if (atomic_load(&member->gave_up)) atomic_store(&member->device->gave_up, 0);
  pthread_cond_destroy(&member->leaves);
  pthread_mutex_destroy(&member->lock);
}

/* ---- an operation ---------------------------------------------------------------------------- */

static polyad_status mark_operation(polyad_context *context, struct pd_nccl_member *member,
                                    cudaEvent_t *events) {
  uint64_t slot = atomic_load(&member->asked) % PD_NCCL_WATCHED;
  return PD_CUDA(context, member->device,
                 cudaEventRecord(events[slot], pd_cuda_stream(member->device)));
}

polyad_status pd_nccl_begin(polyad_context *context, struct pd_nccl_member *member) {
  polyad_status status = pd_cuda_enter(context, member->device);
  pthread_mutex_lock(&member->lock);
  if (status == POLYAD_OK && member->comm == NULL) /* given up a moment ago */
    status = pd_cuda_services->fail(context, POLYAD_DEVICE,
                                    "NCCL was given up: another member did not answer");
  return status == POLYAD_OK ? mark_operation(context, member, member->begins) : status;
}

polyad_status pd_nccl_end(polyad_context *context, struct pd_nccl_member *member,
                          polyad_status status) {
  if (status == POLYAD_OK) status = mark_operation(context, member, member->ends);
  if (status == POLYAD_OK) (void)atomic_fetch_add(&member->asked, 1);
  pthread_mutex_unlock(&member->lock);
  return status;
}
