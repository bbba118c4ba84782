/* CP decomposition of a tensor of which only some cells are known: the model whose weighted squared
 * distance from the observations, with a ridge, is least. This file has what lies around the
 * iterations (complete_iterate.c, complete_sgd.c): options, first factors, convergence,
 * and the validation set by which a start may end early. */
#include "algorithms/complete_state.h"
#include "algorithms/model_start.h"
#include "algorithms/run_options.h"
#include "algorithms/starts_kept.h"
#include "core/random.h"
#include "linalg/linalg.h"
#include <math.h>
#include <string.h>

void polyad_cp_complete_options_init(polyad_cp_complete_options *options) {
  *options = (polyad_cp_complete_options){.run = pd_run_options_default(500),
                                          .rank = 16,
                                          .method = POLYAD_COMPLETE_ALS,
                                          .ridge = 0.2,
                                          .bias_ridge = 0.2,
                                          .patience = 5,
                                          .learn_rate = 0.3,
                                          .init = POLYAD_INIT_RANDOM};
}

static polyad_status cp_complete_check_options(polyad_context *context, const polyad_plan *plan,
                                               const polyad_cp_complete_options *options) {
  PD_EXPECT(context, options->rank >= 1 && options->rank < 1 << 16,
            "rank %llu found; expected 1 to 65535", (unsigned long long)options->rank);
  PD_EXPECT(context,
            options->method == POLYAD_COMPLETE_ALS || options->method == POLYAD_COMPLETE_CCD ||
                options->method == POLYAD_COMPLETE_SGD,
            "method %d is unknown", (int)options->method);
  PD_EXPECT(context, isfinite(options->ridge) && options->ridge >= 0,
            "ridge %g found; expected a finite number of at least 0", options->ridge);
  PD_EXPECT(context, isfinite(options->bias_ridge) && options->bias_ridge >= 0,
            "bias_ridge %g found; expected a finite number of at least 0", options->bias_ridge);
  PD_EXPECT(context, isfinite(options->learn_rate) && options->learn_rate > 0,
            "learn_rate %g found; expected a finite number above 0", options->learn_rate);
  PD_EXPECT(context, options->patience >= 1, "patience %d found; expected at least 1",
            options->patience);
  PD_EXPECT(context, options->validation_share >= 0 && options->validation_share < 1,
            "a validation share of %g found; expected at least 0, below 1",
            options->validation_share);
  PD_EXPECT(context, options->validation == NULL || options->validation_share == 0,
            "a validation set and a validation share are given; expected one of them");
  PD_EXPECT(context, options->init == POLYAD_INIT_RANDOM || options->init == POLYAD_INIT_MODEL,
            "initialisation %d found; completion begins from random factors or from a model",
            (int)options->init);
  PD_TRY(pd_nonnegative_check(context, options->nonnegative_modes, plan->order));
  return pd_run_options_check(context, &options->run, 0);
}

static polyad_status check_plan(polyad_context *context, const polyad_plan *plan,
                                const polyad_cp_complete_options *options) {
  polyad_complete_method method = options->method;
  if (plan->device->linalg->completion == NULL || strchr(plan->devices, ',') != NULL)
    return pd_fail(
        context, POLYAD_UNSUPPORTED,
        "completion runs on the CPU or one GPU with CUDA; make the plan for one of them, "
        "not for %s",
        plan->devices);
  if (method == POLYAD_COMPLETE_SGD && !plan->device->functions->host_memory)
    return pd_fail(
        context, POLYAD_UNSUPPORTED,
        "stochastic gradient descent runs on the CPU only: its steps follow one another; "
        "choose als or ccd, or make the plan for the device cpu, not %s",
        plan->devices);
  PD_EXPECT(context, plan->nnz > 0, "the tensor has no entry; expected at least one observation");
  return POLYAD_OK;
}

/* ---- first factors -------------------------------------------------------------------------- */

/* Uniform entries, of a size that brings the model to the observations' root mean square, about
 * one: of either sign where some of what the components describe is negative, else positive, as in
 * modes that are to stay nonnegative. An entry's square is the same with signs and without, and one
 * mode with signs is enough for the components not to add up to a mean.
 * Positive columns are nearly collinear. Rows that are solved at once leave that soon; CCD++, which
 * changes one component at a time, hardly does, and begins with either sign. */
