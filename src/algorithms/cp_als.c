/* CP decomposition by alternating least squares: the model of R components whose distance from the
 * tensor is least, found by solving for the factor of one mode after the other (als_iterate.c).
 * This file has what lies around the iterations: options, and the result in its normal form with
 * the fit that it really has (als_fit.c). */
#include "algorithms/als_state.h"
#include "algorithms/als_together.h"
#include "algorithms/model_start.h"
#include "algorithms/model_team.h"
#include "algorithms/run_options.h"
#include "algorithms/starts_kept.h"
#include "tensor/ktensor_fit.h"
#include <math.h>

void polyad_cp_als_options_init(polyad_cp_als_options *options) {
  *options = (polyad_cp_als_options){
      .run = pd_run_options_default(50), .rank = 16, .init = POLYAD_INIT_RANDOM};
}

polyad_status pd_als_check_options(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options) {
  PD_EXPECT(context, options->rank >= 1, "rank 0 found; expected at least 1");
  PD_EXPECT(context, isfinite(options->ridge) && options->ridge >= 0,
            "ridge %g found; expected a finite number of at least 0", options->ridge);
  PD_EXPECT(context,
            options->init == POLYAD_INIT_RANDOM || options->init == POLYAD_INIT_HOSVD ||
                options->init == POLYAD_INIT_MODEL,
            "initialisation %d is unknown", (int)options->init);
  PD_TRY(pd_nonnegative_check(context, options->nonnegative_modes, plan->order));
  PD_TRY(pd_run_options_check(context, &options->run, 0));
  PD_TRY(pd_als_half_check(context, plan, options));
  if (polyad_plan_nnz(plan) == 0 || !(plan->norm_square_scaled > 0))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the tensor has no nonzero: its fit is undefined; expected at least one");
  return POLYAD_OK;
}

/* The last row of the trace tells of the returned model too. */
static void replace_fit(polyad_run_info *info, const struct pd_als_fit *fit) {
  info->fit = fit->fit;
  info->fit_bound = fit->bound;
  info->fit_from = fit->from;
  if (info->trace_rows == 0) return;
  polyad_trace_row *row = &info->trace[info->trace_rows - 1];
  row->fit = fit->fit;
  row->residual = fit->residual;
  row->fit_bound = fit->bound;
  row->fit_from = fit->from;
}

/* What normalising may have changed the fit by: every column, and the weights, are rounded. The fit
 * of no model is further from that of another than their distance over ||X||. */
static double normalizing_bound(const struct pd_als *als) {
  double unit = als->plan->type == POLYAD_F32 ? 0x1p-24 : 0x1p-53;
  return 2 * unit * (als->order + 1) * als->fit.norms / sqrt(als->norm_squared);
}

/* Relative residuals whose square is below this are rounding error for the most part when they
 * come from a difference of squares. */
static const double rounding_residual = 1e-10;

/* The residual of a nearly exact model in wider arithmetic than the device's. Where there is no
 * memory for the nonzeros as a tensor the fit stays as it is. */
static void refine_fit(const struct pd_als *als, const polyad_ktensor *model,
                       polyad_run_info *info) {
  struct pd_als_fit fit = {.from = POLYAD_FIT_RESIDUAL};
  double relative, bound;
  polyad_tensor *tensor = NULL;
  if (!((1 - info->fit) * (1 - info->fit) < rounding_residual)) return;
  if (pd_plan_team(als->plan) != NULL) return; /* nobody has all nonzeros and rows */
  polyad_status status = pd_plan_expand(als->context, als->plan, &tensor);
  if (status == POLYAD_OK)
    status = pd_ktensor_residual(als->context, model, tensor, &relative, &bound);
  polyad_tensor_destroy(tensor);
  if (status != POLYAD_OK) {
    pd_log(als->context, POLYAD_LOG_INFO, "the fit keeps its rounding error: %s",
           polyad_last_error(als->context));
    pd_begin(als->context);
    return;
  }
  fit.fit = 1 - relative;
  fit.residual = relative * relative;
  fit.bound = bound;
  replace_fit(info, &fit);
}

/* Makes the reported fit that of the normalised model, which rounding has moved away from the last
 * iterate: by a bound where that is narrow enough, else by its residual. */
static polyad_status settle_fit(struct pd_als *als, polyad_run_info *info) {
  struct pd_als_fit fit = {.fit = info->fit, .from = info->fit_from};
  double moved = normalizing_bound(als);
  if (moved + info->fit_bound <= pd_als_fit_limit(als)) {
    fit.residual = (1 - fit.fit) * (1 - fit.fit);
    fit.bound = moved + info->fit_bound;
    replace_fit(info, &fit);
    return POLYAD_OK;
  }
  if (!pd_als_rounds(als)) { /* else measuring makes Gram matrices, of what is not rounded */
    PD_TRY(pd_als_take_factors(als));
    PD_TRY(pd_als_enqueue_fit(&als, 1));
  }
  bool measured;
  PD_TRY(pd_als_measure_fit(als, &measured));
  if (!measured) als->fit.bound += moved;
  replace_fit(info, &als->fit);
  return POLYAD_OK;
}

static polyad_status norms_there(void *user, int mode, uint64_t first, int count,
                                 const int *exponent, double *norm, double *peak) {
  struct pd_als *als = user;
  struct pd_matrix own = pd_plan_own(als->plan, mode, &als->factor[mode]);
  return als->linalg->column_norms(als->context, als->work, &own, first, count, exponent, norm,
                                   peak);
}

