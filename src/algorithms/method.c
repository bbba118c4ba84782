/* Runs a method: every start goes from first factors (or a checkpoint) through iterations to the
 * rule that ends it, and the best start's state is kept. An iteration is judged (a breakdown takes
 * it back), recorded in the trace, told to the caller, and saved when that is due. */
#include "algorithms/method.h"
#include "core/threads.h"
#include "plan/plan.h"
#include <math.h>
#include <stdio.h>

enum { ROOM_AT_FIRST = 1 << 16 };

/* ---- memory ------------------------------------------------------------------------------- */

polyad_status pd_run_reserve(struct pd_run *run, int iterations) {
  if (iterations <= run->room) return POLYAD_OK;
  uint64_t room = 2 * (uint64_t)run->room;
  if (room < (uint64_t)iterations) room = (uint64_t)iterations;
  PD_TRY(pd_realloc(run->context, room, sizeof *run->trace, (void **)&run->trace));
  if (run->order > 0)
    PD_TRY(pd_realloc(run->context, pd_mul_saturated(room, (uint64_t)run->order),
                      sizeof *run->kernel_seconds, (void **)&run->kernel_seconds));
  run->room = room < INT32_MAX ? (int)room : INT32_MAX;
  return POLYAD_OK;
}

polyad_status pd_run_check_team(const struct pd_run *run) {
  if (pd_plan_team(run->plan) == NULL || run->method->shared) return POLYAD_OK;
  return pd_fail(run->context, POLYAD_UNSUPPORTED,
                 "the plan is shared by a team, on which %s does not run; expected CP-ALS or "
                 "multiplicative CP-APR",
                 run->method->name);
}

polyad_status pd_run_open(struct pd_run *run) {
  PD_TRY(pd_run_check_team(run));
  int most = run->options->max_iterations;
  run->change = NAN;
  return pd_run_reserve(run, (most < ROOM_AT_FIRST ? most : ROOM_AT_FIRST) + 1);
}

void pd_run_clear(struct pd_run *run) {
  PD_FREE(run->context, run->trace, run->kernel_seconds, run->starts, run->best);
  pd_run_unclaim(run);
  *run = (struct pd_run){.context = run->context};
}

/* ---- iterations --------------------------------------------------------------------------- */

double pd_run_objective(const polyad_trace_row *row) {
  return isnan(row->fit) ? row->log_likelihood : row->fit;
}

void pd_run_name(const struct pd_run *run, char name[80]) {
  snprintf(name, 80, "rank %llu, start %d: ", (unsigned long long)run->columns,
           run->options->first_start + run->start + 1);
}

static void record(struct pd_run *run, polyad_trace_row row) {
  const polyad_trace_row *before = run->iteration > 0 ? &run->trace[run->iteration - 1] : NULL;
  row.iteration = run->iteration + 1;
  row.seconds = pd_run_seconds(run);
  run->change = before != NULL ? pd_run_objective(&row) - pd_run_objective(before) : NAN;
  run->trace[run->iteration++] = row;
  char change[40] = "", name[80] = "";
  if (run->beside) pd_run_name(run, name);
  if (!isnan(run->change)) snprintf(change, sizeof change, ", change %.3g", run->change);
  if (isnan(row.fit))
    pd_log(run->context, POLYAD_LOG_DEBUG,
           "%siteration %d: log-likelihood %.12g, KKT violation %.3g, %llu inner iterations", name,
           row.iteration, row.log_likelihood, row.kkt_violation,
           (unsigned long long)row.inner_iterations);
  else
    pd_log(run->context, POLYAD_LOG_DEBUG, "%siteration %d: fit %.12g%s", name, row.iteration,
           row.fit, change);
}

/* Whether the caller wants the run to end. */
static bool interrupted(struct pd_run *run) {
  const polyad_trace_row *row = &run->trace[run->iteration - 1];
  polyad_progress progress = {.iteration = run->iteration,
                              .max_iterations = run->options->max_iterations,
                              .fit = row->fit,
                              .change = run->change,
                              .log_likelihood = row->log_likelihood,
                              .kkt_violation = row->kkt_violation,
                              .seconds = pd_run_seconds(run),
                              .restart = run->options->first_start + run->start};
  bool end = pd_report_progress(run->context, &progress);
  return end || pd_cancelled(run->context);
}

