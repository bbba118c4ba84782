/* bench roof, and the rates that bound the other measurements. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  RUNS = 3,
  MORE_RUNS = 21,
  MEASURED_MOST = 1 << 30 /* bytes: beyond, rates no longer change */
};
static const double ENOUGH_SECONDS = 0.02;

/* The shortest of some runs, 0 when the device cannot tell. `spent`: grows by all of them. */
static double best_of(struct bench *bench, polyad_roof what, double bytes, int runs, double *work,
                      double *spent) {
  double seconds[MORE_RUNS], best = INFINITY;
  if (polyad_roof_measure(bench->session.context, what, cli_precision(&bench->session), bench->rank,
                          (uint64_t)bytes, runs, seconds, work) != POLYAD_OK)
    return 0;
  for (int k = 0; k < runs; ++k) {
    best = fmin(best, seconds[k]);
    *spent += seconds[k];
  }
  return best;
}

/* The best rate of a few runs, of more when they are short; infinite when the device cannot tell.
 * Every call makes its arrays anew, which takes longer than short runs do. */
static double rate_of(struct bench *bench, polyad_roof what, double bytes) {
  double work = 0, spent = 0, best = best_of(bench, what, bytes, RUNS, &work, &spent);
  if (best > 0 && spent < ENOUGH_SECONDS)
    best = fmin(best, best_of(bench, what, bytes, MORE_RUNS, &work, &spent));
  return best > 0 ? work / best : INFINITY;
}

/* Rates are measured once for each size. */
static double remembered(struct bench *bench, polyad_roof what, double bytes,
                         struct bench_rate *rates) {
  int k = 0;
  while (k < BENCH_RATES - 1 && rates[k].rate != 0 && rates[k].bytes != bytes)
    ++k;
  if (rates[k].rate == 0 || rates[k].bytes != bytes)
    rates[k] = (struct bench_rate){bytes, rate_of(bench, what, bytes)};
  return rates[k].rate;
}

double bench_copy(struct bench *bench, double bytes) {
  return remembered(bench, POLYAD_ROOF_COPY, fmin(bytes, MEASURED_MOST), bench->copy);
}

double bench_gather(struct bench *bench, double bytes) {
  return remembered(bench, POLYAD_ROOF_GATHER, fmin(bytes, MEASURED_MOST), bench->gather);
}

double bench_flops(struct bench *bench) {
  return remembered(bench, POLYAD_ROOF_FLOPS, 0, &bench->flops);
}

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
