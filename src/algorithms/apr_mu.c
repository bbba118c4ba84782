/* CP-APR by multiplicative updates (Chi and Kolda 2012, algorithm 3): written once for every format
 * and device. On a device that has to be waited for, the host looks at the outcome after inner
 * iterations 1, 2, 4, 8, ... only: an update that is not needed any more does nothing there, so the
 * iterates do not depend on it. A device that records gets the whole iteration as one record, with
 * the inner iterations of every mode in a loop that it ends by itself. */
#include "algorithms/apr_state.h"
#include "plan/stream.h"
#include <math.h>

double pd_apr_log_likelihood(const struct pd_apr *apr, double logarithms, double mass) {
  int exponent = apr->plan->value_exponent;
  if (exponent == 0) return logarithms - mass;
  /* x = 2^e x' and m = 2^e m': x log m = 2^e (x' log m' + x' e log 2) */
  return ldexp(logarithms + apr->plan->sum * exponent * 0.69314718055994530942 - mass, exponent);
}

static bool looks_after(const struct pd_apr *apr, int inner) {
  bool waits = apr->linalg->fetch_waits || pd_team_is_mixed(pd_plan_team(apr->plan));
  if (!waits || inner == apr->options->max_inner_iterations) return true;
  return (inner & (inner - 1)) == 0;
}

/* The same numbers on all members of a team: what follows from them is done by all or by none. */
static polyad_status fetch_same(struct pd_apr *apr, double scalar[PD_SCALARS]) {
  PD_TRY(apr->linalg->fetch(apr->context, 1, &apr->work, (double(*)[PD_SCALARS])scalar));
  return pd_team_broadcast(apr->context, pd_plan_team(apr->plan), 0, scalar,
                           PD_SCALARS * sizeof *scalar);
}

/* After a change of the own rows of a factor. */
static polyad_status changed(struct pd_apr *apr, int n) {
  PD_TRY(pd_plan_spread(apr->context, apr->plan, apr->workspace, n, &apr->factor[n]));
  pd_matrix_touch(&apr->factor[n]);
  return POLYAD_OK;
}

static polyad_status check_violation(const struct pd_apr *apr, int n, double violation) {
  if (!isnan(violation)) return POLYAD_OK;
  return pd_fail(apr->context, POLYAD_NUMERICAL,
                 "iteration %d gives numbers that are not finite in mode %d; scale the tensor's "
                 "values or the initial model",
                 apr->run.iteration + 1, pd_shown_mode(apr->context, n));
}

/* An operation on the nonzeros of mode n. */
static polyad_status apr_mu_run(struct pd_apr *apr, struct pd_op op, int n, struct pd_matrix *out) {
  const struct pd_call call = {.op = op, .mode = n, .factors = apr->factor_list, .out = out};
  return pd_plan_run(apr->context, apr->plan, apr->workspace, &call);
}

/* B = (A + S) diag(lambda), and Pi where it is to be stored. */
static polyad_status begin_mode(struct pd_apr *apr, int n) {
  const polyad_cp_apr_options *options = apr->options;
  struct pd_matrix own = pd_plan_own(apr->plan, n, &apr->factor[n]);
  struct pd_matrix own_phi = pd_plan_own(apr->plan, n, &apr->phi[n]);
  const struct pd_matrix *phi = apr->run.iteration > 0 ? &own_phi : NULL;
  double clock;
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr->linalg->weigh(apr->context, apr->work, phi, options->kappa, options->kappa_tolerance,
                            &apr->lambda, &own));
  PD_TRY(changed(apr, n));
  PD_TRY(pd_apr_tock(apr, clock, PD_APR_MU, n));
  if (!options->store_pi) return POLYAD_OK;
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr_mu_run(apr, PD_PI, n, NULL));
  return pd_apr_tock(apr, clock, PD_APR_PI, n);
}

