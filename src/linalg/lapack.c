#include "linalg/lapack.h"
#include "core/machine.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Fortran's calling convention: everything by address, and the lengths of texts at the end. */
typedef void (*syev_function)(const char *job, const char *triangle, const int *n, double *a,
                              const int *stride, double *values, double *work, const int *work_size,
                              int *info, size_t, size_t);
typedef void (*syevd_function)(const char *job, const char *triangle, const int *n, double *a,
                               const int *stride, double *values, double *work,
                               const int *work_size, int *integers, const int *integers_size,
                               int *info, size_t, size_t);
typedef void (*syevr_function)(const char *job, const char *range, const char *triangle,
                               const int *n, double *a, const int *stride, const double *from,
                               const double *to, const int *first, const int *last,
                               const double *tolerance, int *found, double *values, double *vectors,
                               const int *vectors_stride, int *support, double *work,
                               const int *work_size, int *integers, const int *integers_size,
                               int *info, size_t, size_t, size_t);

static struct {
  pthread_mutex_t lock;
  syev_function syev;
  syevd_function syevd;
  syevr_function syevr;
} lapack = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Address space that OpenBLAS maps with `threads` threads: its code, and a stack and a buffer of
 * 128 MiB for each. */
static uint64_t openblas_bytes(int threads) {
  enum { CODE = 64, PER_THREAD = 128 + 16 };
  return ((uint64_t)CODE + PER_THREAD * (uint64_t)threads) << 20;
}

/* How many threads it starts: as many as there are processors, or fewer where the user says so. */
static int openblas_threads(void) {
  enum { MOST = 64 };
  static const char *const names[] = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"};
  int threads = pd_machine_processors();
  for (int k = 0; k < 2; ++k) {
    const char *text = getenv(names[k]);
    int asked = text == NULL ? 0 : (int)strtol(text, NULL, 10);
    if (asked < 1) continue;
    threads = asked < threads ? asked : threads;
    break;
  }
  return threads < MOST ? threads : MOST;
}

static bool lapack_complete(void) {
  return lapack.syev != NULL && lapack.syevd != NULL && lapack.syevr != NULL;
}

/* Takes all routines from one library. */
static bool lapack_take(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return false;
  /* POSIX guarantees that object and function pointers convert; ISO C does not. */
  *(void **)&lapack.syev = dlsym(handle, "dsyev_");
  *(void **)&lapack.syevd = dlsym(handle, "dsyevd_");
  *(void **)&lapack.syevr = dlsym(handle, "dsyevr_");
  if (lapack_complete()) return true;
  dlclose(handle);
  return false;
}

/* The names under which Debian, Fedora, Arch and others install it, the fastest first. */
static polyad_status lapack_load(polyad_context *context) {
  static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3", "libopenblas.so",
                                      "liblapack.so"};
  if (lapack_complete()) return POLYAD_OK;
  uint64_t needed = openblas_bytes(openblas_threads());
  if (pd_machine_address_space() < needed) return pd_fail_memory(context, needed);
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
    if (lapack_take(names[k])) return POLYAD_OK;
  return pd_fail(context, POLYAD_UNSUPPORTED,
                 "eigenvalues are needed, and this machine has no LAPACK (%s or %s): install "
                 "OpenBLAS",
                 names[0], names[1]);
}

static polyad_status loaded(polyad_context *context) {
  pthread_mutex_lock(&lapack.lock);
  polyad_status status = lapack_load(context);
  pthread_mutex_unlock(&lapack.lock);
  return status;
}

static polyad_status end(polyad_context *context, int info) {
  if (info == 0) return POLYAD_OK;
  return pd_fail(context, POLYAD_NUMERICAL, "an eigendecomposition does not converge");
}

enum { BLOCK = 32 }; /* columns that LAPACK reduces at once */

size_t pd_eigen_numbers(size_t n) { return (BLOCK + 2) * n; }

polyad_status pd_eigen(polyad_context *context, size_t n, double *a, size_t stride, double *values,
                       double *work) {
  int size = (int)n, step = (int)stride, work_size = (int)pd_eigen_numbers(n), info = 0;
  PD_TRY(loaded(context));
  lapack.syev("V", "U", &size, a, &step, values, work, &work_size, &info, 1, 1);
  return end(context, info);
}

/* What dsyevd asks for at least; its blocks of columns fit in. */
size_t pd_eigen_large_numbers(size_t n) { return 1 + (BLOCK + 6) * n + 2 * n * n; }

size_t pd_eigen_large_integers(size_t n) { return 3 + 5 * n; }

polyad_status pd_eigen_large(polyad_context *context, size_t n, double *a, size_t stride,
                             double *values, double *work, int *integers) {
  int size = (int)n, step = (int)stride, info = 0;
  int work_size = (int)pd_eigen_large_numbers(n), integers_size = (int)pd_eigen_large_integers(n);
  PD_TRY(loaded(context));
  lapack.syevd("V", "L", &size, a, &step, values, work, &work_size, integers, &integers_size, &info,
               1, 1);
  return end(context, info);
}

size_t pd_eigen_leading_numbers(size_t n) { return (BLOCK + 6) * n; }

size_t pd_eigen_leading_integers(size_t n) { return 10 * n + 2 * n; }

polyad_status pd_eigen_leading(polyad_context *context, size_t n, double *a, size_t count,
                               double *values, double *vectors, double *work, int *integers) {
  int size = (int)n, first = (int)(n - count) + 1, found = 0, info = 0;
  int work_size = (int)pd_eigen_leading_numbers(n), integers_size = 10 * (int)n;
  double none = 0;
  PD_TRY(loaded(context));
  lapack.syevr("V", count == n ? "A" : "I", "U", &size, a, &size, &none, &none, &first, &size,
               &none, &found, values, vectors, &size, integers + integers_size, work, &work_size,
               integers, &integers_size, &info, 1, 1, 1);
  if (info == 0 && (size_t)found < count) info = 1;
  return end(context, info);
}