static void cp_complete_fill_random(const struct pd_complete *c, int start, int n, double *factor) {
  bool signs = c->signs || c->options->method == POLYAD_COMPLETE_CCD;
  if (pd_nonnegative_everywhere(c->nonnegative, c->order)) signs = false;
  double order = c->order, rank = (double)c->fitted.rank;
  double size =
      signs ? pow(pow(3, order / 2) / sqrt(rank), 1 / order) : pow(pow(2, order) / rank, 1 / order);
  signs = signs && !pd_nonnegative_in(c->nonnegative, n);
  uint64_t seed = polyad_seed(c->context);
  uint64_t stream = (uint64_t)start * POLYAD_MAX_ORDER + (uint64_t)n;
  for (uint64_t i = 0; i < c->plan->dims[n]; ++i)
    for (size_t r = 0; r < c->fitted.rank; ++r) {
      double u = pd_random_uniform(seed, stream, i * c->fitted.rank + r);
      factor[i * c->fitted.columns + r] = size * (signs ? 2 * u - 1 : u);
    }
}

/* The caller's components. Their weights, and the scale of the observations, go into mode 0. */
static void cp_complete_take_initial(const struct pd_complete *c, const polyad_ktensor *checked,
                                     int n, double *factor) {
  const polyad_ktensor *initial = c->options->initial;
  int exponent = c->exponent + c->plan->value_exponent;
  for (uint64_t i = 0; i < c->plan->dims[n]; ++i)
    for (size_t r = 0; r < c->fitted.rank; ++r) {
      double x = pd_model_number(checked, checked->factor[n], i * c->fitted.rank + r);
      if (n == 0) x = ldexp(x * pd_model_number(initial, initial->weights, r), -exponent);
      factor[i * c->fitted.columns + r] = x;
    }
}

/* Biases are 0 at first. */
static polyad_status fill_factor(struct pd_complete *c, int start, const polyad_ktensor *initial,
                                 int n) {
  struct pd_matrix *factor = &c->fitted.factor[n];
  double *host = NULL;
  PD_TRY(PD_NEW_ZERO(c->context, pd_mul_saturated(factor->rows, factor->columns), &host));
  if (initial != NULL)
    cp_complete_take_initial(c, initial, n, host);
  else
    cp_complete_fill_random(c, start, n, host);
  polyad_status status = pd_matrix_from_host(c->context, factor, host);
  if (status == POLYAD_OK)
    status = factor->device->functions->synchronize(c->context, factor->device);
  pd_free(c->context, host);
  return status;
}

static polyad_status fill_factors(struct pd_complete *c, int start) {
  polyad_ktensor *initial = NULL;
  polyad_status status = POLYAD_OK;
  if (c->options->init == POLYAD_INIT_MODEL) {
    PD_TRY(polyad_ktensor_create(c->context, c->order, c->plan->dims, c->fitted.rank, POLYAD_F64,
                                 &initial));
    status =
        pd_model_take_initial(c->context, c->plan, c->options->initial, c->nonnegative, initial);
  }
  for (int n = 0; n < c->order && status == POLYAD_OK; ++n)
    status = fill_factor(c, start, initial, n);
  polyad_ktensor_destroy(initial);
  return status;
}

static polyad_status cp_complete_start(void *state, int number) {
  struct pd_complete *c = state;
  c->now = (struct pd_complete_score){.loss = INFINITY, .objective = INFINITY, .validation = NAN};
  c->objective_before = c->best_validation = INFINITY;
  c->best_iteration = c->since = c->fallbacks = 0;
  c->rate = c->options->learn_rate;
  c->undone = c->revived = false;
  c->steps->forget(c->work);
  for (int n = 0; n < c->order && c->squares[n].data != NULL; ++n)
    memset(c->squares[n].data, 0, 2 * c->plan->dims[n] * sizeof(double));
  return fill_factors(c, number);
}

/* ---- iterations ----------------------------------------------------------------------------- */

/* Keeps the factors of the lowest validation error. */
static polyad_status watch_validation(struct pd_complete *c, uint64_t iteration) {
  const struct pd_device *device = c->plan->device;
  if (c->held == NULL || c->undone) return POLYAD_OK;
  ++c->since;
  if (!(c->now.validation < c->best_validation)) return POLYAD_OK;
  c->best_validation = c->now.validation;
  c->best_iteration = iteration;
  c->since = 0;
  for (int n = 0; n < c->order; ++n) {
    const struct pd_matrix *factor = &c->fitted.factor[n];
    PD_TRY(device->functions->copy(c->context, device, c->best[n].data, factor->data,
                                   factor->rows * factor->stride * sizeof(double)));
  }
  return POLYAD_OK;
}

