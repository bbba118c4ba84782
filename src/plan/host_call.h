/* Operations on arrays of the host. */
#ifndef PD_HOST_CALL_H
#define PD_HOST_CALL_H

#include "plan/plan.h"

/** Arrays are row major, without padding, of the plan's type. */
struct pd_host_call {
  const polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_op op;
  int mode;
  const void *const *factors;
};

/** Checks the arguments; `out` is not NULL. */
polyad_status pd_host_call_check(polyad_context *context, const struct pd_host_call *call,
                                 const void *out);
/** Runs a checked call. `out` gets the rows of the mode, or a double where the result is one
 * number; NULL: the operation has no result. */
polyad_status pd_host_call(polyad_context *context, const struct pd_host_call *call, void *out);

/** Kernels see values times a power of two, which callers must not: takes it out of `count` numbers
 *  of a result that is linear in the values. */
void pd_plan_unscale(const polyad_plan *plan, void *out, uint64_t count);

#endif
