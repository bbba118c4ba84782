/* The CPU's compilation of the portable kernels, once per instruction set: the includer defines
 * PD_CPU_TABLE and PD_CPU_CAPABILITY. */
#include "portable/backend_cpu.h"
#include "portable/portable.h"

#define PD_F64 0
#include "portable/kernels_stream.h"
#undef PD_F64
#define PD_F64 1
#include "portable/kernels_stream.h"
#undef PD_F64

/* Runs a kernel for `items` work items, in parts that threads take in order. */
#define PD_CPU_RUN(items, threads, call)                                                           \
  do {                                                                                             \
    _Pragma("omp parallel num_threads(threads)") {                                                 \
      _Pragma("omp for schedule(static)") for (uint64_t item = 0; item < (items); ++item) call;    \
      __atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores past the cache are done */                \
    }                                                                                              \
  } while (0)

#define PD_CPU_STREAM(REAL, S)                                                                     \
  static void stream_##S(const struct pd_stream_job *job, int threads) {                           \
    REAL *a = job->a, *b = job->b, *c = job->c, s = (REAL)job->scalar;                             \
    uint64_t items = job->count / PD_WIDTH_##S;                                                    \
    switch (job->loop) {                                                                           \
    case POLYAD_STREAM_COPY:                                                                       \
      PD_CPU_RUN(items, threads, stream_copy_##S(item, a, c));                                     \
      break;                                                                                       \
    case POLYAD_STREAM_SCALE:                                                                      \
      PD_CPU_RUN(items, threads, stream_scale_##S(item, s, c, b));                                 \
      break;                                                                                       \
    case POLYAD_STREAM_ADD:                                                                        \
      PD_CPU_RUN(items, threads, stream_add_##S(item, a, b, c));                                   \
      break;                                                                                       \
    case POLYAD_STREAM_TRIAD:                                                                      \
      PD_CPU_RUN(items, threads, stream_triad_##S(item, s, b, c, a));                              \
      break;                                                                                       \
    }                                                                                              \
  }
PD_CPU_STREAM(float, f32)
PD_CPU_STREAM(double, f64)

static void stream(const struct pd_stream_job *job, int threads) {
  if (job->type == POLYAD_F32)
    stream_f32(job, threads);
  else
    stream_f64(job, threads);
}

const struct pd_portable_cpu PD_CPU_TABLE = {.capability = PD_CPU_CAPABILITY, .stream = stream};
