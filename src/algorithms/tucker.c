/* Tucker decomposition by higher-order orthogonal iteration: options and the result. */
#include "algorithms/hosvd.h"
#include "algorithms/run_starts.h"
#include "algorithms/tucker_state.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void polyad_tucker_options_init(polyad_tucker_options *options) {
  *options = (polyad_tucker_options){
      .max_iterations = 50, .tolerance = 1e-4, .init = POLYAD_INIT_HOSVD, .svd = POLYAD_SVD_EXACT};
}

static polyad_status check_tensor(polyad_context *context, const polyad_plan *plan) {
  if (plan->nnz == 0 || !(plan->norm_square_scaled > 0))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the tensor has no nonzero: its fit is undefined; expected at least one");
  return POLYAD_OK;
}

static polyad_status check_options(polyad_context *context, const polyad_plan *plan,
                                   const polyad_tucker_options *options) {
#define EXPECT(condition, ...)                                                                     \
  if (!(condition)) return pd_fail(context, POLYAD_INVALID_ARGUMENT, __VA_ARGS__)
  for (int n = 0; n < plan->order; ++n)
    EXPECT(options->ranks[n] >= 1 && options->ranks[n] <= plan->dims[n],
           "rank %llu of mode %d found; expected 1 to %llu, the mode's length",
           (unsigned long long)options->ranks[n], pd_shown_mode(context, n),
           (unsigned long long)plan->dims[n]);
  EXPECT(options->max_iterations >= 1 && options->max_iterations < 1000000000,
         "%d iterations found; expected 1 to 999999999", options->max_iterations);
  EXPECT(isfinite(options->tolerance) && options->tolerance >= 0,
         "tolerance %g found; expected a finite number of at least 0", options->tolerance);
  EXPECT(options->max_seconds >= 0, "max_seconds %g found; expected at least 0",
         options->max_seconds);
  EXPECT(options->init == POLYAD_INIT_RANDOM || options->init == POLYAD_INIT_HOSVD ||
             options->init == POLYAD_INIT_MODEL,
         "initialisation %d is unknown", (int)options->init);
  EXPECT(options->svd == POLYAD_SVD_EXACT || options->svd == POLYAD_SVD_RANDOMIZED,
         "way %d to find singular vectors is unknown", (int)options->svd);
#undef EXPECT
  return check_tensor(context, plan);
}

/* Relative residuals whose square is below this are rounding error for the most part when they
 * come from a difference of squares. */
static const double rounding_residual = 1e-10;

/* Sums the residual of a nearly exact model from the nonzeros themselves. Where there is no
 * memory for them the rounded fit stays. */
static void refine_fit(const struct pd_tucker *t, polyad_run_info *info) {
  double relative;
  if (!((1 - info->fit) * (1 - info->fit) < rounding_residual) || t->plan->value_exponent != 0)
    return;
  polyad_tensor *tensor = NULL;
  polyad_status status = pd_plan_expand(t->context, t->plan, &tensor);
  if (status == POLYAD_OK) status = pd_ttensor_residual(t->context, t->model, tensor, &relative);
  polyad_tensor_destroy(tensor);
  if (status != POLYAD_OK) {
    pd_log(t->context, POLYAD_LOG_INFO, "the fit keeps its rounding error: %s",
           polyad_last_error(t->context));
    pd_begin(t->context);
    return;
  }
  info->fit = 1 - relative;
  info->trace[info->trace_rows - 1].fit = info->fit;
  info->trace[info->trace_rows - 1].residual = relative * relative;
}

/* Columns beyond the product of the other ranks cannot help. */
static void diagnose(const struct pd_tucker *t, polyad_run_info *info) {
  for (int n = 0; n < t->order; ++n)
    if (t->options->ranks[n] > t->columns[n]) {
      snprintf(info->diagnosis, sizeof info->diagnosis,
               "rank %llu of mode %d is more than the product of the other ranks, %llu: further "
               "columns add nothing",
               (unsigned long long)t->options->ranks[n], pd_shown_mode(t->context, n),
               (unsigned long long)t->columns[n]);
      return;
    }
}

/* Of the widest chain. */
static uint64_t most_columns(const struct pd_tucker *t) {
  uint64_t most = 0;
  for (int n = 0; n < t->order; ++n)
    most = t->columns[n] > most ? t->columns[n] : most;
  return most;
}

static polyad_status run(struct pd_tucker *t, polyad_run_info *info) {
  polyad_reason reason;
  int threads = pd_run_threads(t->context, t->plan, most_columns(t));
  PD_TRY(pd_tucker_initialize(t));
  PD_TRY(pd_tucker_run(t, &reason));
  PD_TRY(pd_tucker_finish(t));
  PD_TRY(pd_run_report(&t->run, reason, info));
  PD_TRY(pd_run_note_start(&t->run, "fit", info->fit, reason));
  pd_run_report_starts(&t->run, info);
  refine_fit(t, info);
  diagnose(t, info);
  info->seconds = pd_run_seconds(&t->run);
  info->threads = threads;
  return POLYAD_OK;
}

polyad_status polyad_tucker(polyad_context *context, const polyad_plan *plan,
                            const polyad_tucker_options *options, polyad_ttensor **model,
                            polyad_run_info *info) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (model != NULL) *model = NULL;
  if (plan == NULL || options == NULL || model == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, options or model is NULL");
  PD_TRY(check_options(context, plan, options));
  polyad_run_info found = {0};
  struct pd_tucker *t = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_tucker_create(context, plan, options, &t));
  PD_TRY_CLEANUP(run(t, &found));
  *model = t->model;
  t->model = NULL;
  if (info != NULL) {
    polyad_run_info_clear(info);
    *info = found;
    found = (polyad_run_info){0};
  }
cleanup:
  polyad_run_info_clear(&found);
  pd_tucker_destroy(t);
  return status;
}

polyad_status polyad_tucker_ranks(polyad_context *context, const polyad_plan *plan, double energy,
                                  uint64_t *ranks) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (plan == NULL || ranks == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan or ranks is NULL");
  if (!(energy > 0 && energy <= 1))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "energy %g found; expected a share above 0 and at most 1", energy);
  PD_TRY(check_tensor(context, plan));
  return pd_hosvd_ranks(context, plan, energy, ranks);
}
