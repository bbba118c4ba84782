#include "run_report.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t peak_bytes(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* Bytes of memory that GPUs have of their own, one item for each that the plan is on. */
static void put_device_memory(cJSON *object, const struct cli_session *session,
                              const struct cli_run *run) {
  cJSON *list = cJSON_AddArrayToObject(object, "device_memory");
  char names[512], *rest = NULL;
  snprintf(names, sizeof names, "%s", polyad_plan_device(run->plan));
  for (char *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
    uint64_t predicted = polyad_plan_device_bytes(run->plan, name), peak;
    if (predicted == 0 || polyad_device_memory(session->context, name, NULL, &peak) != POLYAD_OK)
      continue;
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "device", name);
    cli_json_count(item, "peak_bytes", peak);
    cli_json_count(item, "predicted_bytes", predicted);
    cJSON_AddItemToArray(list, item);
  }
}

void cli_json_subject(cJSON *object, const struct cli_run *run) {
  int order = polyad_plan_order(run->plan);
  cli_json_text(object, "file", run->file);
  cli_json_count(object, "order", (uint64_t)order);
  cli_json_counts(object, "dims", polyad_plan_dims(run->plan), order);
  cli_json_count(object, "nnz", polyad_plan_nnz(run->plan));
}

/* How the fit was computed; null where nobody asked what rounding does to it. */
static void put_fit_from(cJSON *object, double bound, polyad_fit_from from) {
  cli_json_text(object, "fit_from", isnan(bound) ? NULL : polyad_fit_from_string(from));
}

void cli_json_run(cJSON *object, const struct cli_session *session, const struct cli_run *run) {
  const polyad_run_info *info = run->info;
  cli_json_transforms(object, &session->transforms);
  cli_json_text(object, "format", polyad_plan_format(run->plan));
  cli_json_text(object, "variant", polyad_plan_variant(run->plan));
  cli_json_text(object, "device", polyad_plan_device(run->plan));
  cli_json_text(object, "precision", session->precision);
  cli_json_count(object, "threads", (uint64_t)info->threads);
  cli_json_count(object, "seed", session->seed);
  cli_json_count(object, "iterations", (uint64_t)info->iterations);
  cli_json_bool(object, "converged", info->converged);
  cli_json_text(object, "reason", polyad_reason_string(info->reason));
  cli_json_real(object, "fit", info->fit);
  cli_json_real(object, "fit_bound", info->fit_bound);
  put_fit_from(object, info->fit_bound, info->fit_from);
  cli_json_real(object, "log_likelihood", info->log_likelihood);
  cli_json_real(object, "kkt_violation", info->kkt_violation);
  cli_json_real(object, "seconds", info->seconds);
  cli_json_real(object, "seconds_per_iteration", info->seconds_per_iteration);
}

void cli_tell_starts(const struct cli_session *session, const polyad_run_info *info,
                     const char *what, double tolerance) {
  enum { SHOWN = 20 };
  double least = INFINITY, most = -INFINITY;
  if (info->start_count < 2) return;
  for (int k = 0; k < info->start_count; ++k) {
    const polyad_start *start = &info->starts[k];
    least = fmin(least, start->objective);
    most = fmax(most, start->objective);
    if (session->verbose || k >= SHOWN) continue; /* -v told of each when it ended */
    cli_talk(session, "start %d: %s %.6f after %d iteration%s (%s)\n", k + 1, what,
             start->objective, start->iterations, start->iterations == 1 ? "" : "s",
             polyad_reason_string(start->reason));
  }
  if (!session->verbose && info->start_count > SHOWN)
    cli_talk(session, "... and %d more\n", info->start_count - SHOWN);
  cli_talk(session, "%d starts: %s from %.6f to %.6f, start %d is the best\n", info->start_count,
           what, least, most, info->best_restart + 1);
  if (most - least > 10 * tolerance * fmax(1, fabs(most)))
    cli_talk(session, "the starts ended in different models: more --restarts may find a better "
                      "one\n");
}

void cli_json_starts(cJSON *object, const polyad_run_info *info, const char *what) {
  cJSON *rows = cJSON_AddArrayToObject(object, "starts");
  for (int k = 0; k < info->start_count; ++k) {
    cJSON *item = cJSON_CreateObject();
    cli_json_real(item, what, info->starts[k].objective);
    cli_json_count(item, "iterations", (uint64_t)info->starts[k].iterations);
    cli_json_text(item, "reason", polyad_reason_string(info->starts[k].reason));
    cJSON_AddItemToArray(rows, item);
  }
}

void cli_json_trace(cJSON *object, const struct cli_session *session, const struct cli_run *run) {
  const polyad_run_info *info = run->info;
  cli_json_count(object, "bytes_format", polyad_plan_bytes(run->plan));
  cli_json_count(object, "peak_bytes", peak_bytes());
  put_device_memory(object, session, run);
  cli_json_text(object, "diagnosis", info->diagnosis);
  cJSON *rows = cJSON_AddArrayToObject(object, "trace");
  for (int k = 0; k < info->trace_rows; ++k) {
    const polyad_trace_row *row = &info->trace[k];
    cJSON *item = cJSON_CreateObject();
    cli_json_count(item, "iteration", (uint64_t)row->iteration);
    cli_json_real(item, "fit", row->fit);
    cli_json_real(item, "fit_bound", row->fit_bound);
    put_fit_from(item, row->fit_bound, row->fit_from);
    cli_json_real(item, "residual", row->residual);
    cli_json_real(item, "seconds", row->seconds);
    cli_json_real(item, "log_likelihood", row->log_likelihood);
    cli_json_real(item, "kkt_violation", row->kkt_violation);
    if (!isnan(row->validation_rmse)) cli_json_real(item, "validation_rmse", row->validation_rmse);
    if (row->half_rows != 0) cJSON_AddTrueToObject(item, "half_rows");
    if (row->inner_iterations > 0) cli_json_count(item, "inner_iterations", row->inner_iterations);
    cJSON_AddItemToArray(rows, item);
  }
}