/* Phi, the violation of the optimality conditions, and B * Phi. */
static polyad_status inner_iteration(struct pd_apr *apr, int n, const struct pd_loop *loop) {
  polyad_context *context = apr->context;
  const polyad_cp_apr_options *options = apr->options;
  struct pd_matrix own = pd_plan_own(apr->plan, n, &apr->factor[n]);
  struct pd_matrix own_phi = pd_plan_own(apr->plan, n, &apr->phi[n]);
  double clock;
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr_mu_run(apr, PD_PHI(options->epsilon), n, &apr->phi[n]));
  PD_TRY(pd_apr_tock(apr, clock, PD_APR_PHI, n));
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr->linalg->kkt(context, apr->work, &own_phi, &own));
  PD_TRY(pd_apr_tock(apr, clock, PD_APR_KKT, n));
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr->linalg->multiply(context, apr->work, &own_phi, options->run.tolerance, loop, &own));
  PD_TRY(changed(apr, n));
  return pd_apr_tock(apr, clock, PD_APR_MU, n);
}

static polyad_status end_mode(struct pd_apr *apr, int n) {
  double clock;
  if (n == apr->order - 1) PD_TRY(apr_mu_run(apr, PD_LIKELIHOOD, n, &apr->logarithms));
  PD_TRY(pd_apr_tick(apr, &clock));
  struct pd_matrix own = pd_plan_own(apr->plan, n, &apr->factor[n]);
  PD_TRY(apr->linalg->normalize(apr->context, apr->work, PD_SCALE_NORM_1, &own, &apr->lambda));
  PD_TRY(changed(apr, n));
  return pd_apr_tock(apr, clock, PD_APR_MU, n);
}

/* What the last violation and the number of updates of a mode say of the iteration. */
static void apr_mu_count_mode(struct pd_apr *apr, double violation, double updates) {
  struct pd_apr_result *result = &apr->result;
  bool reached = violation < apr->options->run.tolerance;
  result->inner += (uint64_t)updates + (reached ? 1 : 0);
  result->converged = result->converged && updates == 0;
  if (violation > result->kkt) result->kkt = violation;
}

static polyad_status apr_mu_update_mode(struct pd_apr *apr, int n) {
  double scalar[PD_SCALARS] = {0}, updates = 0;
  PD_TRY(begin_mode(apr, n));
  for (int i = 1; i <= apr->options->max_inner_iterations; ++i) {
    PD_TRY(inner_iteration(apr, n, NULL));
    if (!looks_after(apr, i)) continue;
    PD_TRY(fetch_same(apr, scalar));
    PD_TRY(check_violation(apr, n, scalar[PD_SCALAR_KKT]));
    updates += scalar[PD_SCALAR_UPDATES];
    if (scalar[PD_SCALAR_KKT] < apr->options->run.tolerance) break;
  }
  apr_mu_count_mode(apr, scalar[PD_SCALAR_KKT], updates);
  return end_mode(apr, n);
}

/* ---- recorded iterations -------------------------------------------------------------------- */

static const struct pd_device_functions *functions_of(const struct pd_apr *apr) {
  return apr->device->functions;
}

static polyad_status record_mode(struct pd_apr *apr, int n) {
  struct pd_loop loop = {.outcome = (double *)apr->outcomes.data + 1 + 2 * n,
                         .most = apr->options->max_inner_iterations};
  PD_TRY(begin_mode(apr, n));
  PD_TRY(functions_of(apr)->fill_zero(apr->context, apr->device, loop.outcome,
                                      2 * sizeof *loop.outcome));
  PD_TRY(functions_of(apr)->loop_begin(apr->context, apr->device, &loop));
  PD_TRY(inner_iteration(apr, n, &loop));
  PD_TRY(functions_of(apr)->loop_end(apr->context, apr->device));
  return end_mode(apr, n);
}

