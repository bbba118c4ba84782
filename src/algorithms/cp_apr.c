/* CP decomposition of counts by alternating Poisson regression: the model whose Poisson
 * log-likelihood, the sum of x log m over the nonzeros minus the sum of m over all entries, is
 * highest, found by improving the factor of one mode after the other: by multiplicative updates
 * (apr_mu.c) or by Newton steps on its rows (apr_pdnr.c, apr_pqnr.c). This file has what lies
 * around the iterations: options, what counts as convergence, and the result in its normal form. */
#include "algorithms/apr_state.h"
#include "algorithms/model_start.h"
#include "algorithms/model_team.h"
#include "algorithms/run_options.h"
#include "algorithms/starts_kept.h"
#include "tensor/ktensor_fit.h"
#include <math.h>

void polyad_cp_apr_options_init(polyad_cp_apr_options *options) {
  *options = (polyad_cp_apr_options){.run = pd_run_options_default(1000),
                                     .rank = 16,
                                     .method = POLYAD_APR_MU,
                                     .max_inner_iterations = 10,
                                     .epsilon = 1e-10,
                                     .kappa = 1e-2,
                                     .kappa_tolerance = 1e-10,
                                     .active_tolerance = 1e-8,
                                     .damping = 1e-5,
                                     .inexact = 1,
                                     .memory = 3,
                                     .init = POLYAD_INIT_RANDOM};
}

static polyad_status check_numbers(polyad_context *context, const polyad_cp_apr_options *options) {
  const struct {
    const char *name;
    double value;
    bool positive;
  } numbers[] = {{"epsilon", options->epsilon, true},
                 {"kappa", options->kappa, false},
                 {"kappa_tolerance", options->kappa_tolerance, false},
                 {"active_tolerance", options->active_tolerance, false},
                 {"damping", options->damping, true}};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) {
    double value = numbers[k].value;
    PD_EXPECT(context, isfinite(value) && (numbers[k].positive ? value > 0 : value >= 0),
              "%s %g found; expected a finite number %s 0", numbers[k].name, value,
              numbers[k].positive ? "above" : "of at least");
  }
  return POLYAD_OK;
}

static polyad_status cp_apr_check_options(polyad_context *context,
                                          const polyad_cp_apr_options *options) {
  PD_EXPECT(context, options->rank >= 1, "rank 0 found; expected at least 1");
  PD_EXPECT(context,
            options->method == POLYAD_APR_MU || options->method == POLYAD_APR_PDNR ||
                options->method == POLYAD_APR_PQNR,
            "method %d is unknown", (int)options->method);
  PD_EXPECT(context,
            options->max_inner_iterations >= 1 && options->max_inner_iterations < 1000000000,
            "%d inner iterations found; expected 1 to 999999999", options->max_inner_iterations);
  PD_EXPECT(context, options->memory >= 1 && options->memory <= 1000,
            "a memory of %d pairs found; expected 1 to 1000", options->memory);
  PD_EXPECT(context, options->init == POLYAD_INIT_RANDOM || options->init == POLYAD_INIT_MODEL,
            "initialisation %d found; CP-APR begins from random factors or from a model",
            (int)options->init);
  PD_TRY(pd_run_options_check(context, &options->run, 0));
  return check_numbers(context, options);
}

/* A Poisson model has no negative numbers. */
static polyad_status cp_apr_check_values(polyad_context *context, const polyad_plan *plan) {
  if (polyad_plan_nnz(plan) == 0)
    return pd_fail(context, POLYAD_NUMERICAL, "the tensor has no nonzero; expected at least one");
  if (plan->zeros == POLYAD_ZEROS_KEEP)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "the plan keeps zeros, which CP-APR has no use for: to it every cell without a "
                   "nonzero is zero; make the plan with POLYAD_ZEROS_DROP");
  return pd_plan_check_counts(context, plan, "CP-APR");
}

/* ---- the method --------------------------------------------------------------------------- */

static polyad_status cp_apr_iterate(void *state, polyad_trace_row *row, double *kernel_seconds) {
  struct pd_apr *apr = state;
  (void)kernel_seconds; /* steps are summed over inner iterations instead */
  switch (apr->options->method) {
  case POLYAD_APR_MU:
    PD_TRY(pd_apr_iterate_mu(apr));
    break;
  case POLYAD_APR_PDNR:
    PD_TRY(pd_apr_iterate_pdnr(apr));
    break;
  case POLYAD_APR_PQNR:
    PD_TRY(pd_apr_iterate_pqnr(apr));
    break;
  }
  const struct pd_apr_result *result = &apr->result;
  bool timed = apr->device->functions->timer_start == NULL ||
               apr->run.iteration - apr->run.first_iteration < 2;
  apr->timed_iterations += timed ? 1 : 0;
  row->log_likelihood = result->log_likelihood;
  row->kkt_violation = result->kkt;
  row->inner_iterations = result->inner;
  return POLYAD_OK;
}

static bool cp_apr_converged(const void *state) {
  const struct pd_apr *apr = state;
  return apr->result.converged;
}

static double cp_apr_score(const void *state) {
  const struct pd_apr *apr = state;
  return apr->result.log_likelihood;
}

