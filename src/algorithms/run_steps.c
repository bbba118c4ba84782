#include "algorithms/run_steps.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

static polyad_status reserve(struct pd_run *run, int iterations) {
  if (iterations <= run->room) return POLYAD_OK;
  uint64_t room = run->room == 0 ? FIRST_ROOM : 2 * (uint64_t)run->room;
  PD_TRY(pd_realloc(run->context, room, sizeof *run->trace, (void **)&run->trace));
  PD_TRY(pd_realloc(run->context, room * (uint64_t)run->order, sizeof *run->kernel_seconds,
                    (void **)&run->kernel_seconds));
  run->room = room < INT32_MAX ? (int)room : INT32_MAX;
  return POLYAD_OK;
}

polyad_status pd_run_open(struct pd_run *run) {
  run->change = NAN;
  return reserve(run, 1);
}

void pd_run_clear(struct pd_run *run) {
  pd_free(run->context, run->trace);
  pd_free(run->context, run->kernel_seconds);
  run->trace = NULL;
  run->kernel_seconds = NULL;
}

polyad_status pd_run_next(struct pd_run *run, double **kernel_seconds) {
  PD_TRY(reserve(run, run->iteration + 1));
  *kernel_seconds = run->kernel_seconds + (size_t)run->iteration * (size_t)run->order;
  return POLYAD_OK;
}

static bool interrupted(struct pd_run *run) {
  polyad_progress progress = {.iteration = run->iteration,
                              .max_iterations = run->max_iterations,
                              .fit = run->fit,
                              .change = run->change,
                              .log_likelihood = NAN,
                              .kkt_violation = NAN,
                              .seconds = pd_run_seconds(run)};
  bool end = pd_report_progress(run->context, &progress);
  return end || pd_cancelled(run->context);
}

void pd_run_done(struct pd_run *run, double fit, double residual, bool *ends,
                 polyad_reason *reason) {
  run->change = run->iteration > 0 ? fit - run->fit : NAN;
  run->fit = fit;
  run->residual = residual;
  run->trace[run->iteration] = (polyad_trace_row){.iteration = run->iteration + 1,
                                                  .fit = fit,
                                                  .residual = residual,
                                                  .seconds = pd_run_seconds(run),
                                                  .log_likelihood = NAN,
                                                  .kkt_violation = NAN};
  ++run->iteration;
  pd_log(run->context, POLYAD_LOG_DEBUG, "iteration %d: fit %.12g, change %.3g", run->iteration,
         fit, run->change);
  bool interrupts = interrupted(run);
  *ends = true;
  if (run->tolerance > 0 && fabs(run->change) < run->tolerance) /* NaN at first */
    *reason = POLYAD_REASON_TOLERANCE;
  else if (interrupts)
    *reason = POLYAD_REASON_CANCELLED;
  else if (run->max_seconds > 0 && pd_run_seconds(run) >= run->max_seconds)
    *reason = POLYAD_REASON_MAX_SECONDS;
  else {
    *reason = POLYAD_REASON_MAX_ITERATIONS;
    *ends = run->iteration >= run->max_iterations;
  }
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(double *values, int count) {
  if (count == 0) return 0;
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

polyad_status pd_run_report(struct pd_run *run, polyad_reason reason, polyad_run_info *info) {
  double *times;
  int rows = run->iteration;
  PD_TRY(PD_NEW(run->context, (uint64_t)rows + 1, &times));
  info->iterations = info->trace_rows = rows;
  info->converged = reason == POLYAD_REASON_TOLERANCE;
  info->reason = reason;
  info->fit = run->fit;
  for (int n = 0; n < run->order; ++n) {
    for (int k = 0; k < rows; ++k)
      times[k] = run->kernel_seconds[k * run->order + n];
    info->seconds_mttkrp[n] = median_of(times, rows);
  }
  for (int k = 0; k < rows; ++k)
    times[k] = run->trace[k].seconds - (k == 0 ? run->start_seconds : run->trace[k - 1].seconds);
  info->seconds_per_iteration = median_of(times, rows);
  pd_free(run->context, times);
  info->trace = run->trace;
  run->trace = NULL;
  return POLYAD_OK;
}
