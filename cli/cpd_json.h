/* The JSON object of polyad cpd. */
#ifndef CLI_CPD_JSON_H
#define CLI_CPD_JSON_H

#include "session.h"

struct cli_cpd_result {
  const char *file, *algorithm;
  uint64_t rank;
  const polyad_plan *plan;
  const polyad_run_info *info;
  double seconds_read, seconds_build;
};

int cli_cpd_json(struct cli_session *session, const struct cli_cpd_result *result);

#endif
