/* The tensor-times-matrix chain: sizes and workspaces. */
#include "plan/plan.h"

polyad_status polyad_ttmc_columns(polyad_context *context, const polyad_plan *plan,
                                  const uint64_t *ranks, int mode, uint64_t *columns) {
  PD_ENTER(context);
  PD_EXPECT(context, plan != NULL && ranks != NULL && columns != NULL,
            "plan, ranks or columns is NULL");
  PD_TRY(pd_check_mode(context, mode, plan->order));
  uint64_t product = 1;
  for (int n = 0; n < plan->order; ++n) {
    PD_EXPECT(context, ranks[n] >= 1, "rank 0 of mode %d found; expected at least 1",
              pd_shown_mode(context, n));
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

polyad_status polyad_ttmc_workspace_create(polyad_context *context, const polyad_plan *plan,
                                           const uint64_t *ranks, polyad_workspace **workspace) {
  PD_ENTER(context);
  PD_EXPECT(context, plan != NULL && ranks != NULL && workspace != NULL,
            "plan, ranks or workspace is NULL");
  *workspace = NULL;
  for (int n = 0; n < plan->order; ++n) {
    uint64_t columns;
    PD_TRY(polyad_ttmc_columns(context, plan, ranks, n, &columns));
  }
  return pd_workspace_create(context, plan, PD_OPS_TTMC, ranks, workspace);
}
