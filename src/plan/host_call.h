/* Kernels on arrays of the host. */
#ifndef PD_HOST_CALL_H
#define PD_HOST_CALL_H

#include "plan/plan.h"

/** A kernel whose result is linear in the tensor's values, and what it is called with. */
struct pd_host_call {
  const polyad_plan *plan;
  polyad_workspace *workspace;
  int mode;
  const void *const *factors;         /* row major, no padding, of the plan's type */
  uint64_t columns[POLYAD_MAX_ORDER]; /* of each factor; columns[mode]: of the result */
  polyad_status (*kernel)(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, int mode,
                          const struct pd_matrix *const *factors, struct pd_matrix *out);
  /* Phi in its place: reads the factor of `mode` too. NULL: `kernel`. */
  polyad_status (*phi)(polyad_context *context, const polyad_plan *plan,
                       polyad_workspace *workspace, int mode,
                       const struct pd_matrix *const *factors, double epsilon,
                       struct pd_matrix *out);
  double epsilon;
};

polyad_status pd_host_call_check(polyad_context *context, const polyad_plan *plan,
                                 const polyad_workspace *workspace, int mode,
                                 const void *const *factors, const void *out);
/** `out` gets dims[mode] x columns[mode] numbers; NULL: the kernel has no result. */
polyad_status pd_host_call(polyad_context *context, const struct pd_host_call *call, void *out);

/** Kernels see values times a power of two, which callers must not: takes it out of `count` numbers
 *  of a result that is linear in the values. */
void pd_plan_unscale(const polyad_plan *plan, void *out, uint64_t count);

#endif
