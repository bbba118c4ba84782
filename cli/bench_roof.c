/* bench roof: what bounds kernels, at several sizes. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void size_text(double bytes, char text[64]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 3; bytes /= 1024)
    ++unit;
  snprintf(text, 64, "%.4g %s", bytes, units[unit]);
}

static int measure(struct bench *bench, polyad_roof what, const char *name, double bytes,
                   double *seconds) {
  polyad_context *context = bench->session.context;
  double work;
  struct bench_row row = {.format = name, .max_relative_error = NAN};
  polyad_type type = cli_precision(&bench->session);
  polyad_status status = polyad_roof_measure(context, what, type, bench->rank, (uint64_t)bytes,
                                             (int)bench->repeat, seconds, &work);
  if (status == POLYAD_MEMORY_LIMIT || status == POLYAD_OUT_OF_MEMORY) {
    cli_talk(&bench->session, "%s: %s\n", name, polyad_last_error(context));
    return 0;
  }
  if (status != POLYAD_OK) return cli_library_failure(context);
  bench_summarise(seconds, (int)bench->repeat, &row);
  if (bytes > 0) size_text(bytes, row.variant);
  if (what == POLYAD_ROOF_COPY || what == POLYAD_ROOF_GATHER)
    row.bytes_moved = work;
  else
    row.flops = work;
  bench_add(bench, &row);
  return 0;
}

int bench_roof(struct bench *bench) {
  static const double mebibytes[] = {0.0625, 0.25, 1, 4, 8, 16, 30, 60, 100, 200, 500, 2000};
  enum { SIZES = sizeof mebibytes / sizeof *mebibytes };
  static const struct {
    polyad_roof what;
    const char *name;
  } roofs[] = {
      {POLYAD_ROOF_COPY, "copy"}, {POLYAD_ROOF_GATHER, "gather"}, {POLYAD_ROOF_ADD, "add"}};
  double row = (double)bench->rank * (cli_precision(&bench->session) == POLYAD_F32 ? 4 : 8);
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  int status = seconds == NULL ? cli_failure("out of memory") : 0;
  for (int k = 0; k < 3 && status == 0; ++k) {
    /* Few rows, to which many add at once. */
    if (roofs[k].what == POLYAD_ROOF_ADD) {
      status = measure(bench, roofs[k].what, roofs[k].name, row, seconds);
      if (status == 0) status = measure(bench, roofs[k].what, roofs[k].name, 24 * row, seconds);
    }
    for (int s = 0; s < SIZES && status == 0 && !bench_interrupted(); ++s)
      status = measure(bench, roofs[k].what, roofs[k].name, mebibytes[s] * (1 << 20), seconds);
  }
  if (status == 0) status = measure(bench, POLYAD_ROOF_FLOPS, "flops", 0, seconds);
  free(seconds);
  return status;
}
