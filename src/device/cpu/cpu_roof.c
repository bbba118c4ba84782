/* Roofs of the CPU: the same loops for each instruction set, chosen when they run. */
#include "device/cpu/cpu_roof.h"
#include "core/isa.h"
#include <string.h>

/* What a thread sums goes where the compiler cannot see that nobody reads it. */
static void cpu_roof_keep(const struct pd_roof_job *job, int thread, double sum) {
  ((double *)job->other)[16 * (thread % 1024)] = sum;
}

#define PD_INLINE static inline __attribute__((always_inline))

/* Rows of ranks that are known when this is compiled are summed in registers, two at a time. */
#define PD_ROOF_LOOPS(REAL, SUFFIX)                                                                \
  PD_INLINE double rows_##SUFFIX(const struct pd_roof_job *job, uint64_t begin, uint64_t end,      \
                                 uint64_t rank) {                                                  \
    const REAL *table = job->table;                                                                \
    REAL even[64] = {0}, odd[64] = {0};                                                            \
    double all = 0;                                                                                \
    for (uint64_t k = begin; k + 1 < end; k += 2) {                                                \
      const REAL *row = table + job->index[k] * rank, *next = table + job->index[k + 1] * rank;    \
      uint64_t ahead = k + 25 < end ? k + 24 : k;                                                  \
      __builtin_prefetch(table + job->index[ahead] * rank);                                        \
      __builtin_prefetch(table + job->index[ahead + 1] * rank);                                    \
      for (uint64_t r = 0; r < rank; ++r) {                                                        \
        even[r % 64] += row[r];                                                                    \
        odd[r % 64] += next[r];                                                                    \
      }                                                                                            \
    }                                                                                              \
    for (int i = 0; i < 64; ++i)                                                                   \
      all += (double)even[i] + (double)odd[i];                                                     \
    return all;                                                                                    \
  }                                                                                                \
  PD_INLINE double gather_##SUFFIX(const struct pd_roof_job *job, uint64_t begin, uint64_t end) {  \
    switch (job->rank) {                                                                           \
    case 8:                                                                                        \
      return rows_##SUFFIX(job, begin, end, 8);                                                    \
    case 16:                                                                                       \
      return rows_##SUFFIX(job, begin, end, 16);                                                   \
    case 32:                                                                                       \
      return rows_##SUFFIX(job, begin, end, 32);                                                   \
    case 64:                                                                                       \
      return rows_##SUFFIX(job, begin, end, 64);                                                   \
    default:                                                                                       \
      return rows_##SUFFIX(job, begin, end, job->rank);                                            \
    }                                                                                              \
  }                                                                                                \
  PD_INLINE void add_##SUFFIX(const struct pd_roof_job *job, uint64_t begin, uint64_t end,         \
                              uint64_t first, uint64_t rows) {                                     \
    REAL *table = job->table;                                                                      \
    for (uint64_t k = begin; k < end; ++k) {                                                       \
      REAL *row = table + (first + job->index[k] % rows) * job->rank;                              \
      for (uint64_t r = 0; r < job->rank; ++r)                                                     \
        row[r] += 1;                                                                               \
    }                                                                                              \
  }                                                                                                \
  PD_INLINE double flops_##SUFFIX(uint64_t steps) {                                                \
    enum { LANES = 256 / sizeof(REAL) * 2 };                                                       \
    REAL sum[LANES];                                                                               \
    for (int i = 0; i < LANES; ++i)                                                                \
      sum[i] = (REAL)i;                                                                            \
    for (uint64_t k = 0; k < steps; k += LANES)                                                    \
      for (int i = 0; i < LANES; ++i)                                                              \
        sum[i] = sum[i] * (REAL)0.999 + (REAL)0.5;                                                 \
    double all = 0;                                                                                \
    for (int i = 0; i < LANES; ++i)                                                                \
      all += (double)sum[i];                                                                       \
    return all;                                                                                    \
  }

PD_ROOF_LOOPS(float, f32)
PD_ROOF_LOOPS(double, f64)

/* The part of one thread. */
PD_INLINE void cpu_roof_run_part(const struct pd_roof_job *job, int t, int threads) {
  uint64_t begin = pd_part_begin(job->count, t, threads);
  uint64_t end = pd_part_begin(job->count, t + 1, threads);
  uint64_t first = pd_part_begin(job->rows, t, threads);
  uint64_t rows = pd_part_begin(job->rows, t + 1, threads) - first;
  uint64_t steps = (uint64_t)PD_ROOF_FLOPS_THREADS * job->count * PD_ROOF_FLOPS_SUMS;
  bool narrow = job->type == POLYAD_F32;
  if (job->what == POLYAD_ROOF_GATHER)
    cpu_roof_keep(job, t, narrow ? gather_f32(job, begin, end) : gather_f64(job, begin, end));
  else if (job->what == POLYAD_ROOF_FLOPS)
    cpu_roof_keep(job, t,
                  narrow ? flops_f32(steps / (uint64_t)threads)
                         : flops_f64(steps / (uint64_t)threads));
  else if (rows > 0 && narrow)
    add_f32(job, begin, end, first, rows);
  else if (rows > 0)
    add_f64(job, begin, end, first, rows);
}

typedef void part_function(const struct pd_roof_job *job, int t, int threads);

/* Compiled as the kernels of each instruction set are (cmake/isa.cmake). */
static void part_plain(const struct pd_roof_job *job, int t, int threads) {
  cpu_roof_run_part(job, t, threads);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void part_avx2(const struct pd_roof_job *job, int t,
                                                          int threads) {
  cpu_roof_run_part(job, t, threads);
}

#if defined(__clang__)
#define PD_WIDE "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
#else
#define PD_WIDE "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512"
#endif
__attribute__((target(PD_WIDE))) static void part_avx512(const struct pd_roof_job *job, int t,
                                                         int threads) {
  cpu_roof_run_part(job, t, threads);
}
#endif

polyad_status pd_cpu_roof(polyad_context *context, const struct pd_device *device,
                          const struct pd_roof_job *job) {
  (void)device;
  int threads = polyad_threads(context);
  part_function *part = PD_ISA_PICK(part_function, part);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    if (job->what == POLYAD_ROOF_COPY) {
      uint64_t begin = pd_part_begin(job->bytes / 64, t, threads) * 64;
      uint64_t end = pd_part_begin(job->bytes / 64, t + 1, threads) * 64;
      memcpy((char *)job->other + begin, (const char *)job->table + begin, end - begin);
    } else {
      part(job, t, threads);
    }
  return POLYAD_OK;
}
