/* bench read, bench end-to-end. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int bench_read(struct bench *bench) {
  struct stat about;
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  if (seconds == NULL) return cli_failure("out of memory");
  int runs = 0, status = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    polyad_tensor_destroy(bench->tensor);
    bench->tensor = NULL;
    double begin = bench_now();
    status = cli_read_tensor(&bench->session, bench->file, &bench->tensor);
    if (status == 0 && k >= bench->warmup) seconds[runs++] = bench_now() - begin;
    if (bench_interrupted() && runs > 0) break;
  }
  if (status == 0) {
    struct bench_row row = {.format = "read", .max_relative_error = NAN};
    bench_summarise(seconds, runs, &row);
    if (stat(bench->file, &about) == 0) row.bytes_moved = (double)about.st_size;
    bench_add(bench, &row);
    cli_talk(&bench->session, "%.2f million nonzeros a second\n",
             1e-6 * (double)polyad_tensor_nnz(bench->tensor) / row.median);
  }
  free(seconds);
  return status;
}

/* Read (or generate), build, and decompose to the default tolerance; each part is a row. */
int bench_end_to_end(struct bench *bench) {
  struct cli_session *session = &bench->session;
  polyad_context *context = session->context;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  double begin = bench_now();
  int status = cli_read_tensor(session, bench->file, &bench->tensor);
  if (status != 0) return status;
  double read = bench_now() - begin;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = bench->format;
  options.variant = bench->variant;
  cli_set_partitions(&bench->session, &options);
  options.rank = bench->rank;
  options.precision = cli_precision(session);
  begin = bench_now();
  if (polyad_plan_create(context, bench->tensor, &options, &plan) != POLYAD_OK)
    return cli_library_failure(context);
  double build = bench_now() - begin;
  polyad_cp_als_options als;
  polyad_cp_als_options_init(&als);
  als.rank = bench->rank;
  begin = bench_now();
  if (polyad_cp_als(context, plan, &als, &model, &info) != POLYAD_OK)
    status = cli_library_failure(context);
  double decompose = bench_now() - begin;
  const struct {
    const char *name;
    double seconds;
  } parts[] = {{"read", read},
               {"build", build},
               {"decompose", decompose},
               {"total", read + build + decompose}};
  for (int k = 0; k < 4 && status == 0; ++k) {
    double once = parts[k].seconds;
    struct bench_row row = {.format = parts[k].name, .max_relative_error = NAN};
    bench_summarise(&once, 1, &row);
    snprintf(row.variant, sizeof row.variant, "%s", polyad_plan_format(plan));
    row.bytes_format = polyad_plan_bytes(plan);
    bench_add(bench, &row);
  }
  if (status == 0) cli_talk(session, "fit %.6f after %d iterations\n", info.fit, info.iterations);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  return status;
}
