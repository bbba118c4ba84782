/* Phi and Pi of CP-APR: what algorithms call, and on arrays of the host. */
#include "plan/host_call.h"
#include <assert.h>
#include <math.h>

polyad_status pd_plan_pi(polyad_context *context, const polyad_plan *plan,
                         polyad_workspace *workspace, int mode,
                         const struct pd_matrix *const *factors) {
  if (plan->kernels->pi == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED, "format %s does not store Pi on device %s",
                   plan->format->name, plan->device->kind);
  return plan->kernels->pi(context, plan->on_device, workspace->scratch, mode, factors);
}

polyad_status pd_plan_phi(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, int mode,
                          const struct pd_matrix *const *factors, double epsilon,
                          struct pd_matrix *out) {
  assert(workspace->plan == plan && workspace->rank == out->columns);
  if (plan->kernels->phi == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no Phi (CP-APR) on device %s; expected a plan for kernel phi",
                   plan->format->name, plan->device->kind);
  return plan->kernels->phi(context, plan->on_device, workspace->scratch, mode, factors, epsilon,
                            out);
}

polyad_status pd_plan_log_likelihood(polyad_context *context, const polyad_plan *plan,
                                     polyad_workspace *workspace, int mode,
                                     const struct pd_matrix *const *factors,
                                     struct pd_matrix *out) {
  assert(workspace->plan == plan && out->type == POLYAD_F64);
  if (plan->kernels->log_likelihood == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no log-likelihood on device %s; expected a plan for kernel phi",
                   plan->format->name, plan->device->kind);
  return plan->kernels->log_likelihood(context, plan->on_device, workspace->scratch, mode, factors,
                                       out);
}

/* Pi has no result of its own. */
static polyad_status store_pi(polyad_context *context, const polyad_plan *plan,
                              polyad_workspace *workspace, int mode,
                              const struct pd_matrix *const *factors, struct pd_matrix *out) {
  (void)out;
  return pd_plan_pi(context, plan, workspace, mode, factors);
}

static polyad_status start_call(polyad_context *context, const polyad_plan *plan,
                                polyad_workspace *workspace, int mode, const void *const *factors,
                                const void *out, struct pd_host_call *call) {
  PD_TRY(pd_host_call_check(context, plan, workspace, mode, factors, out));
  if (workspace->rank == 0)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for polyad_ttmc()");
  *call =
      (struct pd_host_call){.plan = plan, .workspace = workspace, .mode = mode, .factors = factors};
  for (int n = 0; n < plan->order; ++n)
    call->columns[n] = workspace->rank;
  return POLYAD_OK;
}

polyad_status polyad_pi(polyad_context *context, const polyad_plan *plan,
                        polyad_workspace *workspace, int mode, const void *const *factors) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  struct pd_host_call call;
  PD_TRY(start_call(context, plan, workspace, mode, factors, factors, &call));
  call.kernel = store_pi;
  return pd_host_call(context, &call, NULL);
}

polyad_status polyad_phi(polyad_context *context, const polyad_plan *plan,
                         polyad_workspace *workspace, int mode, const void *const *factors,
                         double epsilon, void *out) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  struct pd_host_call call;
  if (!(isfinite(epsilon) && epsilon > 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "epsilon %g found; expected a finite number above 0", epsilon);
  PD_TRY(start_call(context, plan, workspace, mode, factors, out, &call));
  if (factors[mode] == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "the factor of mode %d is NULL",
                   pd_shown_mode(context, mode));
  call.phi = pd_plan_phi;
  call.epsilon = epsilon;
  return pd_host_call(context, &call, out);
}
