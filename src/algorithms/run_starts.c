#include "algorithms/run_starts.h"

polyad_status pd_run_note_start(struct pd_run *run, const char *what, double objective,
                                polyad_reason reason) {
  uint64_t count = (uint64_t)run->start_count;
  /* The record doubles: it is rarely longer than a few starts. */
  if ((count & (count - 1)) == 0)
    PD_TRY(pd_realloc(run->context, count == 0 ? 1 : 2 * count, sizeof *run->starts,
                      (void **)&run->starts));
  double now = pd_run_seconds(run), before = count == 0 ? run->seconds_before : run->noted_seconds;
  run->starts[run->start_count++] =
      (polyad_start){.objective = objective, .iterations = run->iteration, .reason = reason};
  run->seconds_init += run->start_seconds - before;
  run->seconds_iterations += now - run->start_seconds;
  run->noted_seconds = now;
  pd_log(run->context, POLYAD_LOG_INFO, "start %d: %s %.10g after %d iterations (%s)",
         run->start_count, what, objective, run->iteration, polyad_reason_string(reason));
  return POLYAD_OK;
}

void pd_run_report_starts(struct pd_run *run, polyad_run_info *info) {
  info->seconds_init = run->seconds_init;
  info->seconds_iterations = run->seconds_iterations;
  info->start_count = run->start_count;
  info->starts = run->starts;
  run->starts = NULL;
}
