/* STREAM on the CPU: loops tuned by hand. Stores bypass the cache where the instruction set can do
 * that, since the lines would otherwise be read before they are overwritten. */
#include "core/isa.h"
#include "core/threads.h"
#include "device/cpu/cpu_portable.h"
#include "device/module.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* A part of the arrays, each a multiple of PD_STREAM_UNIT numbers long. */
struct part {
  uint64_t begin, end;
};

static struct part cpu_stream_part_of(uint64_t count, int thread, int threads) {
  uint64_t units = count / PD_STREAM_UNIT;
  return (struct part){pd_part_begin(units, thread, threads) * PD_STREAM_UNIT,
                       pd_part_begin(units, thread + 1, threads) * PD_STREAM_UNIT};
}

#if defined(__SSE2__)
#define LOOP(REAL, P, TO, VALUE)                                                                   \
  for (uint64_t k = part.begin; k < part.end; k += 64 / sizeof(REAL))                              \
    for (uint64_t i = k; i < k + 64 / sizeof(REAL); i += 16 / sizeof(REAL))                        \
  _mm_stream_##P((TO) + i, VALUE)
#define OPERATIONS(REAL, P)                                                                        \
  static void run_##P(const struct pd_stream_job *job, struct part part) {                         \
    REAL *a = job->a, *b = job->b, *c = job->c, s = (REAL)job->scalar;                             \
    if (job->loop == POLYAD_STREAM_COPY)                                                           \
      LOOP(REAL, P, c, _mm_load_##P(a + i));                                                       \
    else if (job->loop == POLYAD_STREAM_SCALE)                                                     \
      LOOP(REAL, P, b, _mm_mul_##P(_mm_set1_##P(s), _mm_load_##P(c + i)));                         \
    else if (job->loop == POLYAD_STREAM_ADD)                                                       \
      LOOP(REAL, P, c, _mm_add_##P(_mm_load_##P(a + i), _mm_load_##P(b + i)));                     \
    else                                                                                           \
      LOOP(REAL, P, a,                                                                             \
           _mm_add_##P(_mm_load_##P(b + i), _mm_mul_##P(_mm_set1_##P(s), _mm_load_##P(c + i))));   \
    _mm_sfence();                                                                                  \
  }
#else
#define LOOP(TO, VALUE)                                                                            \
  for (uint64_t i = part.begin; i < part.end; ++i)                                                 \
  (TO)[i] = VALUE
#define OPERATIONS(REAL, P)                                                                        \
  static void run_##P(const struct pd_stream_job *job, struct part part) {                         \
    REAL *restrict a = job->a, *restrict b = job->b, *restrict c = job->c, s = (REAL)job->scalar;  \
    if (job->loop == POLYAD_STREAM_COPY)                                                           \
      LOOP(c, a[i]);                                                                               \
    else if (job->loop == POLYAD_STREAM_SCALE)                                                     \
      LOOP(b, s *c[i]);                                                                            \
    else if (job->loop == POLYAD_STREAM_ADD)                                                       \
      LOOP(c, a[i] + b[i]);                                                                        \
    else                                                                                           \
      LOOP(a, b[i] + s * c[i]);                                                                    \
  }
#endif
OPERATIONS(float, ps)
OPERATIONS(double, pd)

const struct pd_portable_cpu *pd_portable_cpu_current(void) {
  const struct pd_module *module = pd_module_load("portable");
  return module->interface == 0 ? NULL : module->portable_cpu[pd_isa_current()];
}

const char *pd_portable_cpu_why_not(void) {
  const struct pd_module *module = pd_module_load("portable");
  return module->interface == 0 ? module->why_not : "";
}

static polyad_status missing(polyad_context *context) {
  return pd_fail(context, POLYAD_UNSUPPORTED, "the CPU has no portable kernels: %s",
                 pd_portable_cpu_why_not());
}

polyad_status pd_cpu_stream(polyad_context *context, const struct pd_device *device,
                            const struct pd_stream_job *job, bool portable) {
  (void)device;
  int threads = polyad_threads(context);
  if (portable) {
    const struct pd_portable_cpu *kernels = pd_portable_cpu_current();
    if (kernels == NULL) return missing(context);
    kernels->stream(job, threads);
    return POLYAD_OK;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    if (job->type == POLYAD_F32)
      run_ps(job, cpu_stream_part_of(job->count, t, threads));
    else
      run_pd(job, cpu_stream_part_of(job->count, t, threads));
  }
  return POLYAD_OK;
}

polyad_status pd_cpu_rows(polyad_context *context, const struct pd_device *device,
                          const struct pd_rows_launch *launch) {
  (void)device;
  int threads = polyad_threads(context);
  if (launch->what < PD_ROWS_JOIN)
    threads = pd_kernel_threads(context, launch->job.nnz, launch->job.columns);
  const struct pd_portable_cpu *kernels = pd_portable_cpu_current();
  if (kernels == NULL) return missing(context);
  kernels->rows(launch, threads);
  return POLYAD_OK;
}

const struct pd_rows_shape *pd_cpu_rows_shape(const struct pd_device *device) {
  (void)device;
  const struct pd_portable_cpu *kernels = pd_portable_cpu_current();
  return kernels == NULL ? NULL : &kernels->shape;
}

uint64_t pd_cpu_rows_groups(polyad_context *context, const struct pd_device *device) {
  (void)device;
  return (uint64_t)polyad_threads(context);
}
