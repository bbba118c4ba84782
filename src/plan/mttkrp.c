/* MTTKRP on arrays of the host. */
#include "plan/host_call.h"

polyad_status polyad_mttkrp(polyad_context *context, const polyad_plan *plan,
                            polyad_workspace *workspace, int mode, const void *const *factors,
                            void *out) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  PD_TRY(pd_host_call_check(context, plan, workspace, mode, factors, out));
  if (workspace->rank == 0)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for polyad_ttmc()");
  struct pd_host_call call = {.plan = plan,
                              .workspace = workspace,
                              .mode = mode,
                              .factors = factors,
                              .kernel = pd_plan_mttkrp};
  for (int n = 0; n < plan->order; ++n)
    call.columns[n] = workspace->rank;
  return pd_host_call(context, &call, out);
}
