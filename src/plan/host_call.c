/* Operations on arrays of the host: in place on the CPU, by copies on other devices. */
#include "plan/host_call.h"
#include <math.h>
#include <string.h>

polyad_status pd_host_call_check(polyad_context *context, const struct pd_host_call *call,
                                 const void *out) {
  const polyad_plan *plan = call->plan;
  PD_EXPECT(context,
            plan != NULL && call->workspace != NULL && call->factors != NULL && out != NULL,
            "plan, workspace, factors or out is NULL");
  if (call->workspace->plan != plan)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for another plan");
  if (plan->part != NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "the plan is shared by a team; expected a plan of the whole tensor for kernels "
                   "on arrays");
  PD_TRY(pd_check_mode(context, call->mode, plan->order));
  for (int n = 0; n < plan->order; ++n)
    if (call->factors[n] == NULL && (n != call->mode || pd_op_needs_model(&call->op)))
      return pd_fail(context, POLYAD_INVALID_ARGUMENT, "the factor of mode %d is NULL",
                     pd_shown_mode(context, n));
  if (call->workspace->combine != call->op.combine)
    return pd_fail(context, POLYAD_MISMATCH,
                   call->op.combine == PD_HADAMARD
                       ? "the workspace was made for polyad_ttmc()"
                       : "the workspace was not made by polyad_ttmc_workspace_create()");
  return POLYAD_OK;
}

static polyad_status host_call_run(polyad_context *context, const struct pd_host_call *call,
                                   const struct pd_matrix *const *factors, struct pd_matrix *out) {
  const struct pd_call now = {.op = call->op, .mode = call->mode, .factors = factors, .out = out};
  return pd_plan_run(context, call->plan, call->workspace, &now);
}

/* The shape and type of the result, without memory. */
static polyad_status result_of(polyad_context *context, const struct pd_host_call *call,
                               struct pd_matrix *result) {
  const polyad_plan *plan = call->plan;
  bool one = call->op.into == PD_INTO_SCALAR;
  *result = (struct pd_matrix){.device = plan->device,
                               .type = one ? POLYAD_F64 : plan->type,
                               .rows = one ? 1 : plan->dims[call->mode],
                               .columns = one ? 1 : call->workspace->ranks[call->mode]};
  if (call->op.combine == PD_KRONECKER)
    PD_TRY(
        polyad_ttmc_columns(context, plan, call->workspace->ranks, call->mode, &result->columns));
  result->stride = result->columns;
  return POLYAD_OK;
}

/* Matrices that are host memory; the CPU's kernels write only into their `out`. */
static polyad_status on_cpu(polyad_context *context, const struct pd_host_call *call,
                            struct pd_matrix *result, void *out) {
  struct pd_matrix matrix[POLYAD_MAX_ORDER];
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  for (int n = 0; n < call->plan->order; ++n) {
    matrix[n] = (struct pd_matrix){.device = call->plan->device,
                                   .type = call->plan->type,
                                   .rows = call->plan->dims[n],
                                   .columns = call->workspace->ranks[n],
                                   .stride = call->workspace->ranks[n],
                                   .data = (void *)call->factors[n],
                                   .version = call->workspace->versions[n]};
    pointer[n] = &matrix[n];
  }
  result->data = out;
  return host_call_run(context, call, pointer, result);
}

/* Copies the factors onto the device and the result back. */
static polyad_status on_device(polyad_context *context, const struct pd_host_call *call,
                               const struct pd_matrix *shape, void *out) {
  const polyad_plan *plan = call->plan;
  polyad_status status = POLYAD_OK;
  struct pd_matrix matrix[POLYAD_MAX_ORDER], result = {0};
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  memset(matrix, 0, sizeof matrix);
  for (int n = 0; n < plan->order; ++n) {
    pointer[n] = &matrix[n];
    matrix[n].columns = call->workspace->ranks[n];
    if (n == call->mode && !pd_op_needs_model(&call->op)) continue;
    PD_TRY_CLEANUP(pd_factor_create(context, plan->device, plan->type, plan->dims[n],
                                    call->workspace->ranks[n], &matrix[n]));
    PD_TRY_CLEANUP(pd_matrix_from_host(context, &matrix[n], call->factors[n]));
    matrix[n].version = call->workspace->versions[n];
  }
  if (out != NULL)
    PD_TRY_CLEANUP((call->op.combine == PD_KRONECKER ? pd_matrix_create : pd_factor_create)(
        context, plan->device, shape->type, shape->rows, shape->columns, &result));
  PD_TRY_CLEANUP(host_call_run(context, call, pointer, &result));
  if (out != NULL) status = pd_matrix_to_host(context, &result, out);
cleanup:
  if (result.data != NULL) pd_matrix_destroy(context, &result);
  for (int n = 0; n < plan->order; ++n)
    if (matrix[n].data != NULL) pd_matrix_destroy(context, &matrix[n]);
  return status;
}

void pd_plan_unscale(const polyad_plan *plan, void *out, uint64_t count) {
  for (uint64_t k = 0; plan->value_exponent != 0 && k < count; ++k)
    if (plan->type == POLYAD_F64)
      ((double *)out)[k] = ldexp(((double *)out)[k], plan->value_exponent);
    else
      ((float *)out)[k] = ldexpf(((float *)out)[k], plan->value_exponent);
}

polyad_status pd_host_call(polyad_context *context, const struct pd_host_call *call, void *out) {
  const polyad_plan *plan = call->plan;
  struct pd_matrix result;
  PD_TRY(result_of(context, call, &result));
  if (plan->device->functions->host_memory)
    PD_TRY(on_cpu(context, call, &result, out));
  else
    PD_TRY(on_device(context, call, &result, out));
  if (call->op.into == PD_INTO_SCALAR)
    *(double *)out = ldexp(*(double *)out, plan->value_exponent);
  else if (out != NULL)
    pd_plan_unscale(plan, out, result.rows * result.columns);
  return POLYAD_OK;
}

static polyad_status checked_call(polyad_context *context, const struct pd_host_call *call,
                                  void *out) {
  PD_TRY(pd_host_call_check(context, call, out));
  return pd_host_call(context, call, out);
}

polyad_status polyad_mttkrp(polyad_context *context, const polyad_plan *plan,
                            polyad_workspace *workspace, int mode, const void *const *factors,
                            void *out) {
  PD_ENTER(context);
  const struct pd_host_call call = {plan, workspace, PD_MTTKRP, mode, factors};
  return checked_call(context, &call, out);
}

polyad_status polyad_phi(polyad_context *context, const polyad_plan *plan,
                         polyad_workspace *workspace, int mode, const void *const *factors,
                         double epsilon, void *out) {
  PD_ENTER(context);
  PD_EXPECT(context, isfinite(epsilon) && epsilon > 0,
            "epsilon %g found; expected a finite number above 0", epsilon);
  const struct pd_host_call call = {plan, workspace, PD_PHI(epsilon), mode, factors};
  return checked_call(context, &call, out);
}

polyad_status polyad_pi(polyad_context *context, const polyad_plan *plan,
                        polyad_workspace *workspace, int mode, const void *const *factors) {
  PD_ENTER(context);
  const struct pd_host_call call = {plan, workspace, PD_PI, mode, factors};
  PD_TRY(pd_host_call_check(context, &call, factors));
  return pd_host_call(context, &call, NULL);
}

polyad_status polyad_ttmc(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, int mode, const void *const *factors,
                          void *out) {
  PD_ENTER(context);
  const struct pd_host_call call = {plan, workspace, PD_TTMC, mode, factors};
  return checked_call(context, &call, out);
}