static polyad_status cp_complete_guess(void *state) {
  struct pd_complete *c = state;
  PD_TRY(pd_complete_measure(c));
  return watch_validation(c, 0);
}

static polyad_status cp_complete_iterate(void *state, polyad_trace_row *row,
                                         double *kernel_seconds) {
  struct pd_complete *c = state;
  c->objective_before = c->now.objective;
  PD_TRY(pd_complete_iterate(c, kernel_seconds));
  PD_TRY(watch_validation(c, (uint64_t)c->run.iteration + 1));
  row->residual = c->now.loss / c->norm_squared;
  row->fit = 1 - sqrt(row->residual);
  row->fit_from = POLYAD_FIT_OBSERVED;
  row->validation_rmse = ldexp(c->now.validation, c->exponent + c->plan->value_exponent);
  return POLYAD_OK;
}

/* An epoch of SGD that was undone tells of its step, not of the model, and an iteration that
 * revived components of what they cost. */
static bool cp_complete_converged(const void *state) {
  const struct pd_complete *c = state;
  double tolerance = c->options->run.tolerance;
  if (c->undone) return tolerance > 0 && c->rate < 1e-9 * c->options->learn_rate;
  if (!(tolerance > 0) || isinf(c->objective_before) || c->revived) return false;
  return sqrt(c->objective_before) - sqrt(c->now.objective) < tolerance * sqrt(c->objective_before);
}

static bool stagnates(const void *state) {
  const struct pd_complete *c = state;
  return c->held != NULL && c->since >= (uint64_t)c->options->patience;
}

/* The fit to the validation set, where there is one. */
static double cp_complete_score(const void *state) {
  const struct pd_complete *c = state;
  if (c->held == NULL) return 1 - sqrt(c->now.loss / c->norm_squared);
  return 1 - c->best_validation * sqrt(c->held->weights / c->held_norm_squared);
}

static void cp_complete_report(const void *state, polyad_run_info *info) {
  const struct pd_complete *c = state;
  info->fit = 1 - sqrt(c->now.loss / c->norm_squared);
}

#define COMPLETE_METHOD(called)                                                                    \
  {                                                                                                \
    .name = (called), .objective = "fit", .start = cp_complete_start, .guess = cp_complete_guess,  \
    .iterate = cp_complete_iterate, .converged = cp_complete_converged, .stagnates = stagnates,    \
    .validates = true, .score = cp_complete_score, .save = pd_complete_save,                       \
    .report = cp_complete_report, .finish = pd_complete_finish                                     \
  }
const struct pd_method pd_complete_methods[] = {[POLYAD_COMPLETE_ALS] = COMPLETE_METHOD("cmp_als"),
                                                [POLYAD_COMPLETE_CCD] = COMPLETE_METHOD("cmp_ccd"),
                                                [POLYAD_COMPLETE_SGD] = COMPLETE_METHOD("cmp_sgd")};

static polyad_status cp_complete_run(polyad_context *context, const polyad_plan *plan,
                                     const void *user, polyad_ktensor **model,
                                     polyad_run_info *info) {
  const polyad_cp_complete_options *options = user;
  struct pd_complete *c = NULL;
  if (model != NULL) *model = NULL;
  PD_EXPECT(context, plan != NULL && options != NULL && model != NULL,
            "plan, options or model is NULL");
  PD_TRY(cp_complete_check_options(context, plan, options));
  PD_TRY(check_plan(context, plan, options));
  PD_TRY(pd_complete_create(context, plan, options, &c));
  polyad_status status = pd_run_execute(&c->run, info);
  if (status == POLYAD_OK) {
    *model = c->model;
    c->model = NULL;
  }
  pd_complete_destroy(c);
  return status;
}

polyad_status polyad_cp_complete(polyad_context *context, const polyad_plan *plan,
                                 const polyad_cp_complete_options *options, polyad_ktensor **model,
                                 polyad_run_info *info) {
  PD_ENTER(context);
  if (options != NULL && model != NULL && options->run.keep_starts)
    return pd_starts_kept(context, plan, cp_complete_run, options, sizeof *options, model, info);
  return cp_complete_run(context, plan, options, model, info);
}
