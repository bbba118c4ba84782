#include "algorithms/run_steps.h"
#include "core/threads.h"
#include "plan/plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_AT_FIRST = 1 << 16 };

polyad_status pd_run_reserve(struct pd_run *run, int iterations) {
  if (iterations <= run->room) return POLYAD_OK;
  uint64_t room = 2 * (uint64_t)run->room;
  if (room < (uint64_t)iterations) room = (uint64_t)iterations;
  PD_TRY(pd_realloc(run->context, room, sizeof *run->trace, (void **)&run->trace));
  if (run->order > 0)
    PD_TRY(pd_realloc(run->context, room * (uint64_t)run->order, sizeof *run->kernel_seconds,
                      (void **)&run->kernel_seconds));
  run->room = room < INT32_MAX ? (int)room : INT32_MAX;
  return POLYAD_OK;
}

polyad_status pd_run_open(struct pd_run *run) {
  int room = run->max_iterations < ROOM_AT_FIRST ? run->max_iterations : ROOM_AT_FIRST;
  run->change = NAN;
  return pd_run_reserve(run, room + 1);
}

void pd_run_clear(struct pd_run *run) {
  pd_free(run->context, run->trace);
  pd_free(run->context, run->kernel_seconds);
  pd_free(run->context, run->starts);
  run->trace = NULL;
  run->kernel_seconds = NULL;
  run->starts = NULL;
}

void pd_run_restart(struct pd_run *run, int restart) {
  run->restart = restart;
  run->iteration = 0;
  run->change = NAN;
}

void pd_run_begin(struct pd_run *run) {
  run->start_seconds = pd_run_seconds(run);
  run->first_iteration = run->iteration;
}

bool pd_run_growth_below(const struct pd_run *run, double tolerance) {
  return tolerance > 0 && run->change >= 0 && run->change < tolerance; /* NaN at first */
}

/* What an iteration improves. */
static double objective(const polyad_trace_row *row) {
  return isnan(row->fit) ? row->log_likelihood : row->fit;
}

static void record(struct pd_run *run, polyad_trace_row row) {
  row.iteration = run->iteration + 1;
  row.seconds = pd_run_seconds(run);
  run->change =
      run->iteration > 0 ? objective(&row) - objective(&run->trace[run->iteration - 1]) : NAN;
  run->trace[run->iteration++] = row;
  char change[40] = "";
  if (!isnan(run->change)) snprintf(change, sizeof change, ", change %.3g", run->change);
  if (isnan(row.fit))
    pd_log(run->context, POLYAD_LOG_DEBUG,
           "iteration %d: log-likelihood %.12g, KKT violation %.3g, %llu inner iterations",
           row.iteration, row.log_likelihood, row.kkt_violation,
           (unsigned long long)row.inner_iterations);
  else
    pd_log(run->context, POLYAD_LOG_DEBUG, "iteration %d: fit %.12g%s", row.iteration, row.fit,
           change);
}

/* Whether the caller wants the run to end. */
static bool interrupted(struct pd_run *run) {
  const polyad_trace_row *row = &run->trace[run->iteration - 1];
  polyad_progress progress = {.iteration = run->iteration,
                              .max_iterations = run->max_iterations,
                              .fit = row->fit,
                              .change = run->change,
                              .log_likelihood = row->log_likelihood,
                              .kkt_violation = row->kkt_violation,
                              .seconds = pd_run_seconds(run),
                              .restart = run->restart};
  bool end = pd_report_progress(run->context, &progress);
  return end || pd_cancelled(run->context);
}

static bool out_of_time(const struct pd_run *run) {
  return run->max_seconds > 0 && pd_seconds() - run->started >= run->max_seconds;
}

/* One iteration, recorded and, when it is due, saved. */
static polyad_status step(struct pd_run *run, const struct pd_run_steps *steps, void *state,
                          bool *ends, polyad_reason *reason) {
  polyad_trace_row row = {
      .fit = NAN, .residual = NAN, .log_likelihood = NAN, .kkt_violation = NAN, .fit_bound = NAN};
  bool breaks = false;
  PD_TRY(pd_run_reserve(run, run->iteration + 1));
  double *kernel_seconds =
      run->order > 0 ? run->kernel_seconds + (size_t)run->iteration * (size_t)run->order : NULL;
  PD_TRY(steps->iterate(state, &row, kernel_seconds));
  if (steps->judge != NULL) PD_TRY(steps->judge(state, &row, &breaks));
  if (breaks) {
    *ends = true;
    *reason = POLYAD_REASON_BREAKDOWN;
    return steps->save != NULL ? steps->save(state, true) : POLYAD_OK;
  }
  record(run, row);
  bool interrupts = interrupted(run);
  *ends = true;
  if (steps->converged(state))
    *reason = POLYAD_REASON_TOLERANCE;
  else if (interrupts)
    *reason = POLYAD_REASON_CANCELLED;
  else if (out_of_time(run))
    *reason = POLYAD_REASON_MAX_SECONDS;
  else
    *ends = run->iteration >= run->max_iterations;
  return steps->save != NULL ? steps->save(state, *ends) : POLYAD_OK;
}

polyad_status pd_run_loop(struct pd_run *run, const struct pd_run_steps *steps, void *state,
                          polyad_reason *reason) {
  *reason = POLYAD_REASON_MAX_ITERATIONS;
  if (run->iteration > 0 && steps->converged(state)) { /* resumed where the run before had ended */
    *reason = POLYAD_REASON_TOLERANCE;
    return POLYAD_OK;
  }
  bool ends = run->iteration >= run->max_iterations;
  while (!ends)
    PD_TRY(step(run, steps, state, &ends, reason));
  return POLYAD_OK;
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
  return median_of(times, rows);
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
    info->seconds_mttkrp[n] = median_of(times, rows);
  }
  for (int k = 0; k < rows; ++k) {
    times[k] = run->trace[first + k].seconds - before;
    before = run->trace[first + k].seconds;
  }
  info->seconds_per_iteration = median_of(times, rows);
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
                              .best_restart = run->restart,
                              .trace_rows = rows,
                              .trace = trace};
    report_times(run, times, info);
  }
  pd_free(run->context, times);
  return status;
}

int pd_run_threads(polyad_context *context, const polyad_plan *plan, uint64_t columns) {
  int most = polyad_threads(context), used = most;
  if (plan->device->functions->host_memory) used = pd_kernel_threads(context, plan->nnz, columns);
  pd_log(context, POLYAD_LOG_INFO, "%d thread%s%s", used, used == 1 ? "" : "s",
         used < most ? ": there is too little work for more" : "");
  return used;
}
