/* Options of runs on the command line: starts, stopping, checkpoints. */
#ifndef CLI_RUN_ARGUMENTS_H
#define CLI_RUN_ARGUMENTS_H

#include "options.h"
#include <polyad/run.h>

struct cli_run_options {
  uint64_t max_iterations; /* UINT64_MAX: as many as the method has by default */
  uint64_t restarts, checkpoint_every;
  double tolerance, max_seconds;
  const char *checkpoint, *resume;
};

/** What is taken when nothing is given, from a method's own defaults. */
static inline struct cli_run_options cli_run_options_from(const polyad_run_options *defaults) {
  return (struct cli_run_options){.max_iterations = UINT64_MAX,
                                  .restarts = (uint64_t)defaults->starts,
                                  .checkpoint_every = (uint64_t)defaults->checkpoint_every,
                                  .tolerance = defaults->tolerance,
                                  .max_seconds = defaults->max_seconds};
}

/** Takes over what was given into a method's options. */
static inline void cli_run_options_set(const struct cli_run_options *given,
                                       polyad_run_options *options) {
  if (given->max_iterations != UINT64_MAX) options->max_iterations = (int)given->max_iterations;
  options->starts = (int)given->restarts;
  options->tolerance = given->tolerance;
  options->max_seconds = given->max_seconds;
  options->checkpoint = given->checkpoint;
  options->checkpoint_every = (int)given->checkpoint_every;
  options->resume = given->resume;
}

#endif
