/* The tensor-times-matrix chain: sizes, workspaces, and calls. */
#include "plan/host_call.h"
#include <assert.h>

polyad_status polyad_ttmc_columns(polyad_context *context, const polyad_plan *plan,
                                  const uint64_t *ranks, int mode, uint64_t *columns) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (plan == NULL || ranks == NULL || columns == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, ranks or columns is NULL");
  if (mode < 0 || mode >= plan->order)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "mode %d found; expected %d to %d",
                   pd_shown_mode(context, mode), pd_shown_mode(context, 0),
                   pd_shown_mode(context, plan->order - 1));
  uint64_t product = 1;
  for (int n = 0; n < plan->order; ++n) {
    if (ranks[n] < 1)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "rank 0 of mode %d found; expected 1 or more", pd_shown_mode(context, n));
    if (n != mode && !pd_mul(product, ranks[n], &product))
      return pd_fail(context, POLYAD_OVERFLOW,
                     "the chain of mode %d has more than 2^64 columns: the product of the other "
                     "modes' ranks is too large",
                     pd_shown_mode(context, mode));
  }
  *columns = product;
  return POLYAD_OK;
}

polyad_status pd_plan_ttmc_bytes(polyad_context *context, const polyad_plan *plan,
                                 const uint64_t *ranks, int mode, uint64_t *bytes) {
  uint64_t columns;
  PD_TRY(polyad_ttmc_columns(context, plan, ranks, mode, &columns));
  *bytes = pd_mul_saturated(pd_mul_saturated(plan->dims[mode], columns), pd_type_bytes(plan->type));
  uint64_t limit = polyad_memory_limit(context);
  char need[32], have[32];
  if (*bytes > limit)
    return pd_fail(context, POLYAD_MEMORY_LIMIT,
                   "the chain of mode %d is %llu x %llu: it needs %s (%llu bytes), the memory "
                   "limit is %s; lower the other modes' ranks",
                   pd_shown_mode(context, mode), (unsigned long long)plan->dims[mode],
                   (unsigned long long)columns, pd_bytes_text(need, *bytes),
                   (unsigned long long)*bytes, pd_bytes_text(have, limit));
  return POLYAD_OK;
}

static polyad_status check_ttmc(polyad_context *context, const polyad_plan *plan) {
  if (plan->kernels->ttmc == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s has no tensor-times-matrix chain on device %s; choose another format",
                   plan->format->name, plan->device->kind);
  return POLYAD_OK;
}

polyad_status polyad_ttmc_workspace_create(polyad_context *context, const polyad_plan *plan,
                                           const uint64_t *ranks, polyad_workspace **workspace) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (plan == NULL || ranks == NULL || workspace == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, ranks or workspace is NULL");
  *workspace = NULL;
  PD_TRY(check_ttmc(context, plan));
  for (int n = 0; n < plan->order; ++n) {
    uint64_t columns;
    PD_TRY(polyad_ttmc_columns(context, plan, ranks, n, &columns));
  }
  const struct polyad_kernels *kernels = plan->kernels;
  uint64_t bytes = kernels->ttmc_workspace_bytes(plan->on_device, ranks, polyad_threads(context));
  PD_TRY(pd_memory_check(context, bytes, "a workspace of the tensor-times-matrix chain"));
  polyad_workspace *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  *made = (polyad_workspace){.context = context, .plan = plan};
  for (int n = 0; n < plan->order; ++n)
    made->ranks[n] = ranks[n];
  polyad_status status =
      kernels->ttmc_workspace_create(context, plan->device, plan->on_device, ranks, &made->scratch);
  if (status != POLYAD_OK) {
    pd_free(context, made);
    return status;
  }
  *workspace = made;
  return POLYAD_OK;
}

polyad_status pd_plan_ttmc(polyad_context *context, const polyad_plan *plan,
                           polyad_workspace *workspace, int mode,
                           const struct pd_matrix *const *factors, struct pd_matrix *out) {
  assert(workspace->plan == plan && workspace->rank == 0);
  PD_TRY(check_ttmc(context, plan));
  return plan->kernels->ttmc(context, plan->on_device, workspace->scratch, mode, factors, out);
}

polyad_status polyad_ttmc(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, int mode, const void *const *factors,
                          void *out) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  PD_TRY(pd_host_call_check(context, plan, workspace, mode, factors, out));
  if (workspace->rank != 0)
    return pd_fail(context, POLYAD_MISMATCH,
                   "the workspace was not made by polyad_ttmc_workspace_create()");
  struct pd_host_call call = {.plan = plan,
                              .workspace = workspace,
                              .mode = mode,
                              .factors = factors,
                              .kernel = pd_plan_ttmc};
  for (int n = 0; n < plan->order; ++n)
    call.columns[n] = workspace->ranks[n];
  PD_TRY(polyad_ttmc_columns(context, plan, workspace->ranks, mode, &call.columns[mode]));
  return pd_host_call(context, &call, out);
}
