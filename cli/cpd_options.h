/* What polyad cpd was asked for, and what a run of it holds. */
#ifndef CLI_CPD_OPTIONS_H
#define CLI_CPD_OPTIONS_H

#include "apr_options.h"
#include "complete_options.h"
#include "run_arguments.h"
#include "session.h"
#include "streaming.h"

struct cpd {
  struct cli_session session;
  uint64_t rank, top;
  double ridge;
  bool half_rows;
  const char *nonnegative;    /* a list of modes, CLI_ALL_MODES, or NULL */
  uint32_t nonnegative_modes; /* those of the list, or all: bit n for mode n from 0 */
  const char *algorithm, *format, *variant, *init, *output, *report, *file;
  struct cli_streaming streaming;
  struct cli_run_options run;
  struct cli_apr_options apr;
  struct cli_complete_options complete;
  polyad_tensor *weights, *validation; /* of completion */
  polyad_tensor *outline;              /* dims and labels, after the plan has taken the tensor */
  polyad_tensor *tensor;               /* kept for --report only */
  polyad_plan *plan;
  polyad_ktensor *initial, *model;
  polyad_tensor *initial_labels; /* names and labels that --init's file has, or NULL */
  polyad_run_info info;
  polyad_team_info *members; /* of several processes or devices, for --json */
};

extern const struct cli_usage cli_cpd_usage;

/** Refuses an option that was given and does nothing in the chosen algorithm; 0, or 2 after an
 * error was printed. */
int cli_cpd_check_algorithm_options(const struct cpd *cpd);

#endif
