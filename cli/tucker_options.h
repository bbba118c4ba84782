/* What polyad tucker was asked for, and what a run of it holds. */
#ifndef CLI_TUCKER_OPTIONS_H
#define CLI_TUCKER_OPTIONS_H

#include "run_arguments.h"
#include "session.h"

struct tucker {
  struct cli_session session;
  struct cli_run_options run;
  uint64_t top;
  const char *ranks_text, *svd, *format, *variant, *init, *output, *report, *file;
  uint64_t ranks[POLYAD_MAX_ORDER];
  int rank_count; /* as given: 1 means every mode; 0: by energy */
  double energy;
  polyad_tensor *outline; /* dims and labels, after the plan has taken the tensor */
  polyad_tensor *tensor;  /* kept for --report only */
  polyad_plan *plan;
  polyad_ttensor *initial, *model;
  polyad_tensor *initial_labels; /* names and labels that --init's file has, or NULL */
  polyad_run_info info;
};

extern const struct cli_usage cli_tucker_usage;

#endif
