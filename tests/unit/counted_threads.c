/* See counted_threads.h. */
#include "counted_threads.h"
#include <errno.h>
#include <pthread.h>

atomic_int threads_begun, threads_ended;
atomic_bool threads_refused;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *user);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *user) {
  if (atomic_load(&threads_refused)) return EAGAIN;
  int error = __real_pthread_create(thread, attributes, function, user);
  if (error == 0) atomic_fetch_add(&threads_begun, 1);
  return error;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
  int error = __real_pthread_join(thread, result);
  if (error == 0) atomic_fetch_add(&threads_ended, 1);
  return error;
}
