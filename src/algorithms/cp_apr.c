/* CP decomposition of counts by alternating Poisson regression: options, starts, and the result. */
#include "algorithms/apr_checkpoint.h"
#include "algorithms/model_start.h"
#include "algorithms/run_options.h"
#include "algorithms/run_starts.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

#define EXPECT(condition, ...)                                                                     \
  if (!(condition)) return pd_fail(context, POLYAD_INVALID_ARGUMENT, __VA_ARGS__)

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
    EXPECT(isfinite(value) && (numbers[k].positive ? value > 0 : value >= 0),
           "%s %g found; expected a finite number %s 0", numbers[k].name, value,
           numbers[k].positive ? "above" : "of at least");
  }
  return POLYAD_OK;
}

static polyad_status check_options(polyad_context *context, const polyad_cp_apr_options *options) {
  EXPECT(options->rank >= 1, "rank 0 found; expected at least 1");
  EXPECT(options->method == POLYAD_APR_MU || options->method == POLYAD_APR_PDNR ||
             options->method == POLYAD_APR_PQNR,
         "method %d is unknown", (int)options->method);
  EXPECT(options->max_inner_iterations >= 1 && options->max_inner_iterations < 1000000000,
         "%d inner iterations found; expected 1 to 999999999", options->max_inner_iterations);
  EXPECT(options->memory >= 1 && options->memory <= 1000,
         "a memory of %d pairs found; expected 1 to 1000", options->memory);
  EXPECT(options->init == POLYAD_INIT_RANDOM || options->init == POLYAD_INIT_MODEL,
         "initialisation %d found; CP-APR begins from random factors or from a model",
         (int)options->init);
  PD_TRY(pd_run_options_check(context, &options->run, 0));
  return check_numbers(context, options);
}

/* A Poisson model has no negative numbers. */
static polyad_status check_values(polyad_context *context, const polyad_plan *plan) {
  char place[POLYAD_MAX_ORDER * 22 + 1] = "";
  int length = 0;
  if (plan->nnz == 0)
    return pd_fail(context, POLYAD_NUMERICAL, "the tensor has no nonzero; expected at least one");
  if (!plan->negative.found) return POLYAD_OK;
  for (int n = 0; n < plan->order; ++n)
    length += snprintf(place + length, sizeof place - (size_t)length, "%s%" PRIu64,
                       n > 0 ? ", " : "", pd_shown(context, plan->negative.index[n]));
  return pd_fail(
      context, POLYAD_NUMERICAL,
      "the value at (%s) is %g; CP-APR expects counts, of at least 0 (indices from %d; it "
      "is the first negative value)",
      place, plan->negative.value, pd_shown_mode(context, 0));
}

/* ---- starts ------------------------------------------------------------------------------- */

static void record_times(const struct pd_apr *apr, polyad_run_info *info) {
  double *const list[PD_APR_STEPS] = {[PD_APR_PHI] = info->seconds_phi,
                                      [PD_APR_PI] = info->seconds_pi,
                                      [PD_APR_KKT] = info->seconds_kkt,
                                      [PD_APR_MU] = info->seconds_mu};
  if (apr->timed_iterations == 0) return;
  for (int step = 0; step < PD_APR_STEPS; ++step)
    for (int n = 0; n < apr->order; ++n)
      list[step][n] = apr->seconds[step][n] / apr->timed_iterations;
}

/* What the start that has just ended found; later and better starts overwrite it. */
static polyad_status record_run(const struct pd_apr *apr, polyad_reason reason,
                                polyad_run_info *info) {
  PD_TRY(pd_run_report(&apr->run, reason, info));
  info->log_likelihood = apr->result.log_likelihood;
  info->kkt_violation = apr->result.kkt;
  record_times(apr, info);
  return POLYAD_OK;
}

