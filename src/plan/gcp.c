/* Loss and gradient of generalized CP over all cells: the sum of f(0, m) over the grid minus the
 * gains of the nonzeros (engine/loss.h), and the same of the derivatives. */
#include "core/numbers.h"
#include "engine/grid.h"
#include "engine/loss.h"
#include "plan/host_call.h"
#include "plan/plan.h"
#include <math.h>
#include <polyad/gcp.h>

#define ONE(NAME, what, kind, x, m, least) +1
enum { LOSSES = PD_LOSSES(ONE, ONE, , , , , ) };

/* The public enumeration has the numbers of engine/loss.h, which run from 0 on. */
#define SAME(NAME, what, kind, x, m, least)                                                        \
  _Static_assert((int)POLYAD_LOSS_##NAME == PD_LOSS_##NAME && PD_LOSS_##NAME < LOSSES,             \
                 "a loss has another number in <polyad/gcp.h>");
PD_LOSSES(SAME, SAME, , , , , )

const char *polyad_loss_name(int which) {
  return which < 0 || which >= LOSSES ? NULL : PD_LOSS_NAME(which);
}

/* The smallest model that a count is divided by. */
static const double LEAST_MODEL = 1e-10;

/* Whether all values are 0 or 1. Where a device alone has seen them, or other members of a team,
 * sums tell: numbers x for which all x (1 - x) add up to 0. Those of ones are exact but for the
 * root in the norm. */
static bool ones_alone(const polyad_plan *plan) {
  double squares = plan->norm * plan->norm;
  bool seen = plan->beside_bits && plan->part == NULL; /* what all members of a team would have */
  return !seen && plan->value_exponent == 0 && !plan->negative.found &&
         fabs(plan->sum - squares) <= 8 * 0x1p-53 * squares;
}

/* A loss of values that it is not made for would be a number like any other. */
static polyad_status gcp_check_values(polyad_context *context, polyad_loss loss,
                                      const polyad_plan *plan) {
  if (loss == POLYAD_LOSS_BERNOULLI_LOGIT && !ones_alone(plan))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "some values are neither 0 nor 1 (the values add up to %g, their squares to "
                   "%g); the Bernoulli loss expects no others",
                   ldexp(plan->sum, plan->value_exponent), plan->norm * plan->norm);
  return loss == POLYAD_LOSS_POISSON ? pd_plan_check_counts(context, plan, "the Poisson loss")
                                     : POLYAD_OK;
}

static polyad_status gcp_check(polyad_context *context, polyad_loss loss,
                               const struct pd_host_call *call, const double *objective,
                               void *const *gradients) {
  PD_TRY(pd_host_call_check(context, call, objective));
  if (polyad_loss_name((int)loss) == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "loss %d found; expected one of polyad_loss",
                   (int)loss);
  for (int n = 0; n < call->plan->order && gradients != NULL; ++n)
    PD_EXPECT(context, gradients[n] != NULL, "the gradient of mode %d is NULL",
              pd_shown_mode(context, n));
  return gcp_check_values(context, loss, call->plan);
}

/* gradients[n] = the grid's minus that of the gains. */
static polyad_status gcp_gradient(polyad_context *context, struct pd_host_call call,
                                  const double *of_grid, void *gradient) {
  const polyad_plan *plan = call.plan;
  uint64_t count = plan->dims[call.mode] * call.workspace->ranks[call.mode];
  call.op = PD_GRADIENT(call.op.loss);
  PD_TRY(pd_host_call(context, &call, gradient));
  for (uint64_t k = 0; k < count; ++k)
    pd_store(plan->type, gradient, k, of_grid[k] - pd_load(plan->type, gradient, k));
  return POLYAD_OK;
}

polyad_status polyad_gcp_objective(polyad_context *context, const polyad_plan *plan,
                                   polyad_workspace *workspace, polyad_loss loss,
                                   const void *const *factors, double *objective,
                                   void *const *gradients) {
  PD_ENTER(context);
  struct pd_host_call call = {plan, workspace,
                              PD_GAIN_SUM(((struct pd_loss){(int)loss, LEAST_MODEL})), 0, factors};
  PD_TRY(gcp_check(context, loss, &call, objective, gradients));
  polyad_status status = POLYAD_OK;
  double *of_grid[POLYAD_MAX_ORDER] = {NULL}, sum = 0, gain = 0;
  const struct pd_grid grid = {plan->order, plan->dims, workspace->ranks[0], plan->type, factors};
  for (int n = 0; n < plan->order && gradients != NULL; ++n)
    PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(plan->dims[n], grid.rank), &of_grid[n]));
  PD_TRY_CLEANUP(pd_host_call(context, &call, &gain));
  PD_TRY_CLEANUP(pd_grid_sum(context, (int)loss, &grid, &sum, gradients == NULL ? NULL : of_grid));
  for (int n = 0; n < plan->order && gradients != NULL; ++n) {
    call.mode = n;
    PD_TRY_CLEANUP(gcp_gradient(context, call, of_grid[n], gradients[n]));
  }
  *objective = sum - gain + PD_LOSS_SQUARES((int)loss) * plan->norm * plan->norm;
cleanup:
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, of_grid[n]);
  return status;
}
