/* The JSON object of polyad cpd. */
#ifndef CLI_CPD_JSON_H
#define CLI_CPD_JSON_H

#include "run_report.h"

struct cli_cpd_result {
  const char *algorithm, *absent; /* "als"; "zero" or "unknown" */
  uint64_t rank;
  uint32_t nonnegative_modes; /* bit n: mode n from 0 */
  struct cli_run run;
};

/** The object, to be written or deleted. */
cJSON *cli_cpd_json(const struct cli_session *session, const struct cli_cpd_result *result);

#endif
