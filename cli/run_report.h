/* What the subcommands that decompose report alike. */
#ifndef CLI_RUN_REPORT_H
#define CLI_RUN_REPORT_H

#include "json.h"

/** Seconds on a clock that never goes back. */
double cli_now(void);
/** The most memory this process has had. */
uint64_t cli_peak_bytes(void);
/** Adds the array "trace", a row per iteration. */
void cli_json_trace(cJSON *object, const polyad_run_info *info);

#endif
