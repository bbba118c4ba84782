/* What a run reports. */
#include "core/core.h"
#include <polyad/run.h>
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
  }
  return "unknown";
}

const char *polyad_fit_from_string(polyad_fit_from from) {
  return from == POLYAD_FIT_RESIDUAL ? "residual" : "formula";
}

void polyad_run_info_clear(polyad_run_info *info) {
  if (info == NULL) return;
  pd_free(NULL, info->trace);
  pd_free(NULL, info->starts);
  memset(info, 0, sizeof *info);
}
