/* The rates of the machine that bound what kernels can reach, and the share of the bound that a
 * measurement reached. */
#include "bench.h"
#include <math.h>

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

/* Rates are measured once for each size; again, keeping the better, where a result passes what they
 * allow: the machine may have been busy the first time. */
static double remembered(struct bench *bench, polyad_roof what, double bytes,
                         struct bench_rate *rates) {
  int k = 0;
  while (k < BENCH_RATES - 1 && rates[k].rate != 0 && rates[k].bytes != bytes)
    ++k;
  if (rates[k].rate == 0 || rates[k].bytes != bytes)
    rates[k] = (struct bench_rate){bytes, rate_of(bench, what, bytes)};
  else if (bench->rates_again)
    rates[k].rate = fmax(rates[k].rate, rate_of(bench, what, bytes));
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

double bench_bound(struct bench *bench, double median, double (*bound)(void *user), void *user) {
  double seconds = bound(user);
  if (isfinite(bench_share(seconds, median))) return seconds;
  bench->rates_again = true;
  seconds = bound(user);
  bench->rates_again = false;
  return seconds;
}

double bench_share(double bound_seconds, double median) {
  double share = bound_seconds > 0 && median > 0 ? bound_seconds / median : NAN;
  return share <= BENCH_SHARE_MOST ? share : NAN;
}
