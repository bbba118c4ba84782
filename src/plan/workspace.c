/* Workspaces, and operations on matrices of the plan's device. */
#include "plan/part.h"
#include <assert.h>
#include <string.h>

/* For rows on their way to and from other members of a team. */
static polyad_status make_room(polyad_context *context, const polyad_plan *plan, uint64_t rank,
                               polyad_workspace *workspace) {
  if (plan->part == NULL) return POLYAD_OK;
  if (plan->device->functions->host_memory)
    PD_TRY(
        pd_memory_check(context, pd_part_room_bytes(plan->part, rank), "rows for other members"));
  PD_TRY(PD_NEW_ZERO(context, 1, &workspace->room));
  return pd_part_room_create(context, plan->part, rank, workspace->room);
}

static void free_room(polyad_workspace *workspace) {
  if (workspace->room == NULL) return;
  pd_part_room_clear(workspace->context, workspace->plan->part, workspace->room);
  pd_free(workspace->context, workspace->room);
}

polyad_status pd_workspace_create(polyad_context *context, const polyad_plan *plan, uint64_t ops,
                                  const uint64_t *ranks, polyad_workspace **workspace) {
  const struct pd_walk *walk = pd_walk_of(plan->kernels, ops);
  bool chain = (ops & PD_OPS_TTMC) != 0;
  if (walk == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no %s on device %s; make the plan for kernel %s",
                   plan->format->name, chain ? "tensor-times-matrix chain" : "MTTKRP",
                   plan->device->kind, chain ? "ttmc" : "mttkrp");
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
  polyad_status status = make_room(context, plan, ranks[0], made);
  if (status == POLYAD_OK)
    status = pd_walk_open(context, walk, plan->device, plan->on_device, ranks, &made->scratch);
  if (status == POLYAD_OK) {
    *workspace = made;
    return POLYAD_OK;
  }
  free_room(made);
  pd_free(context, made);
  return status;
}

polyad_status polyad_workspace_create(polyad_context *context, const polyad_plan *plan,
                                      uint64_t rank, polyad_workspace **workspace) {
  PD_ENTER(context);
  PD_EXPECT(context, plan != NULL && workspace != NULL, "plan or workspace is NULL");
  *workspace = NULL;
  PD_EXPECT(context, rank >= 1, "rank 0 found; expected at least 1");
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
  pd_walk_close(workspace->scratch);
  free_room(workspace);
  pd_free(workspace->context, workspace);
}

void *pd_workspace_lend(polyad_workspace *workspace, uint64_t *bytes) {
  *bytes = 0;
  return workspace->walk->lend == NULL ? NULL : workspace->walk->lend(workspace->scratch, bytes);
}

/* A sum over the nonzeros of all members. */
static polyad_status share_sum(polyad_context *context, const polyad_plan *plan,
                               struct pd_matrix *sum) {
  double number;
  PD_TRY(pd_matrix_to_host(context, sum, &number));
  PD_TRY(pd_team_sum(context, plan->part->team, 1, &number));
  return pd_matrix_from_host(context, sum, &number);
}

/* What the members of a team have found for the same rows, or for a sum, comes together. */
static polyad_status share_result(polyad_context *context, const polyad_plan *plan,
                                  polyad_workspace *workspace, const struct pd_call *call) {
  if (plan->part == NULL) return POLYAD_OK;
  if (call->op.into == PD_INTO_ROWS)
    return pd_plan_collect(context, plan, workspace, call->mode, call->out);
  if (call->op.into == PD_INTO_SCALAR) return share_sum(context, plan, call->out);
  return POLYAD_OK;
}

polyad_status pd_plan_run(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, const struct pd_call *call) {
  const struct pd_walk *walk = workspace->walk;
  assert(workspace->plan == plan && workspace->combine == call->op.combine);
  if ((walk->ops & pd_op_bit(&call->op)) == 0)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no %s on device %s; make the plan for kernel phi, whose formats "
                   "serve CP-ALS as well",
                   plan->format->name, pd_op_name(&call->op), plan->device->kind);
  PD_TRY(walk->run(context, plan->on_device, workspace->scratch, call));
  return share_result(context, plan, workspace, call);
}

uint64_t pd_plan_sum_depth(const polyad_plan *plan, const polyad_workspace *workspace, int mode) {
  uint64_t longest = plan->longest_row[mode];
  /* The host's kernels add blocks up in double, one after the other: in float64 that counts too. */
  bool one_type = plan->type == POLYAD_F64 && plan->device->functions->host_memory;
  if (plan->kernels->sum_depth == NULL || one_type) return longest;
  return plan->kernels->sum_depth(plan->on_device, workspace->scratch, mode, longest);
}
