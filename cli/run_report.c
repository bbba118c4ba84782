#include "run_report.h"
#include <sys/resource.h>
#include <time.h>

double cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t cli_peak_bytes(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

void cli_json_trace(cJSON *object, const polyad_run_info *info) {
  cJSON *rows = cJSON_AddArrayToObject(object, "trace");
  for (int k = 0; k < info->trace_rows; ++k) {
    const polyad_trace_row *row = &info->trace[k];
    cJSON *item = cJSON_CreateObject();
    cli_json_count(item, "iteration", (uint64_t)row->iteration);
    cli_json_real(item, "fit", row->fit);
    cli_json_real(item, "residual", row->residual);
    cli_json_real(item, "seconds", row->seconds);
    cli_json_real(item, "log_likelihood", row->log_likelihood);
    cli_json_real(item, "kkt_violation", row->kkt_violation);
    if (row->inner_iterations > 0) cli_json_count(item, "inner_iterations", row->inner_iterations);
    cJSON_AddItemToArray(rows, item);
  }
}
