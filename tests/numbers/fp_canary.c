/* What traps must catch, and what they must leave alone: with fp_traps preloaded, 0 / 0 in the main
 * thread, in a thread of its own or in an OpenMP worker ends it, and so does a comparison with NaN;
 * `exact` does what is allowed. Without them each ends with status 0. */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

static volatile double zero, result;

static void *divide(void *unused) {
  result = zero / zero;
  return unused;
}

static void in_worker(void) {
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == omp_get_num_threads() - 1) divide(NULL);
}

static int in_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, divide, NULL) || pthread_join(thread, NULL);
}

/* An infinity by division, overflow, underflow, and NaN that is only looked at. */
static int exact(void) {
  volatile double nan = NAN;
  result = 1 / zero;
  result = 2 * (DBL_MAX - zero);
  result = DBL_MIN * (DBL_MIN - zero);
  return !isnan(nan);
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  volatile double nan = NAN;
  if (strcmp(what, "main") == 0) return divide(NULL) != NULL;
  if (strcmp(what, "thread") == 0) return in_thread();
  if (strcmp(what, "compare") == 0) return nan < 1;
  if (strcmp(what, "exact") == 0) return exact();
  if (strcmp(what, "worker") != 0) return 2;
  in_worker();
  return omp_get_max_threads() < 1;
}
