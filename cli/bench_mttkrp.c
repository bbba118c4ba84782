/* bench mttkrp and bench build. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_fill(void *matrix, uint64_t count, polyad_type type, uint64_t seed) {
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t z = (seed + k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    double value = 0.5 + 0.5 * ((double)(z >> 11) * 0x1p-53);
    if (type == POLYAD_F64)
      ((double *)matrix)[k] = value;
    else
      ((float *)matrix)[k] = (float)value;
  }
}

double bench_entry(const void *matrix, uint64_t k, polyad_type type) {
  return type == POLYAD_F64 ? ((const double *)matrix)[k] : ((const float *)matrix)[k];
}

uint64_t bench_index(const polyad_tensor *tensor, int mode, uint64_t p) {
  const void *indices = polyad_tensor_indices(tensor, mode);
  return polyad_tensor_index_bytes(tensor, mode) == 4 ? ((const uint32_t *)indices)[p]
                                                      : ((const uint64_t *)indices)[p];
}

enum { SAMPLED = 256 };

double bench_check_mttkrp(const polyad_tensor *tensor, int mode, uint64_t rank,
                          const void *const *factors, polyad_type type, const void *out) {
  uint64_t rows = polyad_tensor_dims(tensor)[mode], nnz = polyad_tensor_nnz(tensor);
  uint64_t step = rows <= SAMPLED ? 1 : rows / SAMPLED, slots = (rows + step - 1) / step;
  long double *sum = calloc(slots * rank, sizeof *sum), *size = calloc(slots * rank, sizeof *size);
  double worst = 0;
  if (sum == NULL || size == NULL) worst = NAN;
  int order = polyad_tensor_order(tensor);
  for (uint64_t p = 0; isfinite(worst) && p < nnz; ++p) {
    uint64_t row = bench_index(tensor, mode, p);
    if (row % step != 0) continue;
    double value = bench_entry(polyad_tensor_values(tensor), p, polyad_tensor_type(tensor));
    for (uint64_t r = 0; r < rank; ++r) {
      long double product = value;
      for (int n = 0; n < order; ++n)
        if (n != mode)
          product *= bench_entry(factors[n], bench_index(tensor, n, p) * rank + r, type);
      sum[row / step * rank + r] += product;
      size[row / step * rank + r] += fabsl(product);
    }
  }
  for (uint64_t k = 0; isfinite(worst) && k < slots * rank; ++k) {
    long double found = bench_entry(out, k / rank * step * rank + k % rank, type);
    double error = size[k] > 0 ? (double)(fabsl(found - sum[k]) / size[k]) : found != 0;
    if (error > worst || isnan(error)) worst = error;
  }
  free(sum);
  free(size);
  return worst;
}

struct job {
  struct bench *bench;
  polyad_type type;
  void *factor[POLYAD_MAX_ORDER];
  void *out;
  double *seconds;
};

size_t bench_width(polyad_type type) { return type == POLYAD_F64 ? 8 : 4; }

static int make_job(struct bench *bench, struct job *job) {
  *job = (struct job){.bench = bench, .type = cli_precision(&bench->session)};
  const uint64_t *dims = polyad_tensor_dims(bench->tensor);
  uint64_t longest = 0;
  for (int n = 0; n < polyad_tensor_order(bench->tensor); ++n) {
    uint64_t bytes;
    if (__builtin_mul_overflow(dims[n], bench->rank * bench_width(job->type), &bytes) ||
        bytes > polyad_memory_limit(bench->session.context))
      return cli_failure("mode %d has length %llu: its factor of rank %llu is larger than memory",
                         n + 1, (unsigned long long)dims[n], (unsigned long long)bench->rank);
    job->factor[n] = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (job->factor[n] == NULL) return cli_failure("out of memory");
    bench_fill(job->factor[n], dims[n] * bench->rank, job->type, (uint64_t)n << 40);
    if (bytes > longest) longest = bytes;
  }
  job->out = aligned_alloc(64, (longest + 63) / 64 * 64);
  job->seconds = malloc(bench->repeat * sizeof *job->seconds);
  return job->out == NULL || job->seconds == NULL ? cli_failure("out of memory") : 0;
}

static void free_job(struct job *job) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    free(job->factor[n]);
  free(job->out);
  free(job->seconds);
}

/* Modelled traffic: see the help text. */
static void model(const struct job *job, int mode, struct bench_row *row) {
  const polyad_tensor *tensor = job->bench->tensor;
  int order = polyad_tensor_order(tensor);
  double nnz = (double)polyad_tensor_nnz(tensor), rank = (double)job->bench->rank;
  double w = (double)bench_width(job->type), stream = w, factors = 0;
  for (int n = 0; n < order; ++n) {
    stream += polyad_tensor_index_bytes(tensor, n);
    double bytes = (double)polyad_tensor_dims(tensor)[n] * rank * w;
    double touched = nnz * rank * w; /* a factor's rows that no nonzero needs are not read */
    factors += bytes < touched ? bytes : touched;
  }
  double out = (double)polyad_tensor_dims(tensor)[mode] * rank * w;
  row->flops = order * rank * nnz;
  row->bytes_moved = nnz * stream + nnz * (order - 1) * rank * w + out;
  row->bound_seconds = (nnz * stream + factors) / bench_triad(job->bench);
}

