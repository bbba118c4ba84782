/* The first MTTKRP of an iteration, made before the host knows the fit of the iteration before.
 *
 * It needs the factors as that iteration has left them, and not its fit. So it is enqueued, with
 * the inverse of its normal equations beside it, behind the scalars of the fit on their way to the
 * host: while the host waits for these, judges the fit and starts the rest of the next iteration,
 * the device works on. The product goes to a matrix of its own, since the factor's spare is what a
 * fall of the fit goes back to; the update takes it from there. So recorded iterations, too, can
 * begin with it. Where the factors change in between, or no iteration follows, it is left unused.
 */
#include "algorithms/als_state.h"
#include "plan/stream.h"

/* Kernels whose workspace moves from call to call cannot make a product twice, and matrices that
 * are rounded or halved change when an iteration begins. */
uint64_t pd_als_ahead_bytes(const polyad_plan *plan, const polyad_cp_als_options *options) {
  const struct pd_device *device = plan->device;
  bool apart = device->functions->mark != NULL && device->linalg->send != NULL &&
               device->linalg->rejoin != NULL;
  bool plain = plan->compute == POLYAD_COMPUTE_NATIVE && !options->half_rows;
  if (!apart || !plain || pd_plan_team(plan) != NULL || pd_plan_streams(plan) ||
      plan->kernels->position != NULL)
    return 0;
  uint64_t stride = pd_factor_stride(device, plan->type, options->rank);
  uint64_t bytes = pd_mul_saturated(plan->dims[0], stride * pd_type_bytes(plan->type));
  return bytes <= PD_PLAN_AHEAD_BYTES ? bytes : 0;
}

polyad_status pd_als_ahead_create(struct pd_als *als) {
  if (pd_als_ahead_bytes(als->plan, als->options) == 0) return POLYAD_OK;
  return pd_factor_create(als->context, als->device, als->plan->type, als->plan->dims[0],
                          als->options->rank, &als->first);
}

/* The first two iterations of a call scale and sum their factors in ways of their own, which change
 * Gram matrices after their fit. */
bool pd_als_goes_ahead(const struct pd_als *als, int iteration) {
  return als->first.data != NULL && iteration > als->run.first_iteration + 1;
}

/* Whether it is of the factors as they are. */
static bool first_is_current(const struct pd_als *als) {
  bool current = als->ahead;
  for (int n = 1; n < als->order; ++n)
    current = current && als->first_of[n] == als->factor[n].version;
  return current;
}

static void note_made(struct pd_als *als) {
  als->ahead = true;
  for (int n = 0; n < als->order; ++n)
    als->first_of[n] = als->factor[n].version;
}

polyad_status pd_als_ahead_make(struct pd_als *als) {
  int next = als->run.iteration + 1;
  if (!pd_als_goes_ahead(als, next) || next >= als->run.options->max_iterations) return POLYAD_OK;
  if (als->nonnegative != 0 && als->fit.clipped > 0) return POLYAD_OK; /* they get new columns */
  PD_TRY(als->linalg->send(als->context, als->work));
  als->sent = true;
  note_made(als);
  return pd_als_enqueue_first(als);
}

polyad_status pd_als_ahead_begin(struct pd_als *als) {
  if (!first_is_current(als)) {
    PD_TRY(pd_als_ahead_drop(als));
    PD_TRY(pd_als_enqueue_first(als));
  }
  als->ahead = false;
  als->solves.fallbacks += als->late.fallbacks;
  als->solves.damped += als->late.damped;
  if (als->late.fallbacks > 0) als->solves.kept = als->late.kept;
  als->late = (struct pd_als_solves){0};
  return POLYAD_OK;
}

polyad_status pd_als_ahead_drop(struct pd_als *als) {
  double scalar[PD_SCALARS];
  if (!als->ahead) return POLYAD_OK;
  PD_TRY(als->linalg->fetch(als->context, 1, &als->work, &scalar));
  als->ahead = als->sent = false;
  als->late = (struct pd_als_solves){0};
  return POLYAD_OK;
}
