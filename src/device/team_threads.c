/* A team of threads of one process. A member shows where its data lie, all meet, everyone copies
 * what it needs from the others' memory, and all meet again. */
#include "device/team.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct member {
  struct shared *shared;
  int rank;
};

struct shared {
  pthread_mutex_t lock;
  pthread_cond_t all_here;
  int size, here, left;
  _Atomic uint64_t round;
  const void **shown;    /* `size`: what each member shows in the running call */
  struct member *member; /* `size` */
};

/* Members of a team of GPUs arrive within about ten microseconds of each other, many times in an
 * iteration, and a thread that sleeps takes as long again to wake. So a member that waits checks
 * this many times whether the others have come before it goes to sleep. */
enum { LOOKS = 20000 };

static void wait_for_all(struct shared *shared) {
  pthread_mutex_lock(&shared->lock);
  uint64_t round = shared->round;
  bool last = ++shared->here == shared->size;
  if (last) {
    shared->here = 0;
    ++shared->round;
    pthread_cond_broadcast(&shared->all_here);
  }
  pthread_mutex_unlock(&shared->lock);
  for (int k = 0; k < LOOKS; ++k)
    if (atomic_load_explicit(&shared->round, memory_order_acquire) != round) return;
  pthread_mutex_lock(&shared->lock);
  while (round == shared->round)
    pthread_cond_wait(&shared->all_here, &shared->lock);
  pthread_mutex_unlock(&shared->lock);
}

static polyad_status threads_gather(polyad_context *context, void *state, const void *mine,
                                    uint64_t bytes, void *all) {
  (void)context;
  struct member *member = state;
  struct shared *shared = member->shared;
  shared->shown[member->rank] = mine;
  wait_for_all(shared);
  if (bytes == 0) return POLYAD_OK; /* nobody reads what others show */
  for (int k = 0; k < shared->size; ++k)
    memcpy((char *)all + (uint64_t)k * bytes, shared->shown[k], (size_t)bytes);
  wait_for_all(shared);
  return POLYAD_OK;
}

/* Bytes that a thread is worth starting for. */
enum { COPY_GRAIN = 4 << 20 };

/* Large parcels come with a tensor that is shared out, into memory that is touched for the first
 * time: the threads of the member's context copy them together. */
static void threads_copy(const polyad_context *context, void *to, const void *from,
                         uint64_t bytes) {
  int threads = pd_threads_for(context, bytes, COPY_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(bytes, t, threads), end = pd_part_begin(bytes, t + 1, threads);
    memcpy((char *)to + begin, (const char *)from + begin, (size_t)(end - begin));
  }
}

static polyad_status threads_exchange(polyad_context *context, void *state,
                                      const struct pd_parcel *to, const struct pd_parcel *from) {
  struct member *member = state;
  struct shared *shared = member->shared;
  shared->shown[member->rank] = to;
  wait_for_all(shared);
  for (int k = 0; k < shared->size; ++k) {
    const struct pd_parcel *parcel = (const struct pd_parcel *)shared->shown[k] + member->rank;
    if (parcel->bytes > 0) threads_copy(context, from[k].data, parcel->data, parcel->bytes);
  }
  wait_for_all(shared);
  return POLYAD_OK;
}

/* The last member to leave frees what all share. */
static void threads_leave(void *state, bool failed) {
  (void)failed;
  struct member *member = state;
  struct shared *shared = member->shared;
  pthread_mutex_lock(&shared->lock);
  bool last = ++shared->left == shared->size;
  pthread_mutex_unlock(&shared->lock);
  if (!last) return;
  pthread_mutex_destroy(&shared->lock);
  pthread_cond_destroy(&shared->all_here);
  PD_FREE(NULL, shared->shown, shared->member, shared);
}

static const struct pd_collectives thread_collectives = {.one_process = true,
                                                         .gather = threads_gather,
                                                         .exchange = threads_exchange,
                                                         .leave = threads_leave};

static polyad_status create_shared(polyad_context *context, int size, struct shared **out) {
  struct shared *shared = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, 1, &shared));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, (uint64_t)size, &shared->shown));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, (uint64_t)size, &shared->member));
  for (int k = 0; k < size; ++k)
    shared->member[k] = (struct member){shared, k};
  pthread_mutex_init(&shared->lock, NULL);
  pthread_cond_init(&shared->all_here, NULL);
  shared->size = size;
  *out = shared;
  return POLYAD_OK;
cleanup:
  PD_FREE(context, shared->shown, shared);
  return status;
}

polyad_status pd_team_create_threads(polyad_context *const *contexts, int size,
                                     polyad_team **teams) {
  struct shared *shared = NULL;
  memset(teams, 0, (size_t)size * sizeof(polyad_team *));
  PD_TRY(create_shared(contexts[0], size, &shared));
  struct member *member = shared->member;
  polyad_status status = POLYAD_OK;
  int made = 0;
  while (made < size && status == POLYAD_OK) {
    status = pd_team_create(contexts[made], made, size, &thread_collectives, &member[made],
                            &teams[made]);
    ++made;
  }
  if (status == POLYAD_OK) return POLYAD_OK;
  /* Member `made - 1` has left; the others leave now. */
  for (int k = made; k < size; ++k)
    threads_leave(&member[k], true);
  for (int k = 0; k < made - 1; ++k) {
    polyad_team_destroy(teams[k]);
    teams[k] = NULL;
  }
  return status;
}
