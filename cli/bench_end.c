/* bench end-to-end: reading, building with all transfers, and decomposing by CP-ALS or CP-APR, for
 * each format. */
#include "apr_options.h"
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_part(struct bench *bench, const char *part, const char *format, double seconds,
                     uint64_t bytes, const polyad_run_info *info) {
  struct bench_row row = {.format = part, .bytes_format = bytes, .max_relative_error = NAN};
  if (info != NULL) {
    row.iterations = info->iterations;
    row.fit = info->fit;
    row.log_likelihood = info->log_likelihood;
  }
  bench_summarise(&seconds, 1, &row);
  snprintf(row.variant, sizeof row.variant, "%s", format);
  bench_add(bench, &row);
}

/* Seconds from the start of the run to the first iteration that reached what was asked for; NaN
 * when none did. */
static double seconds_to_goal(const struct bench *bench, const polyad_run_info *info) {
  for (int k = 0; k < info->trace_rows; ++k) {
    const polyad_trace_row *row = &info->trace[k];
    if (cli_is_apr(bench->algorithm) ? row->log_likelihood >= bench->log_likelihood
                                     : row->fit >= bench->fit)
      return row->seconds;
  }
  return NAN;
}

/* What was given for runs, over an algorithm's defaults. */
static void set_run(const struct bench *bench, polyad_run_options *run) {
  if (bench->max_iterations > 0) run->max_iterations = (int)bench->max_iterations;
  if (bench->tolerance >= 0) run->tolerance = bench->tolerance;
}

static double expected_sweeps(const struct bench *bench) {
  polyad_cp_als_options als;
  polyad_cp_apr_options apr;
  polyad_cp_als_options_init(&als);
  polyad_cp_apr_options_init(&apr);
  polyad_run_options run = cli_is_apr(bench->algorithm) ? apr.run : als.run;
  set_run(bench, &run);
  return polyad_expected_sweeps(&run, bench->needs);
}

static polyad_status run_als(struct bench *bench, const polyad_plan *plan, polyad_ktensor **model,
                             polyad_run_info *info) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = bench->rank;
  set_run(bench, &options.run);
  return polyad_cp_als(bench->session.context, plan, &options, model, info);
}

static polyad_status run_apr(struct bench *bench, const polyad_plan *plan, polyad_ktensor **model,
                             polyad_run_info *info) {
  struct cli_apr_options apr;
  cli_apr_options_init(&apr);
  cli_apr_options_finish(&apr, bench->algorithm);
  apr.options.rank = bench->rank;
  set_run(bench, &apr.options.run);
  return polyad_cp_apr(bench->session.context, plan, &apr.options, model, info);
}

struct end_to_end {
  struct bench *bench;
  double read; /* seconds for the file; 0 when the tensor was generated */
};

/* What came out, and how long it took. */
static void report(const struct end_to_end *run, const struct bench_row *built, double decompose,
                   const polyad_run_info *info) {
  struct bench *bench = run->bench;
  const char *name = built->format;
  double before = run->read + built->build_seconds, reach = seconds_to_goal(bench, info);
  bool asked = cli_is_apr(bench->algorithm) ? !isnan(bench->log_likelihood) : bench->fit > 0;
  add_part(bench, "build", name, built->build_seconds, built->bytes_format, NULL);
  add_part(bench, "decompose", name, decompose, built->bytes_format, info);
  add_part(bench, "total", name, before + decompose, built->bytes_format, info);
  if (asked && isfinite(reach))
    add_part(bench, "to-fit", name, before + reach, built->bytes_format, NULL);
  else if (asked)
    cli_talk(&bench->session, "%s: %s %.10g was not reached\n", name,
             cli_is_apr(bench->algorithm) ? "log-likelihood" : "fit",
             cli_is_apr(bench->algorithm) ? bench->log_likelihood : bench->fit);
  if (cli_is_apr(bench->algorithm))
    cli_talk(&bench->session, "%s: log-likelihood %.10g after %d iterations\n", name,
             info->log_likelihood, info->iterations);
  else
    cli_talk(&bench->session, "%s: fit %.6f after %d iterations\n", name, info->fit,
             info->iterations);
}

static int run_format(void *user, const char *format) {
  const struct end_to_end *run = user;
  struct bench *bench = run->bench;
  polyad_context *context = bench->session.context;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  struct bench_row built;
  int status = bench_make_plan(bench, format, bench->variant, &plan, &built);
  if (status != 0) return status;
  double begin = cli_now();
  if ((cli_is_apr(bench->algorithm) ? run_apr : run_als)(bench, plan, &model, &info) != POLYAD_OK)
    status = cli_library_failure(context);
  double decompose = cli_now() - begin;
  if (status == 0) cli_phase_of_run(&info);
  if (status == 0) report(run, &built, decompose, &info);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  return status;
}

int bench_end_to_end(struct bench *bench) {
  double begin = cli_now();
  cli_phase(CLI_READ);
  int status = bench_load(bench);
  if (status != 0) return status;
  struct end_to_end run = {bench, strncmp(bench->file, "like:", 5) == 0 ? 0 : cli_now() - begin};
  cli_phase(CLI_ITERATIONS);
  bench->needs = cli_kernel_of(bench->algorithm);
  bench->sweeps = expected_sweeps(bench);
  if (run.read > 0) add_part(bench, "read", "", run.read, 0, NULL);
  return bench_each_format(bench, run_format, &run);
}
