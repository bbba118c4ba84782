/* The options that every decomposition has: defaults and checks. */
#ifndef PD_RUN_OPTIONS_H
#define PD_RUN_OPTIONS_H

#include "core/core.h"
#include <polyad/run.h>

/** One start, tolerance 1e-4, a checkpoint (where one is asked for) every 10 iterations, no limit
 *  on time, and at most this many iterations. */
polyad_run_options pd_run_options_default(int max_iterations);

/** @return POLYAD_INVALID_ARGUMENT saying which option is out of range. `fewest` is the least limit
 *  on iterations that the method allows. */
polyad_status pd_run_options_check(polyad_context *context, const polyad_run_options *options,
                                   int fewest);

#endif
