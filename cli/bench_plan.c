/* Plans that are measured, and bench build. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static polyad_plan_options options_of(const struct bench *bench, const char *format,
                                      const char *variant) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  cli_set_types(&bench->session, &options);
  options.rank = bench->rank;
  options.kernel = bench->needs;
  options.sweeps = bench->sweeps;
  return options;
}

static bool is_tuned(const char *format, const char *device) {
  char kind[16];
  polyad_format_description about;
  snprintf(kind, sizeof kind, "%.*s", (int)strcspn(device, ":,"), device);
  for (int k = 0; polyad_format_describe(k, &about) == POLYAD_OK; ++k)
    if (strcmp(about.name, format) == 0) return cli_has_word(about.tuned, kind);
  return false;
}

int bench_make_plan(struct bench *bench, const char *format, const char *variant,
                    polyad_plan **plan, struct bench_row *row) {
  polyad_context *context = bench->session.context;
  polyad_plan_options options = options_of(bench, format, variant);
  cli_set_tuning(&bench->session, &options);
  double begin = cli_now();
  cli_phase(CLI_BUILD);
  polyad_status status = polyad_plan_create(context, bench->tensor, &options, plan);
  cli_phase(CLI_ITERATIONS);
  if (status != POLYAD_OK) return cli_library_status(context, status);
  *row = (struct bench_row){.format = polyad_plan_format(*plan),
                            .tuned = is_tuned(polyad_plan_format(*plan), polyad_device(context)),
                            .build_seconds = cli_now() - begin,
                            .bytes_format = polyad_plan_bytes(*plan),
                            .max_relative_error = NAN};
  snprintf(row->variant, sizeof row->variant, "%s", polyad_plan_variant(*plan));
  return 0;
}

bool bench_holds(const struct bench *bench, const char *format) {
  polyad_plan_options options = options_of(bench, format, bench->variant);
  uint64_t bytes;
  return polyad_format_estimate_bytes(bench->session.context, bench->tensor, &options, &bytes) ==
         POLYAD_OK;
}

/* Of several formats one that fails, for want of memory say, does not keep the others from being
 * measured. */
int bench_each_format(struct bench *bench, int (*each)(void *user, const char *format),
                      void *user) {
  if (bench->item_count > 0) return bench_each_item(bench, each, user);
  if (strcmp(bench->format, "all") != 0) return each(user, bench->format);
  int first_failure = 0, measured = 0;
  for (int k = 0; k < polyad_format_count() && !bench_interrupted(); ++k) {
    polyad_format_description about;
    if (polyad_format_describe(k, &about) != POLYAD_OK) continue;
    if (!bench_holds(bench, about.name)) {
      cli_talk(&bench->session, "left out: %s\n", polyad_last_error(bench->session.context));
      continue;
    }
    int status = each(user, about.name);
    if (status == 0) ++measured;
    if (status != 0 && first_failure == 0) first_failure = status;
  }
  return measured > 0 ? 0 : first_failure;
}

/* What building has to move. */
struct moved {
  struct bench *bench;
  double bytes;
};

static double bound_of(void *user) {
  const struct moved *moved = user;
  return moved->bytes / bench_copy(moved->bench, moved->bytes);
}

static int build_format(void *user, const char *format) {
  struct bench *bench = user;
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  if (seconds == NULL) return cli_failure("out of memory");
  struct bench_row row = {0};
  int runs = 0, status = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    polyad_plan *plan = NULL;
    status = bench_make_plan(bench, format, bench->variant, &plan, &row);
    if (status == 0) {
      if (k >= bench->warmup) seconds[runs++] = row.build_seconds;
    }
    polyad_plan_destroy(plan);
    if (bench_interrupted() && runs > 0) break;
  }
  if (status == 0) {
    bench_summarise(seconds, runs, &row);
    row.bytes_moved = (double)row.bytes_format + (double)polyad_tensor_bytes(bench->tensor);
    struct moved moved = {bench, row.bytes_moved};
    row.bound_seconds = bench_bound(bench, row.median, bound_of, &moved);
    bench_add(bench, &row);
  }
  free(seconds);
  return status;
}

int bench_build(struct bench *bench) { return bench_each_format(bench, build_format, bench); }