static bool out_of_time(const struct pd_run *run) {
  double most = run->options->max_seconds;
  return most > 0 && pd_seconds() - run->started >= most;
}

/* Whether the iteration that was recorded last ends the start, and why. What ends the start of one
 * member of a team ends that of all. */
static polyad_status find_end(struct pd_run *run, polyad_reason *reason, bool *end) {
  double found[2] = {interrupted(run), out_of_time(run)};
  PD_TRY(pd_team_max(run->context, pd_plan_team(run->plan), 2, found));
  *end = true;
  if (run->method->converged(run->state))
    *reason = POLYAD_REASON_TOLERANCE;
  else if (run->method->stagnates != NULL && run->method->stagnates(run->state))
    *reason = POLYAD_REASON_VALIDATION;
  else if (found[0] > 0)
    *reason = POLYAD_REASON_CANCELLED;
  else if (found[1] > 0)
    *reason = POLYAD_REASON_MAX_SECONDS;
  else
    *end = run->iteration >= run->options->max_iterations;
  return POLYAD_OK;
}

polyad_trace_row pd_run_row(void) {
  return (polyad_trace_row){.fit = NAN,
                            .residual = NAN,
                            .log_likelihood = NAN,
                            .kkt_violation = NAN,
                            .fit_bound = NAN,
                            .validation_rmse = NAN};
}

polyad_status pd_run_settle(struct pd_run *run, const polyad_trace_row *row, bool *end,
                            polyad_reason *reason) {
  const struct pd_method *method = run->method;
  bool breaks = false;
  *reason = POLYAD_REASON_MAX_ITERATIONS;
  if (method->judge != NULL) PD_TRY(method->judge(run->state, row, &breaks));
  if (breaks) {
    *reason = POLYAD_REASON_BREAKDOWN;
    *end = true;
  } else {
    record(run, *row);
    PD_TRY(find_end(run, reason, end));
  }
  return pd_run_save(run, *end);
}

double *pd_run_kernel_seconds(const struct pd_run *run) {
  if (run->order == 0) return NULL;
  return run->kernel_seconds + (size_t)run->iteration * (size_t)run->order;
}

/* One iteration, recorded and, when it is due, saved. */
static polyad_status method_step(struct pd_run *run, bool *end, polyad_reason *reason) {
  polyad_trace_row row = pd_run_row();
  PD_TRY(pd_run_reserve(run, run->iteration + 1));
  PD_TRY(run->method->iterate(run->state, &row, pd_run_kernel_seconds(run)));
  return pd_run_settle(run, &row, end, reason);
}

static polyad_status method_iterate(struct pd_run *run, polyad_reason *reason) {
  *reason = POLYAD_REASON_MAX_ITERATIONS;
  if (run->iteration > 0 && run->method->converged(run->state)) { /* resumed where it had ended */
    *reason = POLYAD_REASON_TOLERANCE;
    return POLYAD_OK;
  }
  if (run->iteration > 0 && run->method->stagnates != NULL && run->method->stagnates(run->state)) {
    *reason = POLYAD_REASON_VALIDATION;
    return POLYAD_OK;
  }
  bool end = run->iteration >= run->options->max_iterations;
  while (!end)
    PD_TRY(method_step(run, &end, reason));
  return POLYAD_OK;
}

/* ---- starts ------------------------------------------------------------------------------- */

polyad_status pd_run_begin(struct pd_run *run, int start) {
  const struct pd_method *method = run->method;
  run->start = start;
  run->iteration = 0;
  run->change = NAN;
  PD_TRY(run->options->resume != NULL
             ? pd_run_resume(run)
             : method->start(run->state, run->options->first_start + start));
  run->start_seconds = pd_run_seconds(run);
  run->first_iteration = run->iteration;
  return POLYAD_OK;
}

/* One start: first factors or those of a checkpoint, then iterations. */
static polyad_status method_run_start(struct pd_run *run, int start, polyad_reason *reason) {
  PD_TRY(pd_run_begin(run, start));
  if (run->iteration == 0 && run->options->max_iterations == 0)
    PD_TRY(run->method->guess(run->state));
  return method_iterate(run, reason);
}

