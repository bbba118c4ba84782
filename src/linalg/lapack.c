#include "linalg/lapack.h"
#include "core/machine.h"
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

/* The largest number of threads for which OpenBLAS maps stacks and buffers when it is loaded: the
 * number of processors, however little of their time a container may use, or OMP_NUM_THREADS where
 * that is less. OPENBLAS_NUM_THREADS does not count: a build with OpenMP maps them regardless, and
 * waits for ever where it cannot. */
static int openblas_threads(void) {
  enum { MOST = 64 };
  int threads = omp_get_num_procs();
  const char *text = getenv("OMP_NUM_THREADS");
  int asked = text == NULL ? 0 : (int)strtol(text, NULL, 10);
  if (asked > 0 && asked < threads) threads = asked;
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

/* Lets LAPACK use no more threads than the context has: OpenBLAS that is built with OpenMP takes as
 * many as the calling thread's setting says. In a process that was forked it would wait for ever
 * for threads that fork() did not copy. Returns the setting before, which the caller puts back. */
static int lapack_few_threads(polyad_context *context) {
  int before = omp_get_max_threads(), most = polyad_threads(context);
  if (most < before) omp_set_num_threads(most);
  return before;
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
  int before = lapack_few_threads(context);
  lapack.syev("V", "U", &size, a, &step, values, work, &work_size, &info, 1, 1);
  omp_set_num_threads(before);
  return end(context, info);
}

/* ---- some eigenvectors, in steps that a caller may end ----------------------------------------
 */

/* Rows that are reduced at last, one by one. */
enum { LAST_ROWS = 128, STEMR_NUMBERS = 18, STEMR_INTEGERS = 10 };
/* Of a step: numbers of the matrix that a panel's columns read, and multiply-adds. */
static const double step_numbers = 4e8, step_products = 1e9;
/* Rows times vectors of one call of dstemr, which takes some 0.35 us for each. */
static const double step_vectors = 1.2e6;

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

/* ---- eigenvectors of the tridiagonal matrix ----------------------------------------------------
 *
 * One call of dstemr finds a range of them, and cannot be ended. So the range is cut: from the
 * largest eigenvalue down, a part after another. Two vectors of different parts are orthogonal up
 * to the sum of their residuals over the distance of their eigenvalues, so each cut is where that
 * is widest among the lowest quarter of a part, whose vectors below the cut the next part finds
 * again. Whether the cut was good is measured: where a part's vectors are not orthogonal to those
 * above the cut, all begins anew with parts of twice the size. */

enum { NEIGHBOURS = 16 }; /* vectors above a cut with which those below are compared */

/* Eigenvalues number first to last, from 1, ascending, which come into work[0] on, and their
 * vectors. `pair` is the matrix, its diagonal and what is beside it, which dstemr overwrites. */
static polyad_status find_part(polyad_context *context, int n, const double *const pair[2],
                               int first, int last, double *work, int *integers, double *vectors) {
  int count = last - first + 1, found = 0, info = 0, accurate = 1;
  int work_size = STEMR_NUMBERS * n, integers_size = STEMR_INTEGERS * n;
  double none = 0, *diagonal = work + n, *beside = diagonal + n;
  memcpy(diagonal, pair[0], (size_t)n * sizeof *diagonal);
  memcpy(beside, pair[1], (size_t)n * sizeof *beside);
  lapack.stemr("V", count == n ? "A" : "I", &n, diagonal, beside, &none, &none, &first, &last,
               &found, work, vectors, &n, &count, integers + integers_size, &accurate, beside + n,
               &work_size, integers, &integers_size, &info, 1, 1);
  return end(context, info == 0 && found < count ? 1 : info);
}

/* Whether `count` vectors are orthogonal to the NEIGHBOURS that follow them, as far as LAPACK's own
 * tests ask: to 30 n roundings. */
static bool orthogonal(int n, const double *vectors, int count, int above) {
  const double *other = vectors + (size_t)count * (size_t)n;
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < above && b < NEIGHBOURS; ++b) {
      const double *x = vectors + (size_t)a * (size_t)n, *y = other + (size_t)b * (size_t)n;
      double sum = 0;
      for (int i = 0; i < n; ++i)
        sum += x[i] * y[i];
      if (!(fabs(sum) <= 30 * 0.5 * DBL_EPSILON * n)) return false;
    }
  return true;
}

/* The first of the values above the widest gap in their lowest quarter. */
static int cut_of(const double *values, int count) {
  int cut = 0;
  double widest = 0;
  for (int k = 1; k <= count / 4; ++k)
    if (values[k] - values[k - 1] > widest) {
      widest = values[k] - values[k - 1];
      cut = k;
    }
  return cut;
}

polyad_status pd_eigen_tridiagonal(struct pd_stage *stage, size_t rows, size_t wanted,
                                   size_t at_once, const double *diagonal, const double *beside,
                                   double *values, double *vectors, double *work, int *integers) {
  const double *const pair[2] = {diagonal, beside};
  int n = (int)rows, lowest = n - (int)wanted + 1, last = n, most = (int)at_once;
  PD_TRY(loaded(stage->context));
  while (last >= lowest) {
    int first = last - lowest + 1 < most + most / 4 ? lowest : last - most + 1;
    int count = last - first + 1, cut = 0;
    double *to = vectors + (size_t)(first - lowest) * rows;
    PD_TRY(pd_stage_tick(stage));
    PD_TRY(find_part(stage->context, n, pair, first, last, work, integers, to));
    bool good = orthogonal(n, to, count, n - last);
    if (good && first > lowest) cut = cut_of(work, count);
    if (!good || (first > lowest && cut == 0)) { /* no gap: those are all the same */
      last = n;
      most *= 2;
      continue;
    }
    memcpy(values + first + cut - lowest, work + cut, (size_t)(count - cut) * sizeof *values);
    last = first + cut - 1;
  }
  return POLYAD_OK;
}

/* pd_eigen_leading() once LAPACK is loaded. */
static polyad_status find_leading(struct pd_stage *stage, size_t rows, double *a, size_t count,
                                  double *values, double *vectors, double *work, int *integers) {
  int n = (int)rows, most = (int)count, exponent = lapack_exponent_of(rows, a);
  struct tridiagonal t = {work, work + rows, work + 2 * rows, work + 3 * rows};
  for (size_t k = 0; exponent != 0 && k < rows * rows; ++k)
    a[k] = ldexp(a[k], -exponent);
  PD_TRY(reduce(stage, n, a, &t));
  t.beside[n - 1] = 0;
  size_t at_once = (size_t)clamp_step(step_vectors / n, 16, n);
  PD_TRY(pd_eigen_tridiagonal(stage, rows, count, at_once, t.diagonal, t.beside, values, vectors,
                              t.room, integers));
  for (size_t k = 0; exponent != 0 && k < count; ++k)
    values[k] = ldexp(values[k], exponent);
  return turn_back(stage, n, a, most, &t, vectors);
}

polyad_status pd_eigen_leading(struct pd_stage *stage, size_t rows, double *a, size_t count,
                               double *values, double *vectors, double *work, int *integers) {
  PD_TRY(loaded(stage->context));
  int before = lapack_few_threads(stage->context);
  polyad_status status = find_leading(stage, rows, a, count, values, vectors, work, integers);
  omp_set_num_threads(before);
  return status;
}
