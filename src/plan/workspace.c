/* Workspaces, and MTTKRP on matrices of the plan's device. */
#include "plan/plan.h"
#include <assert.h>

polyad_status polyad_workspace_create(polyad_context *context, const polyad_plan *plan,
                                      uint64_t rank, polyad_workspace **workspace) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (plan == NULL || workspace == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan or workspace is NULL");
  *workspace = NULL;
  if (rank < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "rank 0 found; expected 1 or more");
  const struct polyad_kernels *kernels = plan->kernels;
  uint64_t bytes = kernels->workspace_bytes(plan->on_device, rank, polyad_threads(context));
  if (plan->device->functions->host_memory) PD_TRY(pd_memory_check(context, bytes, "a workspace"));
  polyad_workspace *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  *made = (polyad_workspace){.context = context, .plan = plan, .rank = rank};
  polyad_status status =
      kernels->workspace_create(context, plan->device, plan->on_device, rank, &made->scratch);
  if (status != POLYAD_OK) {
    pd_free(context, made);
    return status;
  }
  *workspace = made;
  return POLYAD_OK;
}

void polyad_workspace_set_versions(polyad_workspace *workspace, const uint64_t *versions) {
  if (workspace == NULL) return;
  for (int n = 0; n < workspace->plan->order; ++n)
    workspace->versions[n] = versions == NULL ? 0 : versions[n];
}

void polyad_workspace_destroy(polyad_workspace *workspace) {
  if (workspace == NULL) return;
  const struct polyad_kernels *kernels = workspace->plan->kernels;
  if (workspace->rank == 0)
    kernels->ttmc_workspace_destroy(workspace->context, workspace->scratch);
  else
    kernels->workspace_destroy(workspace->context, workspace->scratch);
  pd_free(workspace->context, workspace);
}

polyad_status pd_plan_mttkrp(polyad_context *context, const polyad_plan *plan,
                             polyad_workspace *workspace, int mode,
                             const struct pd_matrix *const *factors, struct pd_matrix *out) {
  assert(workspace->plan == plan && workspace->rank == out->columns);
  if (plan->kernels->mttkrp == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED, "format %s has no MTTKRP on device %s",
                   plan->format->name, plan->device->kind);
  return plan->kernels->mttkrp(context, plan->on_device, workspace->scratch, mode, factors, out);
}