/* The spare takes the factor's new form. */
static polyad_status form_there(void *user, int mode, const struct pd_column_form *form) {
  struct pd_als *als = user;
  PD_TRY(als->linalg->form_columns(als->context, als->work, form, &als->factor[mode],
                                   &als->spare[mode]));
  pd_als_exchange(als, mode);
  return POLYAD_OK;
}

/* Normal form of the result: 2-norm columns, sorted weights, fixed signs. Where the device can it
 * brings its factors there before they come to the host; else the host does, and gives the device
 * the model. The members of a team do that with the rows that they have; weights, and so the order,
 * are the same on all. `order` tells where the model's components were. */
static polyad_status normalize_model(struct pd_als *als, struct pd_component *order) {
  const struct pd_ktensor_passes there = {norms_there, form_there, als};
  PD_TRY(pd_als_download_weights(als));
  if (als->linalg->form_columns != NULL) {
    PD_TRY(pd_model_normal_form(als->context, als->plan, &there, als->model, order));
    PD_TRY(pd_als_put_weights(als));
    return pd_als_download(als);
  }
  PD_TRY(pd_als_download(als));
  PD_TRY(pd_model_normal_form(als->context, als->plan, NULL, als->model, order));
  return pd_als_put_model(als);
}

static polyad_status finish_model(struct pd_als *als, struct pd_component *order,
                                  polyad_run_info *info) {
  PD_TRY(normalize_model(als, order));
  PD_TRY(settle_fit(als, info));
  refine_fit(als, als->model, info);
  PD_TRY(pd_model_scale_result(als->context, als->plan->value_exponent, sqrt(als->norm_squared),
                               als->model, &info->fit_bound));
  return pd_model_gather(als->context, als->plan, als->model, &als->whole);
}

/* The fit of a first guess has no formula to fall back to. */
static polyad_status cp_als_guess(void *state) {
  struct pd_als *als = state;
  bool measured;
  PD_TRY(pd_als_measure_fit(als, &measured));
  if (measured) return POLYAD_OK;
  return pd_fail(als->context, POLYAD_OUT_OF_MEMORY,
                 "there is no memory for the nonzeros that the fit of a first guess needs");
}

static double cp_als_score(const void *state) {
  const struct pd_als *als = state;
  return als->fit.fit;
}

static void cp_als_report(const void *state, polyad_run_info *info) {
  const struct pd_als *als = state;
  info->fit = als->fit.fit;
  info->fit_bound = als->fit.bound;
  info->fit_from = als->fit.from;
  info->regularized_solves = als->solves.fallbacks + als->solves.damped;
}

static polyad_status cp_als_finish(void *state, polyad_run_info *info) {
  struct pd_als *als = state;
  uint64_t rank = als->options->rank;
  struct pd_component *order = NULL;
  double *cosine = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(als->context, rank, &order));
  PD_TRY_CLEANUP(PD_NEW(als->context, pd_mul_saturated(rank, rank), &cosine));
  PD_TRY_CLEANUP(pd_als_find_cosines(als, cosine));
  PD_TRY_CLEANUP(finish_model(als, order, info));
  status = pd_als_diagnose(als, order, cosine, info);
cleanup:
  PD_FREE(als->context, order, cosine);
  return status;
}

const struct pd_method pd_als_method = {.name = "cp_als",
                                        .objective = "fit",
                                        .start = pd_als_start,
                                        .guess = cp_als_guess,
                                        .iterate = pd_als_iterate,
                                        .judge = pd_als_judge,
                                        .converged = pd_als_converged,
                                        .end = pd_als_read_marks,
                                        .score = cp_als_score,
                                        .save = pd_als_save,
                                        .report = cp_als_report,
                                        .shared = true,
                                        .finish = cp_als_finish};

static bool starts_together(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_als_options *options) {
  return options->run.starts > 1 && options->run.max_iterations > 0 && !options->half_rows &&
         pd_als_gains_together(context, plan, options->rank);
}

static polyad_status cp_als_decompose(polyad_context *context, const polyad_plan *plan,
                                      const void *user, polyad_ktensor **model,
                                      polyad_run_info *info) {
  const polyad_cp_als_options *options = user;
  struct pd_als *als = NULL;
  PD_EXPECT(context, plan != NULL && options != NULL && model != NULL,
            "plan, options or model is NULL");
  PD_TRY(pd_als_check_options(context, plan, options));
  if (starts_together(context, plan, options))
    return pd_als_restarts(context, plan, options, model, info);
  PD_TRY(pd_als_create(context, plan, options, false, &als));
  polyad_status status = pd_run_execute(&als->run, info);
  if (status == POLYAD_OK) {
    polyad_ktensor **result = pd_plan_team(plan) != NULL ? &als->whole : &als->model;
    *model = *result;
    *result = NULL;
  }
  pd_als_destroy(als);
  return status;
}

static polyad_status cp_als_run(polyad_context *context, const polyad_plan *plan,
                                const void *options, polyad_ktensor **model,
                                polyad_run_info *info) {
  return pd_model_decompose(context, plan, cp_als_decompose, options, model, info);
}

polyad_status polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_als_options *options, polyad_ktensor **model,
                            polyad_run_info *info) {
  PD_ENTER(context);
  if (plan != NULL && options != NULL && model != NULL && options->run.keep_starts &&
      !starts_together(context, plan, options))
    return pd_starts_kept(context, plan, cp_als_run, options, sizeof *options, model, info);
  return cp_als_run(context, plan, options, model, info);
}
