/* Defaults and checks of the options that every decomposition has. */
#include "algorithms/run_options.h"
#include <math.h>

polyad_run_options pd_run_options_default(int max_iterations) {
  return (polyad_run_options){
      .starts = 1, .max_iterations = max_iterations, .tolerance = 1e-4, .checkpoint_every = 10};
}

polyad_status pd_run_options_check(polyad_context *context, const polyad_run_options *options,
                                   int fewest) {
#define EXPECT(condition, ...)                                                                     \
  if (!(condition)) return pd_fail(context, POLYAD_INVALID_ARGUMENT, __VA_ARGS__)
  EXPECT(options->max_iterations >= fewest && options->max_iterations < 1000000000,
         "%d iterations found; expected %d to 999999999", options->max_iterations, fewest);
  EXPECT(isfinite(options->tolerance) && options->tolerance >= 0,
         "tolerance %g found; expected a finite number of at least 0", options->tolerance);
  EXPECT(options->max_seconds >= 0, "max_seconds %g found; expected at least 0",
         options->max_seconds);
  EXPECT(options->starts >= 1, "%d starts found; expected at least 1", options->starts);
  EXPECT(options->checkpoint == NULL || options->checkpoint_every >= 1,
         "a checkpoint every %d iterations found; expected at least 1", options->checkpoint_every);
  EXPECT(options->starts == 1 || (options->checkpoint == NULL && options->resume == NULL),
         "checkpoints of several starts are not possible; use one start");
#undef EXPECT
  return POLYAD_OK;
}