/* Records the start that has just ended. */
static polyad_status note_start(struct pd_run *run, polyad_reason reason) {
  uint64_t count = (uint64_t)run->start_count;
  double score = run->method->score(run->state);
  /* The record doubles: it is rarely longer than a few starts. */
  if ((count & (count - 1)) == 0)
    PD_TRY(pd_realloc(run->context, count == 0 ? 1 : 2 * count, sizeof *run->starts,
                      (void **)&run->starts));
  double now = pd_run_seconds(run), before = count == 0 ? run->seconds_before : run->noted_seconds;
  run->starts[run->start_count++] =
      (polyad_start){.objective = score, .iterations = run->iteration, .reason = reason};
  run->seconds_init += run->start_seconds - before;
  run->seconds_iterations += now - run->start_seconds;
  run->noted_seconds = now;
  pd_log(run->context, POLYAD_LOG_INFO, "start %d: %s %.10g after %d iterations (%s)",
         run->options->first_start + run->start_count, run->method->objective, score,
         run->iteration, polyad_reason_string(reason));
  return POLYAD_OK;
}

/* All starts; the state of the best is that of the method afterwards. Cancelling or running out of
 * time ends them all. */
static polyad_status run_starts(struct pd_run *run, polyad_run_info *info) {
  double highest = -INFINITY;
  for (int start = 0; start < run->options->starts; ++start) {
    polyad_reason reason;
    polyad_status status = method_run_start(run, start, &reason);
    if (status == POLYAD_CANCELLED && start > 0) { /* before it had a model: others have */
      pd_begin(run->context);
      break;
    }
    PD_TRY(status);
    if (run->method->end != NULL) PD_TRY(run->method->end(run->state));
    PD_TRY(note_start(run, reason));
    double score = run->starts[start].objective;
    if (start == 0 || score > highest) {
      highest = score;
      PD_TRY(pd_run_report(run, reason, info));
      if (run->method->report != NULL) run->method->report(run->state, info);
      if (run->options->starts > 1) PD_TRY(pd_run_remember(run));
    }
    if (reason == POLYAD_REASON_CANCELLED || reason == POLYAD_REASON_MAX_SECONDS) break;
  }
  return run->start != info->best_restart ? pd_run_recall(run) : POLYAD_OK;
}

int pd_run_threads(polyad_context *context, const polyad_plan *plan, uint64_t columns) {
  int most = polyad_threads(context), used = most;
  if (plan->device->functions->host_memory) used = pd_kernel_threads(context, plan->nnz, columns);
  pd_log(context, POLYAD_LOG_INFO, "%d thread%s%s", used, used == 1 ? "" : "s",
         used < most ? ": there is too little work for more" : "");
  return used;
}

uint64_t pd_revive_stream(const struct pd_run *run, int n) {
  uint64_t starts = UINT64_C(1) << 40;
  uint64_t start = (uint64_t)run->options->first_start + (uint64_t)run->start;
  return starts + (start << 32) + (uint64_t)run->iteration * POLYAD_MAX_ORDER + (uint64_t)n;
}

polyad_status pd_run_execute(struct pd_run *run, polyad_run_info *info) {
  polyad_run_info found = {0};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_run_claim(run));
  int threads = pd_run_threads(run->context, run->plan, run->columns);
  PD_TRY_CLEANUP(run_starts(run, &found));
  found.threads = threads;
  found.seconds_init = run->seconds_init;
  found.seconds_iterations = run->seconds_iterations;
  found.start_count = run->start_count;
  found.starts = run->starts;
  run->starts = NULL;
  if (run->unsaved > 0) pd_run_say(&found, "%d checkpoints could not be written.", run->unsaved);
  PD_TRY_CLEANUP(run->method->finish(run->state, &found));
  found.seconds = pd_seconds() - run->started;
  if (info != NULL) {
    polyad_run_info_clear(info);
    *info = found;
    found = (polyad_run_info){0};
  }
cleanup:
  polyad_run_info_clear(&found);
  return status;
}
