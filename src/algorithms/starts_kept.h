/* Several starts whose models are all wanted (polyad_run_options::keep_starts). */
#ifndef PD_STARTS_KEPT_H
#define PD_STARTS_KEPT_H

#include "algorithms/model_team.h"

/** Calls a decomposition once for each start, and reports as one call of all of them does.
 * `options` has `size` bytes and begins with polyad_run_options. */
polyad_status pd_starts_kept(polyad_context *context, const polyad_plan *plan,
                             pd_decompose_function decompose, const void *options, size_t size,
                             polyad_ktensor **model, polyad_run_info *info);

#endif