static void cp_apr_report(const void *state, polyad_run_info *info) {
  const struct pd_apr *apr = state;
  double *const list[PD_APR_STEPS] = {[PD_APR_PHI] = info->seconds_phi,
                                      [PD_APR_PI] = info->seconds_pi,
                                      [PD_APR_KKT] = info->seconds_kkt,
                                      [PD_APR_MU] = info->seconds_mu};
  info->log_likelihood = apr->result.log_likelihood;
  info->kkt_violation = apr->result.kkt;
  for (int step = 0; step < PD_APR_STEPS && apr->timed_iterations > 0; ++step)
    for (int n = 0; n < apr->order; ++n)
      list[step][n] = apr->seconds[step][n] / apr->timed_iterations;
}

/* Fit 1 - ||X - M|| / ||X||, which CP-APR does not maximise: it lets users compare with CP-ALS. */
static polyad_status cp_apr_find_fit(struct pd_apr *apr, polyad_run_info *info) {
  double relative, bound;
  polyad_tensor *tensor = NULL;
  if (pd_plan_team(apr->plan) != NULL)
    return pd_fail(apr->context, POLYAD_UNSUPPORTED, "no process has all nonzeros and all rows");
  PD_TRY(pd_plan_expand(apr->context, apr->plan, &tensor));
  polyad_status status = pd_ktensor_residual(apr->context, apr->model, tensor, &relative, &bound);
  if (status == POLYAD_OK) {
    info->fit = 1 - relative;
    info->fit_bound = bound;
    info->fit_from = POLYAD_FIT_RESIDUAL;
  }
  polyad_tensor_destroy(tensor);
  return status;
}

/* Normal form of the result: 1-norm columns, sorted weights. The fit is compared with the values as
 * the plan holds them, so the weights are scaled back after it. */
static polyad_status cp_apr_finish(void *state, polyad_run_info *info) {
  struct pd_apr *apr = state;
  PD_TRY(pd_apr_download(apr));
  PD_TRY(pd_apr_normalize(apr));
  if (cp_apr_find_fit(apr, info) != POLYAD_OK) {
    pd_log(apr->context, POLYAD_LOG_INFO, "the fit is not computed: %s",
           polyad_last_error(apr->context));
    pd_begin(apr->context);
  }
  const polyad_plan *plan = apr->plan;
  double norm = ldexp(sqrt(plan->norm_square_scaled), plan->norm_exponent - plan->value_exponent);
  PD_TRY(pd_model_scale_result(apr->context, plan->value_exponent, norm, apr->model,
                               &info->fit_bound));
  PD_TRY(polyad_ktensor_arrange(apr->context, apr->model));
  return pd_model_gather(apr->context, apr->plan, apr->model, &apr->whole);
}

/* The three ways to improve a factor differ in what their checkpoints hold, and in their name. */
#define APR_METHOD(called, shared_by_teams)                                                        \
  {                                                                                                \
    .name = (called), .objective = "log-likelihood", .start = pd_apr_start, .guess = pd_apr_guess, \
    .iterate = cp_apr_iterate, .converged = cp_apr_converged, .score = cp_apr_score,               \
    .save = pd_apr_save, .report = cp_apr_report, .finish = cp_apr_finish,                         \
    .shared = (shared_by_teams)                                                                    \
  }
const struct pd_method pd_apr_methods[] = {[POLYAD_APR_MU] = APR_METHOD("apr_mu", true),
                                           [POLYAD_APR_PDNR] = APR_METHOD("apr_pdn", false),
                                           [POLYAD_APR_PQNR] = APR_METHOD("apr_pqn", false)};

static polyad_status cp_apr_decompose(polyad_context *context, const polyad_plan *plan,
                                      const void *user, polyad_ktensor **model,
                                      polyad_run_info *info) {
  const polyad_cp_apr_options *options = user;
  struct pd_apr *apr = NULL;
  if (plan == NULL || options == NULL || model == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, options or model is NULL");
  PD_TRY(cp_apr_check_options(context, options));
  PD_TRY(cp_apr_check_values(context, plan));
  PD_TRY(pd_apr_create(context, plan, options, &apr));
  polyad_status status = pd_run_execute(&apr->run, info);
  if (status == POLYAD_OK) {
    polyad_ktensor **result = pd_plan_team(plan) != NULL ? &apr->whole : &apr->model;
    *model = *result;
    *result = NULL;
  }
  pd_apr_destroy(apr);
  return status;
}

static polyad_status cp_apr_run(polyad_context *context, const polyad_plan *plan,
                                const void *options, polyad_ktensor **model,
                                polyad_run_info *info) {
  return pd_model_decompose(context, plan, cp_apr_decompose, options, model, info);
}

polyad_status polyad_cp_apr(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_apr_options *options, polyad_ktensor **model,
                            polyad_run_info *info) {
  PD_ENTER(context);
  if (options != NULL && model != NULL && options->run.keep_starts)
    return pd_starts_kept(context, plan, cp_apr_run, options, sizeof *options, model, info);
  return cp_apr_run(context, plan, options, model, info);
}
