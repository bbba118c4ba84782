/* The report of a run: words for why it ended, medians of its times, the rows of its trace, and the
 * sentences of its diagnosis. */
#include "algorithms/method.h"
#include "core/median.h"
#include "tensor/ktensor.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *polyad_reason_string(polyad_reason reason) {
  switch (reason) {
  case POLYAD_REASON_TOLERANCE:
    return "tolerance";
  case POLYAD_REASON_MAX_ITERATIONS:
    return "max_iterations";
  case POLYAD_REASON_MAX_SECONDS:
    return "max_seconds";
  case POLYAD_REASON_CANCELLED:
    return "cancelled";
  case POLYAD_REASON_BREAKDOWN:
    return "breakdown";
  case POLYAD_REASON_VALIDATION:
    return "validation";
  }
  return "unknown";
}

const char *polyad_fit_from_string(polyad_fit_from from) {
  return from == POLYAD_FIT_OBSERVED   ? "observed"
         : from == POLYAD_FIT_RESIDUAL ? "residual"
                                       : "formula";
}

void polyad_run_info_clear(polyad_run_info *info) {
  if (info == NULL) return;
  pd_free(NULL, info->trace);
  for (int k = 0; info->models != NULL && k < info->start_count; ++k)
    polyad_ktensor_destroy(info->models[k]);
  PD_FREE(NULL, info->models, info->starts);
  memset(info, 0, sizeof *info);
}

void pd_run_say(polyad_run_info *info, const char *format, ...) {
  char sentence[256];
  size_t used = strlen(info->diagnosis);
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  const char *blank = used > 0 ? " " : "";
  if (length <= 0 || (size_t)length >= sizeof sentence ||
      used + strlen(blank) + (size_t)length >= sizeof info->diagnosis)
    return;
  snprintf(info->diagnosis + used, sizeof info->diagnosis - used, "%s%s", blank, sentence);
}

/* ---- times -------------------------------------------------------------------------------- */

/* 0 of no iteration. */
static double median_of_rows(double *times, int rows) {
  return rows == 0 ? 0 : pd_median((uint64_t)rows, times);
}

/* Of what iterations do besides their kernels. */
static double median_outside(const struct pd_run *run, double *times) {
  int first = run->first_iteration, rows = run->iteration - first;
  double before = run->start_seconds;
  for (int k = 0; k < rows; ++k) {
    times[k] = run->trace[first + k].seconds - before;
    before = run->trace[first + k].seconds;
    for (int n = 0; n < run->order; ++n)
      times[k] -= run->kernel_seconds[(size_t)(first + k) * (size_t)run->order + (size_t)n];
    if (times[k] < 0) times[k] = 0; /* clocks of two kinds */
  }
  return median_of_rows(times, rows);
}

/* Medians over the iterations that this run did itself. `times` has room for them. */
static void report_times(const struct pd_run *run, double *times, polyad_run_info *info) {
  int first = run->first_iteration, rows = run->iteration - first;
  double before = run->start_seconds;
  for (int n = 0; n < run->order; ++n) {
    for (int k = 0; k < rows; ++k) {
      times[k] = run->kernel_seconds[(size_t)(first + k) * (size_t)run->order + (size_t)n];
      info->seconds_mttkrp_total[n] += times[k];
    }
    info->seconds_mttkrp[n] = median_of_rows(times, rows);
  }
  for (int k = 0; k < rows; ++k) {
    times[k] = run->trace[first + k].seconds - before;
    before = run->trace[first + k].seconds;
  }
  info->seconds_per_iteration = median_of_rows(times, rows);
  info->seconds_outside = run->order > 0 ? median_outside(run, times) : 0;
}

polyad_status pd_run_report(const struct pd_run *run, polyad_reason reason, polyad_run_info *info) {
  polyad_trace_row *trace = NULL;
  double *times = NULL;
  int rows = run->iteration;
  PD_TRY(PD_NEW(run->context, (uint64_t)rows + 1, &times));
  polyad_status status = PD_NEW(run->context, (uint64_t)rows + 1, &trace);
  if (status == POLYAD_OK) {
    const polyad_trace_row *last = rows > 0 ? &run->trace[rows - 1] : NULL;
    if (rows > 0) memcpy(trace, run->trace, (size_t)rows * sizeof *trace);
    polyad_run_info_clear(info);
    *info = (polyad_run_info){.iterations = rows,
                              .converged = reason == POLYAD_REASON_TOLERANCE,
                              .reason = reason,
                              .fit = last != NULL ? last->fit : NAN,
                              .fit_bound = last != NULL ? last->fit_bound : NAN,
                              .fit_from = last != NULL ? last->fit_from : POLYAD_FIT_FORMULA,
                              .log_likelihood = last != NULL ? last->log_likelihood : NAN,
                              .kkt_violation = last != NULL ? last->kkt_violation : NAN,
                              .best_restart = run->start,
                              .rmse = NAN,
                              .validation_rmse = NAN,
                              .trace_rows = rows,
                              .trace = trace};
    report_times(run, times, info);
  }
  pd_free(run->context, times);
  return status;
}

/* A pair of components, and the cosine between them. */
struct pair {
  uint64_t first, second;
  double cosine;
};

/* Pairs of components that nearly cancel are the sign of a model whose best fit does not exist
 * (Kolda and Bader 2009, section 3.3); pairs that are nearly the same, of a rank that is too large
 * or of slow convergence. */
void pd_run_say_pairs(polyad_context *context, uint64_t rank, const struct pd_component *order,
                      const double *cosine, polyad_run_info *info) {
  struct pair least = {0, 0, 0}, most = {0, 0, 0};
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = r + 1; s < rank; ++s) {
      uint64_t row = order != NULL ? order[r].place : r,
               column = order != NULL ? order[s].place : s;
      double value = cosine[row * rank + column];
      if (value < least.cosine) least = (struct pair){r, s, value};
      if (value > most.cosine) most = (struct pair){r, s, value};
    }
  if (least.cosine < -0.95)
    pd_run_say(
        info,
        "Components %" PRIu64 " and %" PRIu64
        " nearly cancel (cosine %.4f): the model is degenerate "
        "and its weights may grow without bound; try a lower rank, nonnegative factors or a ridge.",
        pd_shown(context, least.first), pd_shown(context, least.second), least.cosine);
  if (most.cosine > 0.99)
    pd_run_say(info,
               "Components %" PRIu64 " and %" PRIu64
               " are nearly the same (cosine %.4f): the rank may be "
               "too large, or convergence slow.",
               pd_shown(context, most.first), pd_shown(context, most.second), most.cosine);
}
