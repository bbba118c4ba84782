/* Invalid floating-point operations end the program, in every thread, and say where. Loaded by
 * LD_PRELOAD into the command and into test programs as they are shipped and tested otherwise.
 *
 * Which exceptions trap is a register of each thread; a new thread has what its maker has, so what
 * is set before `main` holds in OpenMP's workers, in those of LAPACK and in the program's own.
 *
 * A division by zero does not trap: its infinity is exact, and wanted where log-likelihoods take
 * the logarithm of zero and where vectors of reciprocals hold lanes that are then not taken. What a
 * wrong infinity leads to, such as 0 x inf and inf - inf, is an invalid operation. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By calls that a signal handler may make; addr2line reads the offsets. */
static void say_where(int number) {
  static const char head[] = "trap: invalid floating-point operation\n";
  void *frames[32];
  ssize_t ignored = write(STDERR_FILENO, head, sizeof head - 1);
  (void)ignored;
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
  struct sigaction plain = {.sa_handler = SIG_DFL};
  sigaction(number, &plain, NULL);
  raise(number);
}

__attribute__((constructor)) static void set_traps(void) {
  struct sigaction action = {.sa_handler = say_where};
  void *frame;
  backtrace(&frame, 1); /* loads now what it needs */
  sigaction(SIGFPE, &action, NULL);
  feenableexcept(FE_INVALID);
}

/* cmocka would catch the signal and not say where it came from. */
typedef void (*handler)(int);
handler signal(int number, handler wanted) {
  if (number == SIGFPE) return SIG_DFL;
  struct sigaction action = {.sa_handler = wanted, .sa_flags = SA_RESTART}, before;
  return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

/* ---- LAPACK's own uses of NaN -----------------------------------------------------------------
 *
 * ieeeck computes 0 / 0 to see whether NaN works. dlaneg and dlar1v factor a tridiagonal matrix in
 * a loop without tests, see by a NaN at its end that a pivot was zero, and do it again with care.
 * These three run without traps, in place of the library's own, which calls them by name. */

static fenv_t hold_traps(void) {
  fenv_t before;
  feholdexcept(&before);
  return before;
}

/* OpenBLAS was loaded by dlopen, so that RTLD_NEXT does not find its functions. */
static void *lapack_function(const char *name) {
  static const char *const libraries[] = {"libopenblas.so.0", "liblapack.so.3", "libopenblas.so",
                                          "liblapack.so"};
  for (size_t k = 0; k < sizeof libraries / sizeof *libraries; ++k) {
    void *library = dlopen(libraries[k], RTLD_NOW | RTLD_NOLOAD);
    void *function = library == NULL ? NULL : dlsym(library, name);
    if (function != NULL) return function;
  }
  abort();
}

int ieeeck_(const int *kind, const float *zero, const float *one);
int ieeeck_(const int *kind, const float *zero, const float *one) {
  (void)kind;
  return *zero == 0 && *one == 1;
}

typedef int (*dlaneg_function)(const int *, const double *, const double *, const double *,
                               const double *, const int *);
int dlaneg_(const int *n, const double *d, const double *lld, const double *sigma,
            const double *least, const int *twist);
int dlaneg_(const int *n, const double *d, const double *lld, const double *sigma,
            const double *least, const int *twist) {
  dlaneg_function function;
  *(void **)&function = lapack_function("dlaneg_");
  fenv_t before = hold_traps();
  int count = function(n, d, lld, sigma, least, twist);
  fesetenv(&before);
  return count;
}

/* All arguments are addresses. */
typedef void (*dlar1v_function)(void *, void *, void *, void *, void *, void *, void *, void *,
                                void *, void *, void *, void *, void *, void *, void *, void *,
                                void *, void *, void *, void *, void *);
void dlar1v_(void *n, void *first, void *last, void *lambda, void *d, void *l, void *ld, void *lld,
             void *least, void *gap, void *z, void *counted, void *count, void *ztz, void *mingma,
             void *twist, void *support, void *norm, void *residual, void *correction, void *work);
void dlar1v_(void *n, void *first, void *last, void *lambda, void *d, void *l, void *ld, void *lld,
             void *least, void *gap, void *z, void *counted, void *count, void *ztz, void *mingma,
             void *twist, void *support, void *norm, void *residual, void *correction, void *work) {
  dlar1v_function function;
  *(void **)&function = lapack_function("dlar1v_");
  fenv_t before = hold_traps();
  function(n, first, last, lambda, d, l, ld, lld, least, gap, z, counted, count, ztz, mingma, twist,
           support, norm, residual, correction, work);
  fesetenv(&before);
}
