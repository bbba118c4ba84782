/* What the subcommands that decompose report alike. */
#ifndef CLI_RUN_REPORT_H
#define CLI_RUN_REPORT_H

#include "json.h"

/** Seconds on a clock that never goes back. */
double cli_now(void);
/** A decomposition that has run. */
struct cli_run {
  const char *file;
  const polyad_plan *plan;
  const polyad_run_info *info;
  double seconds_read, seconds_build;
};
/** Members of the JSON object, in their order: what was decomposed; how, and how long it took; ...
 */
void cli_json_subject(cJSON *object, const struct cli_run *run);
void cli_json_run(cJSON *object, const struct cli_session *session, const struct cli_run *run);
/** ... memory, and the array "trace", a row per iteration. */
void cli_json_trace(cJSON *object, const struct cli_run *run);

#endif
