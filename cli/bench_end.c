/* bench end-to-end: reading, building with all transfers, and decomposing, for each format. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_part(struct bench *bench, const char *part, const char *format, double seconds,
                     uint64_t bytes) {
  struct bench_row row = {.format = part, .bytes_format = bytes, .max_relative_error = NAN};
  bench_summarise(&seconds, 1, &row);
  snprintf(row.variant, sizeof row.variant, "%s", format);
  bench_add(bench, &row);
}

/* Seconds from the start of the run to the first iteration that reached the fit; NaN when none
 * did. */
static double seconds_to_fit(const polyad_run_info *info, double fit) {
  for (int k = 0; k < info->trace_rows; ++k)
    if (info->trace[k].fit >= fit) return info->trace[k].seconds;
  return NAN;
}

struct end_to_end {
  struct bench *bench;
  double read; /* seconds for the file; 0 when the tensor was generated */
};

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
  polyad_cp_als_options als;
  polyad_cp_als_options_init(&als);
  als.rank = bench->rank;
  double begin = cli_now();
  if (polyad_cp_als(context, plan, &als, &model, &info) != POLYAD_OK)
    status = cli_library_failure(context);
  double decompose = cli_now() - begin;
  if (status == 0) {
    const char *name = polyad_plan_format(plan);
    double reach = seconds_to_fit(&info, bench->fit);
    add_part(bench, "build", name, built.build_seconds, built.bytes_format);
    add_part(bench, "decompose", name, decompose, built.bytes_format);
    add_part(bench, "total", name, run->read + built.build_seconds + decompose, built.bytes_format);
    if (bench->fit > 0 && isfinite(reach))
      add_part(bench, "to-fit", name, run->read + built.build_seconds + reach, built.bytes_format);
    else if (bench->fit > 0)
      cli_talk(&bench->session, "%s: fit %g was not reached\n", name, bench->fit);
    cli_talk(&bench->session, "%s: fit %.6f after %d iterations\n", name, info.fit,
             info.iterations);
  }
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  return status;
}

int bench_end_to_end(struct bench *bench) {
  double begin = cli_now();
  int status = bench_load(bench);
  if (status != 0) return status;
  struct end_to_end run = {bench, strncmp(bench->file, "like:", 5) == 0 ? 0 : cli_now() - begin};
  if (run.read > 0) add_part(bench, "read", "", run.read, 0);
  return bench_each_format(bench, run_format, &run);
}
