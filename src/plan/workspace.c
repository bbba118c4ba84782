/* Workspaces, and operations on matrices of the plan's device. */
#include "plan/plan.h"
#include <assert.h>
#include <string.h>

polyad_status pd_workspace_create(polyad_context *context, const polyad_plan *plan, uint64_t ops,
                                  const uint64_t *ranks, polyad_workspace **workspace) {
  const struct pd_walk *walk = pd_walk_of(plan->kernels, ops);
  bool chain = (ops & PD_OPS_TTMC) != 0;
  if (walk == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no %s on device %s; choose another format", plan->format->name,
                   chain ? "tensor-times-matrix chain" : "MTTKRP", plan->device->kind);
  uint64_t bytes = walk->workspace_bytes(plan->on_device, ranks, polyad_threads(context));
  if (chain || plan->device->functions->host_memory)
    PD_TRY(pd_memory_check(context, bytes,
                           chain ? "a workspace of the tensor-times-matrix chain" : "a workspace"));
  polyad_workspace *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  *made = (polyad_workspace){.context = context,
                             .plan = plan,
                             .walk = walk,
                             .combine = chain ? PD_KRONECKER : PD_HADAMARD};
  memcpy(made->ranks, ranks, (size_t)plan->order * sizeof *ranks);
  polyad_status status =
      walk->workspace_create(context, plan->device, plan->on_device, ranks, &made->scratch);
  if (status == POLYAD_OK)
    *workspace = made;
  else
    pd_free(context, made);
  return status;
}

polyad_status polyad_workspace_create(polyad_context *context, const polyad_plan *plan,
                                      uint64_t rank, polyad_workspace **workspace) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (plan == NULL || workspace == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan or workspace is NULL");
  *workspace = NULL;
  if (rank < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "rank 0 found; expected 1 or more");
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = rank;
  return pd_workspace_create(context, plan, PD_OPS_MTTKRP, ranks, workspace);
}

void polyad_workspace_set_versions(polyad_workspace *workspace, const uint64_t *versions) {
  if (workspace == NULL) return;
  for (int n = 0; n < workspace->plan->order; ++n)
    workspace->versions[n] = versions == NULL ? 0 : versions[n];
}

void polyad_workspace_destroy(polyad_workspace *workspace) {
  if (workspace == NULL) return;
  workspace->walk->workspace_destroy(workspace->context, workspace->scratch);
  pd_free(workspace->context, workspace);
}

polyad_status pd_plan_run(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, const struct pd_call *call) {
  const struct pd_walk *walk = workspace->walk;
  assert(workspace->plan == plan && workspace->combine == call->op.combine);
  if ((walk->ops & pd_op_bit(&call->op)) == 0)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no %s on device %s; expected a plan for kernel phi",
                   plan->format->name, pd_op_name(&call->op), plan->device->kind);
  return walk->run(context, plan->on_device, workspace->scratch, call);
}
