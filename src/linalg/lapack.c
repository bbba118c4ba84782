#include "linalg/lapack.h"
#include "core/machine.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Fortran's calling convention: everything by address, and the lengths of texts at the end. */
typedef void (*syev_function)(const char *job, const char *triangle, const int *n, double *a,
                              const int *stride, double *values, double *work, const int *work_size,
                              int *info, size_t, size_t);
typedef void (*latrd_function)(const char *triangle, const int *n, const int *panel, double *a,
                               const int *stride, double *beside, double *tau, double *w,
                               const int *w_stride, size_t);
typedef void (*syr2k_function)(const char *triangle, const char *transposed, const int *n,
                               const int *k, const double *alpha, const double *a,
                               const int *a_stride, const double *b, const int *b_stride,
                               const double *beta, double *c, const int *c_stride, size_t, size_t);
typedef void (*sytd2_function)(const char *triangle, const int *n, double *a, const int *stride,
                               double *diagonal, double *beside, double *tau, int *info, size_t);
typedef void (*stemr_function)(const char *job, const char *range, const int *n, double *diagonal,
                               double *beside, const double *from, const double *to,
                               const int *first, const int *last, int *found, double *values,
                               double *vectors, const int *stride, const int *room, int *support,
                               int *accurate, double *work, const int *work_size, int *integers,
                               const int *integers_size, int *info, size_t, size_t);
typedef void (*ormtr_function)(const char *side, const char *triangle, const char *transposed,
                               const int *rows, const int *columns, const double *a,
                               const int *stride, const double *tau, double *c, const int *c_stride,
                               double *work, const int *work_size, int *info, size_t, size_t,
                               size_t);

static struct {
  pthread_mutex_t lock;
  syev_function syev;
  latrd_function latrd;
  syr2k_function syr2k;
  sytd2_function sytd2;
  stemr_function stemr;
  ormtr_function ormtr;
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
  return lapack.syev != NULL && lapack.latrd != NULL && lapack.syr2k != NULL &&
         lapack.sytd2 != NULL && lapack.stemr != NULL && lapack.ormtr != NULL;
}

/* Takes all routines from one library. */
static bool lapack_take(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return false;
  /* POSIX guarantees that object and function pointers convert; ISO C does not. */
  *(void **)&lapack.syev = dlsym(handle, "dsyev_");
  *(void **)&lapack.latrd = dlsym(handle, "dlatrd_");
  *(void **)&lapack.syr2k = dlsym(handle, "dsyr2k_");
  *(void **)&lapack.sytd2 = dlsym(handle, "dsytd2_");
  *(void **)&lapack.stemr = dlsym(handle, "dstemr_");
  *(void **)&lapack.ormtr = dlsym(handle, "dormtr_");
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

/* ---- some eigenvectors, in steps that a caller may end ----------------------------------------
 */

/* Rows that are reduced at last, one by one. */
enum { LAST_ROWS = 128, STEMR_NUMBERS = 18, STEMR_INTEGERS = 10 };
/* Of a step: numbers of the matrix that a panel's columns read, and multiply-adds. */
static const double step_numbers = 4e8, step_products = 1e9;

struct tridiagonal {
  double *diagonal, *beside, *tau, *room; /* n numbers; room: BLOCK n, and 18 n for dstemr */
};

size_t pd_eigen_leading_numbers(size_t n) { return (3 + BLOCK + STEMR_NUMBERS) * n; }

size_t pd_eigen_leading_integers(size_t n) { return (STEMR_INTEGERS + 2) * n; }

static int clamp_step(double step, int least, int most) {
  return step < least ? least : step > most ? most : (int)step;
}

/* Reduces the upper triangle to tridiagonal form as dsytrd does, a panel of columns after another
 * from the last one on. */
static polyad_status reduce(struct pd_stage *stage, int n, double *a, struct tridiagonal *t) {
  const double minus = -1, one = 1;
  int info = 0, left = n;
  int panel = clamp_step(step_numbers / ((double)n * n / 2), 4, BLOCK);
  while (left > LAST_ROWS + panel) {
    int above = left - panel;
    double *first = a + (size_t)above * (size_t)n;
    PD_TRY(pd_stage_tick(stage));
    lapack.latrd("U", &left, &panel, a, &n, t->beside, t->tau, t->room, &n, 1);
    lapack.syr2k("U", "N", &above, &panel, &minus, first, &n, t->room, &n, &one, a, &n, 1, 1);
    for (int j = above; j < left; ++j) {
      a[(size_t)j * (size_t)n + (size_t)j - 1] = t->beside[j - 1];
      t->diagonal[j] = a[(size_t)j * (size_t)n + (size_t)j];
    }
    left = above;
  }
  PD_TRY(pd_stage_tick(stage));
  lapack.sytd2("U", &left, a, &n, t->diagonal, t->beside, t->tau, &info, 1);
  return end(stage->context, info);
}

/* Eigenvectors of the tridiagonal matrix become those of the matrix, some columns at a time. */
static polyad_status turn_back(struct pd_stage *stage, int n, const double *a, int count,
                               const struct tridiagonal *t, double *vectors) {
  int step = clamp_step(step_products / ((double)n * n), 8, 256), room = BLOCK * n, info = 0;
  for (int first = 0; first < count && info == 0; first += step) {
    int columns = count - first < step ? count - first : step;
    PD_TRY(pd_stage_tick(stage));
    lapack.ormtr("L", "U", "N", &n, &columns, a, &n, t->tau, vectors + (size_t)first * (size_t)n,
                 &n, t->room, &room, &info, 1, 1, 1);
  }
  return end(stage->context, info);
}

/* The exponent that brings the largest entry near one, where squares of entries leave the range. */
static int lapack_exponent_of(size_t n, const double *a) {
  double largest = 0;
  int exponent = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j)
      largest = fmax(largest, fabs(a[i * n + j]));
  if (largest > 0 && isfinite(largest) && (largest < 0x1p-480 || largest > 0x1p480))
    (void)frexp(largest, &exponent);
  return exponent;
}

polyad_status pd_eigen_leading(struct pd_stage *stage, size_t rows, double *a, size_t count,
                               double *values, double *vectors, double *work, int *integers) {
  int n = (int)rows, most = (int)count, first = n - most + 1, found = 0, info = 0, accurate = 1;
  int exponent = lapack_exponent_of(rows, a);
  int work_size = STEMR_NUMBERS * n, integers_size = STEMR_INTEGERS * n;
  struct tridiagonal t = {work, work + rows, work + 2 * rows, work + 3 * rows};
  double none = 0;
  PD_TRY(loaded(stage->context));
  for (size_t k = 0; exponent != 0 && k < rows * rows; ++k)
    a[k] = ldexp(a[k], -exponent);
  PD_TRY(reduce(stage, n, a, &t));
  t.beside[n - 1] = 0;
  PD_TRY(pd_stage_tick(stage));
  lapack.stemr("V", most == n ? "A" : "I", &n, t.diagonal, t.beside, &none, &none, &first, &n,
               &found, values, vectors, &n, &most, integers + integers_size, &accurate,
               t.room + BLOCK * rows, &work_size, integers, &integers_size, &info, 1, 1);
  if (info == 0 && found < most) info = 1;
  PD_TRY(end(stage->context, info));
  for (size_t k = 0; exponent != 0 && k < count; ++k)
    values[k] = ldexp(values[k], exponent);
  return turn_back(stage, n, a, most, &t, vectors);
}
