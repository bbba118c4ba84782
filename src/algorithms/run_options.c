/* Defaults and checks of the options that every decomposition has. */
#include "algorithms/run_options.h"
#include <limits.h>
#include <math.h>
#include <polyad/plan.h>

polyad_run_options pd_run_options_default(int max_iterations) {
  return (polyad_run_options){
      .starts = 1, .max_iterations = max_iterations, .tolerance = 1e-4, .checkpoint_every = 10};
}

double polyad_expected_sweeps(const polyad_run_options *options, polyad_kernel kernel) {
  const double AT_TOLERANCE = 1e-4;
  const double INNER = 9; /* of CP-APR's 10 inner iterations at most: 8.0 to 10 on real counts */
  double each = fmax(1, options->max_iterations);
  if (options->tolerance > 0) {
    double decades = fmax(0, log10(AT_TOLERANCE / options->tolerance));
    each = fmin(each, POLYAD_SWEEPS_USUAL * exp2(decades));
  }
  return each * options->starts * (kernel == POLYAD_KERNEL_PHI ? INNER : 1);
}

polyad_status pd_run_options_check(polyad_context *context, const polyad_run_options *options,
                                   int fewest) {
  PD_EXPECT(context, options->max_iterations >= fewest && options->max_iterations < 1000000000,
            "%d iterations found; expected %d to 999999999", options->max_iterations, fewest);
  PD_EXPECT(context, isfinite(options->tolerance) && options->tolerance >= 0,
            "tolerance %g found; expected a finite number of at least 0", options->tolerance);
  PD_EXPECT(context, options->max_seconds >= 0, "max_seconds %g found; expected at least 0",
            options->max_seconds);
  PD_EXPECT(context, options->starts >= 1, "%d starts found; expected at least 1", options->starts);
  PD_EXPECT(context, options->first_start >= 0 && options->first_start <= INT_MAX - options->starts,
            "first start %d found; expected at least 0", options->first_start);
  PD_EXPECT(context, options->checkpoint == NULL || options->checkpoint_every >= 1,
            "a checkpoint every %d iterations found; expected at least 1",
            options->checkpoint_every);
  PD_EXPECT(context,
            options->starts == 1 || (options->checkpoint == NULL && options->resume == NULL),
            "checkpoints of several starts are not possible; use one start");
  return POLYAD_OK;
}
