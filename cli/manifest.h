/* What a run was made of, so that polyad replay can do it again: its options as they were parsed,
 * the hashes of what went in and what came out, and the machine. */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "run_report.h"

/** Adds the member "manifest". */
void cli_json_manifest(cJSON *object, const struct cli_session *session, const struct cli_run *run);

#endif
