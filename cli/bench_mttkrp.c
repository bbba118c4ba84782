/* bench mttkrp and bench build. */
#include "bench.h"
#include "bench_reference.h"
#include "text.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
  struct bench *bench;
  polyad_type type;
  void *factor[POLYAD_MAX_ORDER];
  void *out;
  double *seconds;
  struct bench_reference reference[POLYAD_MAX_ORDER]; /* made when first needed */
  bool wrong;                                         /* a result was out of bounds */
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
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    free(job->factor[n]);
    bench_reference_clear(&job->reference[n]);
  }
  free(job->out);
  free(job->seconds);
}

/* Modelled traffic and the least time it can take: see the help text. */
static void model(const struct job *job, int mode, struct bench_row *row) {
  const polyad_tensor *tensor = job->bench->tensor;
  int order = polyad_tensor_order(tensor);
  double nnz = (double)polyad_tensor_nnz(tensor), rank = (double)job->bench->rank;
  double w = (double)bench_width(job->type), stream = w, least = 8 * w, factors = 0, gather = 0;
  for (int n = 0; n < order; ++n) {
    double dim = (double)polyad_tensor_dims(tensor)[n];
    stream += polyad_tensor_index_bytes(tensor, n);
    least += dim > 1 ? ceil(log2(dim)) : 0;
    /* A factor's rows that no nonzero needs are not read. */
    factors += rank * w * fmin(dim, nnz);
    if (n == mode) continue;
    double seconds = nnz * rank * w / bench_gather(job->bench, dim * rank * w);
    if (gather == 0 || seconds < gather) gather = seconds;
  }
  double out = (double)polyad_tensor_dims(tensor)[mode] * rank * w;
  double once = nnz * least / 8 + factors;
  row->flops = order * rank * nnz;
  row->bytes_moved = nnz * stream + nnz * (order - 1) * rank * w + out;
  row->bound_seconds =
      fmax(once / bench_copy(job->bench, once), row->flops / bench_flops(job->bench));
  if (order > 1) row->bound_seconds = fmax(row->bound_seconds, gather);
}

/* Compares the result with the reference, which all formats share. */
static int check_result(struct job *job, int mode, struct bench_row *row) {
  struct bench *bench = job->bench;
  struct bench_reference *reference = &job->reference[mode];
  int order = polyad_tensor_order(bench->tensor);
  if (reference->row == NULL &&
      !bench_reference_create(bench->tensor, mode, bench->rank, (const void *const *)job->factor,
                              job->type, polyad_threads(bench->session.context), reference))
    return cli_failure("out of memory");
  row->max_relative_error = bench_reference_error(reference, bench->rank, job->type, job->out);
  double bound = bench_reference_bound(reference, order, job->type);
  if (row->max_relative_error <= bound) return 0;
  job->wrong = true;
  cli_talk(&bench->session, "%s, mode %d: error %.2g; expected at most %.2g\n", row->format,
           mode + 1, row->max_relative_error, bound);
  return 0;
}

static int time_mode(struct job *job, const polyad_plan *plan, polyad_workspace *workspace,
                     int mode, bool cold, struct bench_row *row) {
  struct bench *bench = job->bench;
  polyad_context *context = bench->session.context;
  int runs = 0;
  polyad_measure_options options = {
      .warmup = (int)bench->warmup, .runs = (int)bench->repeat, .cold = cold};
  if (polyad_mttkrp_measure(context, plan, workspace, mode, (const void *const *)job->factor,
                            &options, job->seconds, &runs, job->out) != POLYAD_OK)
    return cli_library_failure(context);
  bench_summarise(job->seconds, runs, row);
  row->mode = mode + 1;
  row->cold = cold;
  model(job, mode, row);
  return check_result(job, mode, row);
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
    for (int cold = 0; cold < 2 && status == 0; ++cold) {
      if (cold ? !bench->cold : bench->cold && !bench->warm) continue;
      struct bench_row each = row;
      status = time_mode(job, plan, workspace, n, cold, &each);
      if (status == 0) bench_add(bench, &each);
      if (!cold || !bench->warm) total += each.median;
    }
  }
  if (status == 0 && bench->mode == 0)
    cli_talk(&bench->session, "%s: all modes %.3f ms; built in %.3g s, %.4g MB (%s)\n", row.format,
             1e3 * total, row.build_seconds, 1e-6 * (double)row.bytes_format, row.variant);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return status;
}

/* Whether the format can hold the tensor; says why not. */
static bool holds(struct bench *bench, const char *format) {
  polyad_plan_options options;
  uint64_t bytes;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = bench->variant;
  options.rank = bench->rank;
  options.kernel = bench->needs;
  options.precision = cli_precision(&bench->session);
  cli_set_partitions(&bench->session, &options);
  if (polyad_format_estimate_bytes(bench->session.context, bench->tensor, &options, &bytes) ==
      POLYAD_OK)
    return true;
  cli_talk(&bench->session, "%s: %s\n", format, polyad_last_error(bench->session.context));
  return false;
}

/* Calls `each` with the chosen format, or with every one that can hold the tensor: one that then
 * fails, for want of memory say, does not keep the others from being measured. */
int bench_each_format(struct bench *bench, int (*each)(void *user, const char *format),
                      void *user) {
  if (strcmp(bench->format, "all") != 0) return each(user, bench->format);
  int first_failure = 0, measured = 0;
  for (int k = 0; k < polyad_format_count() && !bench_interrupted(); ++k) {
    polyad_format_description about;
    if (polyad_format_describe(k, &about) != POLYAD_OK || !about.built) continue;
    if (!holds(bench, about.name)) continue;
    int status = each(user, about.name);
    if (status == 0) ++measured;
    if (status != 0 && first_failure == 0) first_failure = status;
  }
  return measured > 0 ? 0 : first_failure;
}

static int mttkrp_format(void *user, const char *format) { return bench_format(user, format); }

int bench_mttkrp(struct bench *bench) {
  if ((int)bench->mode > polyad_tensor_order(bench->tensor))
    return cli_failure("mode %llu does not exist; the tensor has %d modes",
                       (unsigned long long)bench->mode, polyad_tensor_order(bench->tensor));
  struct job job;
  int status = make_job(bench, &job);
  if (status == 0) status = bench_each_format(bench, mttkrp_format, &job);
  if (status == 0) bench_best(bench);
  if (status == 0 && job.wrong) status = cli_failure("a result is wrong by more than rounding");
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