static int time_mode(struct job *job, const polyad_plan *plan, polyad_workspace *workspace,
                     int mode, struct bench_row *row) {
  struct bench *bench = job->bench;
  polyad_context *context = bench->session.context;
  int runs = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat; ++k) {
    double begin = bench_now();
    if (polyad_mttkrp(context, plan, workspace, mode, (const void *const *)job->factor, job->out) !=
        POLYAD_OK)
      return cli_library_failure(context);
    if (k >= bench->warmup) job->seconds[runs++] = bench_now() - begin;
    if (bench_interrupted() && runs > 0) break;
  }
  bench_summarise(job->seconds, runs, row);
  row->mode = mode + 1;
  row->max_relative_error = bench_check_mttkrp(
      bench->tensor, mode, bench->rank, (const void *const *)job->factor, job->type, job->out);
  model(job, mode, row);
  return 0;
}

int bench_make_plan(struct bench *bench, const char *format, polyad_plan **plan,
                    struct bench_row *row) {
  polyad_context *context = bench->session.context;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = bench->variant;
  cli_set_partitions(&bench->session, &options);
  options.rank = bench->rank;
  options.kernel = bench->needs;
  options.precision = cli_precision(&bench->session);
  double begin = bench_now();
  polyad_status status = polyad_plan_create(context, bench->tensor, &options, plan);
  if (status != POLYAD_OK) {
    (void)cli_library_failure(context);
    return status == POLYAD_INVALID_ARGUMENT ? 2 : 1;
  }
  *row = (struct bench_row){.format = polyad_plan_format(*plan),
                            .build_seconds = bench_now() - begin,
                            .bytes_format = polyad_plan_bytes(*plan),
                            .max_relative_error = NAN};
  snprintf(row->variant, sizeof row->variant, "%s", polyad_plan_variant(*plan));
  return 0;
}

static int bench_format(struct job *job, const char *format) {
  struct bench *bench = job->bench;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  struct bench_row row;
  int status = bench_make_plan(bench, format, &plan, &row);
  if (status != 0) return status;
  if (polyad_workspace_create(bench->session.context, plan, bench->rank, &workspace) != POLYAD_OK)
    status = cli_library_failure(bench->session.context);
  double total = 0;
  int order = polyad_tensor_order(bench->tensor);
  for (int n = 0; n < order && status == 0 && !bench_interrupted(); ++n) {
    if (bench->mode > 0 && (int)bench->mode != n + 1) continue;
    struct bench_row each = row;
    status = time_mode(job, plan, workspace, n, &each);
    if (status == 0) bench_add(bench, &each);
    total += each.median;
  }
  if (status == 0 && bench->mode == 0)
    cli_talk(&bench->session, "%s: all modes %.3f ms\n", row.format, 1e3 * total);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return status;
}

int bench_each_format(struct bench *bench, int (*each)(void *user, const char *format),
                      void *user) {
  if (strcmp(bench->format, "all") != 0) return each(user, bench->format);
  for (int k = 0; k < polyad_format_count() && !bench_interrupted(); ++k) {
    polyad_format_description about;
    if (polyad_format_describe(k, &about) != POLYAD_OK || !about.built) continue;
    polyad_plan_options options;
    polyad_plan_options_init(&options);
    options.format = about.name;
    options.rank = bench->rank;
    options.kernel = bench->needs;
    options.precision = cli_precision(&bench->session);
    uint64_t bytes;
    if (polyad_format_estimate_bytes(bench->session.context, bench->tensor, &options, &bytes) !=
        POLYAD_OK) {
      cli_talk(&bench->session, "%s: %s\n", about.name, polyad_last_error(bench->session.context));
      continue;
    }
    int status = each(user, about.name);
    if (status != 0) return status;
  }
  return 0;
}

static int mttkrp_format(void *user, const char *format) { return bench_format(user, format); }

int bench_mttkrp(struct bench *bench) {
  if ((int)bench->mode > polyad_tensor_order(bench->tensor))
    return cli_failure("mode %llu does not exist; the tensor has %d modes",
                       (unsigned long long)bench->mode, polyad_tensor_order(bench->tensor));
  struct job job;
  int status = make_job(bench, &job);
  if (status == 0) status = bench_each_format(bench, mttkrp_format, &job);
  free_job(&job);
  return status;
}

static int build_format(void *user, const char *format) {
  struct bench *bench = user;
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  if (seconds == NULL) return cli_failure("out of memory");
  struct bench_row row = {0};
  int runs = 0, status = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    polyad_plan *plan = NULL;
    status = bench_make_plan(bench, format, &plan, &row);
    if (status == 0) {
      if (k >= bench->warmup) seconds[runs++] = row.build_seconds;
    }
    polyad_plan_destroy(plan);
    if (bench_interrupted() && runs > 0) break;
  }
  if (status == 0) {
    bench_summarise(seconds, runs, &row);
    row.bytes_moved = (double)row.bytes_format;
    bench_add(bench, &row);
  }
  free(seconds);
  return status;
}

int bench_build(struct bench *bench) { return bench_each_format(bench, build_format, bench); }