static polyad_status apr_mu_record_iteration(struct pd_apr *apr) {
  polyad_status status = POLYAD_OK;
  PD_TRY(functions_of(apr)->record_begin(apr->context, apr->device));
  for (int n = 0; n < apr->order && status == POLYAD_OK; ++n)
    status = record_mode(apr, n);
  bool keep = status == POLYAD_OK;
  polyad_status ended =
      functions_of(apr)->record_end(apr->context, apr->device, keep, &apr->record);
  return keep ? ended : status;
}

/* The first two iterations of a call are timed step by step. Members of a team meet between their
 * kernels, streamed tensors pass through the host, and a workspace that moves on would be elsewhere
 * when a replay begins. */
static bool apr_mu_may_record(const struct pd_apr *apr) {
  const polyad_plan *plan = apr->plan;
  return functions_of(apr)->record_begin != NULL && !apr->unrecordable &&
         apr->run.iteration > apr->run.first_iteration + 1 && pd_plan_team(plan) == NULL &&
         !pd_plan_streams(plan) && plan->kernels->position == NULL;
}

/* Where the driver knows no loops, iterations go on as they began. */
static polyad_status make_record(struct pd_apr *apr) {
  if (!apr_mu_may_record(apr) || apr->record != NULL) return POLYAD_OK;
  polyad_status status = apr_mu_record_iteration(apr);
  if (status != POLYAD_UNSUPPORTED) return status;
  apr->unrecordable = true;
  pd_log(apr->context, POLYAD_LOG_INFO, "iterations are not recorded: %s",
         polyad_last_error(apr->context));
  pd_begin(apr->context);
  return POLYAD_OK;
}

static polyad_status replay_iteration(struct pd_apr *apr) {
  PD_TRY(functions_of(apr)->replay(apr->context, apr->device, apr->record));
  for (int n = 0; n < apr->order; ++n)
    pd_matrix_touch(&apr->factor[n]);
  return POLYAD_OK;
}

/* ---- an iteration -----------------------------------------------------------------------------
 */

/* The likelihood; of a replay, what its loops have found, too. */
static polyad_status fetch_outcomes(struct pd_apr *apr, bool replayed) {
  double scalar[PD_SCALARS], outcomes[1 + 2 * POLYAD_MAX_ORDER];
  PD_TRY(fetch_same(apr, scalar));
  PD_TRY(pd_matrix_to_host(apr->context, &apr->outcomes, outcomes));
  for (int n = 0; n < apr->order && replayed; ++n) {
    const double *found = outcomes + 1 + 2 * n;
    PD_TRY(check_violation(apr, n, found[0]));
    apr_mu_count_mode(apr, found[0], found[1]);
  }
  apr->result.log_likelihood = pd_apr_log_likelihood(apr, outcomes[0], scalar[PD_SCALAR_MASS]);
  return POLYAD_OK;
}

polyad_status pd_apr_iterate_mu(struct pd_apr *apr) {
  apr->result = (struct pd_apr_result){.converged = true};
  PD_TRY(make_record(apr));
  bool replays = apr_mu_may_record(apr);
  if (replays) PD_TRY(replay_iteration(apr));
  for (int n = 0; n < apr->order && !replays; ++n)
    PD_TRY(apr_mu_update_mode(apr, n));
  return fetch_outcomes(apr, replays);
}

polyad_status pd_apr_guess(void *state) {
  struct pd_apr *apr = state;
  int last = apr->order - 1;
  apr->result = (struct pd_apr_result){.kkt = NAN};
  if (apr->workspace == NULL) /* PDNR and PQNR compute without one */
    PD_TRY(polyad_workspace_create(apr->context, apr->plan, apr->options->rank, &apr->workspace));
  struct pd_matrix own = pd_plan_own(apr->plan, last, &apr->factor[last]);
  PD_TRY(apr->linalg->weigh(apr->context, apr->work, NULL, 0, 0, &apr->lambda, &own));
  PD_TRY(changed(apr, last));
  PD_TRY(end_mode(apr, last));
  return fetch_outcomes(apr, false);
}
