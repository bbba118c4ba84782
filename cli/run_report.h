/* What the subcommands that decompose report alike. */
#ifndef CLI_RUN_REPORT_H
#define CLI_RUN_REPORT_H

#include "json.h"
#include "phases.h"

/** A decomposition that has run. */
struct cli_run {
  const char *file;
  const polyad_plan *plan;
  const polyad_run_info *info;
  const polyad_team_info *members; /* of several processes or devices; else NULL */
};
/** Members of the JSON object, in their order: what was decomposed; how, and how long it took; ...
 */
void cli_json_subject(cJSON *object, const struct cli_run *run);
void cli_json_run(cJSON *object, const struct cli_session *session, const struct cli_run *run);
/** Says how each of several starts ended, how far they are from each other, and what to do when
 *  they differ. `what` is what they maximised, `tolerance` how closely. */
void cli_tell_starts(const struct cli_session *session, const polyad_run_info *info,
                     const char *what, double tolerance);
/** The array "starts" of the JSON object; `what` is the key of what they maximised. */
void cli_json_starts(cJSON *object, const polyad_run_info *info, const char *what);
/** ... memory, of GPUs too, and the array "trace", a row per iteration. */
void cli_json_trace(cJSON *object, const struct cli_session *session, const struct cli_run *run);

#endif