static polyad_status run_start(struct pd_apr *apr, int restart, polyad_reason *reason) {
  PD_TRY(pd_apr_initialize(apr, restart));
  if (apr->options->run.resume != NULL) PD_TRY(pd_apr_resume(apr));
  pd_run_begin(&apr->run);
  if (apr->run.iteration == 0 && apr->options->run.max_iterations == 0)
    PD_TRY(pd_apr_evaluate(apr));
  PD_TRY(pd_apr_run(apr, reason));
  return pd_apr_download(apr);
}

/* All starts; the best model ends in *best. Cancelling or running out of time ends them all. */
static polyad_status run_starts(struct pd_apr *apr, polyad_ktensor **best, polyad_run_info *info) {
  double highest = -INFINITY;
  for (int restart = 0; restart < apr->options->run.starts; ++restart) {
    polyad_reason reason;
    PD_TRY(run_start(apr, restart, &reason));
    PD_TRY(pd_run_note_start(&apr->run, "log-likelihood", apr->result.log_likelihood, reason));
    if (restart == 0 || apr->result.log_likelihood > highest) {
      highest = apr->result.log_likelihood;
      PD_TRY(record_run(apr, reason, info));
      if (apr->options->run.starts > 1) PD_TRY(pd_model_copy(apr->context, apr->model, best));
    }
    if (reason == POLYAD_REASON_CANCELLED || reason == POLYAD_REASON_MAX_SECONDS) break;
  }
  if (apr->options->run.starts == 1) {
    *best = apr->model;
    apr->model = NULL;
  }
  return POLYAD_OK;
}

/* Fit 1 - ||X - M|| / ||X|| of the device's factors (the last start's), for those who compare. */
static polyad_status find_fit(struct pd_apr *apr, polyad_ktensor *model, double *fit) {
  const polyad_plan *plan = apr->plan;
  polyad_tensor *tensor = NULL;
  PD_TRY(pd_plan_expand(apr->context, plan, &tensor));
  polyad_status status = polyad_ktensor_fit(apr->context, model, tensor, fit);
  polyad_tensor_destroy(tensor);
  return status;
}

/* Normal form of the result: 1-norm columns, sorted weights. The fit is compared with the values as
 * the plan holds them, so the weights are scaled back after it. */
static polyad_status finish_model(struct pd_apr *apr, polyad_ktensor *model,
                                  polyad_run_info *info) {
  polyad_ktensor_normalize(model, POLYAD_NORM_1);
  if (find_fit(apr, model, &info->fit) != POLYAD_OK) {
    pd_log(apr->context, POLYAD_LOG_INFO, "the fit is not computed: %s",
           polyad_last_error(apr->context));
    pd_begin(apr->context);
  }
  PD_TRY(pd_model_scale_weights(apr->context, apr->plan->value_exponent, model));
  return polyad_ktensor_arrange(apr->context, model);
}

polyad_status polyad_cp_apr(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_apr_options *options, polyad_ktensor **model,
                            polyad_run_info *info) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (model != NULL) *model = NULL;
  if (plan == NULL || options == NULL || model == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, options or model is NULL");
  PD_TRY(check_options(context, options));
  PD_TRY(check_values(context, plan));
  polyad_run_info found = {0};
  struct pd_apr *apr = NULL;
  polyad_ktensor *best = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_apr_create(context, plan, options, &apr));
  PD_TRY_CLEANUP(pd_apr_checkpoint_open(apr));
  int threads = pd_run_threads(context, plan, options->rank);
  PD_TRY_CLEANUP(run_starts(apr, &best, &found));
  found.threads = threads;
  pd_run_report_starts(&apr->run, &found);
  found.seconds = pd_seconds() - apr->run.started;
  PD_TRY_CLEANUP(finish_model(apr, best, &found));
  if (info != NULL) {
    polyad_run_info_clear(info);
    *info = found;
    found = (polyad_run_info){0};
  }
  *model = best;
  best = NULL;
cleanup:
  polyad_run_info_clear(&found);
  polyad_ktensor_destroy(best);
  pd_apr_destroy(apr);
  return status;
}
