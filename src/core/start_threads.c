#define _GNU_SOURCE
#include "core/start_threads.h"
#include "core/machine.h"
#include <pthread.h>
#include <stdbool.h>

enum { MORE_THAN_STACK = 256 << 10 }; /* guard pages, the thread's own data */

uint64_t pd_thread_bytes(int threads) {
  pthread_attr_t attributes;
  size_t stack = 8 << 20;
  if (pd_machine_address_space() == UINT64_MAX) return 0;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_destroy(&attributes);
  }
  return (uint64_t)(threads - 1) * (stack + MORE_THAN_STACK);
}

/* Threads that wait for each other, so that all exist at once. */
struct crowd {
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool leaves;
};

static void *stand(void *user) {
  struct crowd *crowd = user;
  pthread_mutex_lock(&crowd->lock);
  while (!crowd->leaves)
    pthread_cond_wait(&crowd->change, &crowd->lock);
  pthread_mutex_unlock(&crowd->lock);
  return NULL;
}

/* Starts up to `more` threads; returns how many there were. Their stacks stay with the C library
 * (at most 40 MB of them), which gives them to the next threads. */
static int start_threads_gather(int more) {
  enum { MOST = 4096 };
  static pthread_t thread[MOST];
  struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
  int count = 0;
  while (count < more && count < MOST && pthread_create(&thread[count], NULL, stand, &crowd) == 0)
    ++count;
  pthread_mutex_lock(&crowd.lock);
  crowd.leaves = true;
  pthread_cond_broadcast(&crowd.change);
  pthread_mutex_unlock(&crowd.lock);
  for (int t = 0; t < count; ++t)
    pthread_join(thread[t], NULL);
  return count;
}

int pd_start_threads(int wanted) {
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  uint64_t space = pd_machine_address_space();
  if (space == UINT64_MAX || wanted < 2) return wanted;
  /* Most of the space is for data. */
  while (wanted > 1 && pd_thread_bytes(wanted) > space / 4)
    --wanted;
  if (wanted < 2) return wanted;
  pthread_mutex_lock(&one_at_a_time);
  int threads = 1 + start_threads_gather(wanted - 1), begun = 0;
  if (threads > 1) {
#pragma omp parallel num_threads(threads) reduction(+ : begun)
    begun += 1;
  }
  pthread_mutex_unlock(&one_at_a_time);
  return begun > 0 && begun < threads ? begun : threads;
}
