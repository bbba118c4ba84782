/* Compares what a run told with what it told before. */
#ifndef CLI_REPLAY_COMPARE_H
#define CLI_REPLAY_COMPARE_H

#include "json.h"

struct cli_comparison {
  cJSON *differences; /* an array of {"what", "was", "is"}, in the order in which they were found */
  bool same;          /* results */
  bool has_model, same_model;
};

/** Compares two objects that --json wrote, but for times, rates and measured memory. What a run was
 *  made of and what it chose (version, device, format, ...) is listed, but makes no result differ.
 *  Gives new `differences`. */
void cli_compare_runs(const cJSON *was, const cJSON *is, struct cli_comparison *comparison);

#endif
