#include "bench_kernel.h"
#include "text.h"
#include <stdlib.h>

static int make_factors(struct bench_job *job) {
  struct bench *bench = job->bench;
  const uint64_t *dims = polyad_tensor_dims(bench->tensor);
  for (int n = 0; n < polyad_tensor_order(bench->tensor); ++n) {
    uint64_t bytes;
    if (__builtin_mul_overflow(dims[n], bench->rank * bench_width(job->type), &bytes) ||
        bytes > polyad_memory_limit(bench->session.context))
      return cli_failure("mode %d has length %llu: its factor of rank %llu is larger than memory",
                         n + 1, (unsigned long long)dims[n], (unsigned long long)bench->rank);
    job->factor[n] = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (job->factor[n] == NULL) return cli_failure("out of memory");
    bench_fill(job->factor[n], dims[n] * bench->rank, job->type, (uint64_t)n << 40);
  }
  return 0;
}

int bench_job_make(struct bench *bench, polyad_kernel kernel, struct bench_job *job) {
  *job =
      (struct bench_job){.bench = bench, .kernel = kernel, .type = cli_precision(&bench->session)};
  int order = polyad_tensor_order(bench->tensor);
  if ((int)bench->mode > order)
    return cli_failure("mode %llu does not exist; the tensor has %d modes",
                       (unsigned long long)bench->mode, order);
  return make_factors(job);
}

void bench_job_free(struct bench_job *job) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    free(job->factor[n]);
    bench_reference_clear(&job->reference[n]);
  }
  free(job->out);
}

struct bench_operands bench_operands_of(const struct bench_job *job, int mode) {
  return (struct bench_operands){.tensor = job->bench->tensor,
                                 .kernel = job->kernel,
                                 .mode = mode,
                                 .rank = job->bench->rank,
                                 .factors = (const void *const *)job->factor,
                                 .type = job->type,
                                 .epsilon = BENCH_EPSILON};
}

int bench_job_measurement(const struct bench_job *job, const polyad_plan *plan,
                          polyad_measurement **measurement) {
  polyad_context *context = job->bench->session.context;
  const void *const *factors = (const void *const *)job->factor;
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = job->bench->rank;
  polyad_status status =
      job->kernel == POLYAD_KERNEL_TTMC
          ? polyad_ttmc_measurement_create(context, plan, ranks, factors, measurement)
          : polyad_measurement_create(context, plan, ranks[0], factors, measurement);
  return status == POLYAD_OK ? 0 : cli_library_failure(context);
}

int bench_job_result(struct bench_job *job, const polyad_measurement *measurement, int mode) {
  struct bench_operands operands = bench_operands_of(job, mode);
  uint64_t rows = polyad_tensor_dims(operands.tensor)[mode], bytes;
  /* The device holds a matrix of this size. */
  if (__builtin_mul_overflow(rows, bench_columns(&operands) * bench_width(job->type), &bytes))
    return cli_failure("the result of mode %d is larger than memory", mode + 1);
  if (bytes > job->out_bytes) {
    free(job->out);
    job->out_bytes = 0;
    job->out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (job->out == NULL) return cli_failure("out of memory");
    job->out_bytes = bytes;
  }
  if (polyad_measurement_result(measurement, mode, job->out) != POLYAD_OK)
    return cli_library_failure(job->bench->session.context);
  return 0;
}

int bench_job_reference(struct bench_job *job, int mode, const struct bench_reference **reference) {
  struct bench_operands operands = bench_operands_of(job, mode);
  *reference = &job->reference[mode];
  if (job->reference[mode].row != NULL ||
      bench_reference_create(&operands, polyad_threads(job->bench->session.context),
                             &job->reference[mode]))
    return 0;
  return cli_failure("out of memory");
}

bool bench_wants_mode(const struct bench *bench, int n) {
  return bench->mode == 0 || (int)bench->mode == n + 1;
}
