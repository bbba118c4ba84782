/* The end of a completion: the model in its normal form, with biases as components of their own,
 * the fit that it really has in the plan's type, and words about it. */
#include "algorithms/complete_state.h"
#include "algorithms/model_start.h"
#include "tensor/ktensor_scale.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 12 }; /* of sums on the CPU; those of GPUs are shorter */

/* ---- the model ------------------------------------------------------------------------------ */

static const double *best_row(const struct pd_complete *c, int mode, uint64_t i) {
  return c->found[mode] + i * c->fitted.columns;
}

/* The factors that iterations have come to, in the host's memory. */
static polyad_status bring_best_factors(struct pd_complete *c) {
  for (int n = 0; n < c->order; ++n) {
    const struct pd_matrix *best = c->held != NULL ? &c->best[n] : &c->fitted.factor[n];
    PD_TRY(PD_NEW(c->context, pd_mul_saturated(best->rows, best->columns), &c->found[n]));
    PD_TRY(pd_matrix_to_host(c->context, best, c->found[n]));
  }
  return POLYAD_OK;
}

/* For passes over all rows of a factor. */
static int complete_model_threads(const struct pd_complete *c, uint64_t rows, uint64_t columns) {
  return pd_threads_for(c->context, pd_mul_saturated(rows, columns), 1 << 16);
}

static polyad_status make_components(const struct pd_complete *c, polyad_ktensor **out) {
  polyad_ktensor *made = NULL;
  PD_TRY(polyad_ktensor_create(c->context, c->order, c->plan->dims, c->fitted.rank, c->plan->type,
                               &made));
  pd_model_unit_weights(made);
  for (int n = 0; n < c->order; ++n) {
    int threads = complete_model_threads(c, made->dims[n], made->rank);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t i = 0; i < made->dims[n]; ++i)
      for (size_t r = 0; r < c->fitted.rank; ++r)
        pd_model_set(made, made->factor[n], i * c->fitted.rank + r, best_row(c, n, i)[r]);
  }
  polyad_ktensor_normalize(made, POLYAD_NORM_2);
  polyad_status status = polyad_ktensor_arrange(c->context, made);
  if (status != POLYAD_OK) {
    polyad_ktensor_destroy(made);
    return status;
  }
  polyad_ktensor_fix_signs(made);
  *out = made;
  return POLYAD_OK;
}

/* Entry i of the bias of mode `bias` in mode n. */
static double bias_entry(const struct pd_complete *c, int bias, int n, uint64_t i) {
  if (n != bias) return 1;
  return best_row(c, n, i)[c->fitted.rank] + (n == 0 ? c->mean : 0);
}

/* The components, and behind them a component for the biases of every mode, with columns of norm
 * one. */
static polyad_status append_biases(const struct pd_complete *c, const polyad_ktensor *components,
                                   polyad_ktensor **out) {
  polyad_ktensor *made = NULL;
  uint64_t rank = c->fitted.rank + (uint64_t)c->order;
  PD_TRY(polyad_ktensor_create(c->context, c->order, c->plan->dims, rank, c->plan->type, &made));
  pd_model_unit_weights(made);
  for (int n = 0; n < c->order; ++n) {
    int threads = complete_model_threads(c, made->dims[n], (uint64_t)c->order);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t i = 0; i < made->dims[n]; ++i)
      for (int k = 0; k < c->order; ++k)
        pd_model_set(made, made->factor[n], i * rank + c->fitted.rank + (uint64_t)k,
                     bias_entry(c, k, n, i));
  }
  polyad_ktensor_normalize(made, POLYAD_NORM_2); /* components are zero so far */
  for (uint64_t r = 0; r < c->fitted.rank; ++r)
    pd_model_set(made, made->weights, r, pd_model_number(components, components->weights, r));
  for (int n = 0; n < c->order; ++n) {
    int threads = complete_model_threads(c, made->dims[n], c->fitted.rank);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t i = 0; i < made->dims[n]; ++i)
      for (uint64_t r = 0; r < c->fitted.rank; ++r)
        pd_model_set(made, made->factor[n], i * rank + r,
                     pd_model_number(components, components->factor[n], i * c->fitted.rank + r));
  }
  *out = made;
  return POLYAD_OK;
}

static polyad_status make_model(struct pd_complete *c) {
  if (!pd_completed_biases(&c->fitted)) return make_components(c, &c->model);
  polyad_ktensor *components = NULL;
  PD_TRY(make_components(c, &components));
  polyad_status status = append_biases(c, components, &c->model);
  polyad_ktensor_destroy(components);
  return status;
}

/* ---- its fit -------------------------------------------------------------------------------- */

/* The model's factors in double on the device, those of mode 0 with the weights. */
static polyad_status send_model(struct pd_complete *c, struct pd_completed *sent) {
  const polyad_ktensor *model = c->model;
  *sent = (struct pd_completed){
      .order = c->order, .rank = (size_t)model->rank, .columns = (size_t)model->rank};
  for (int n = 0; n < c->order; ++n) {
    uint64_t count = model->dims[n] * model->rank;
    double *host = NULL;
    PD_TRY(pd_matrix_create(c->context, c->plan->device, POLYAD_F64, model->dims[n], model->rank,
                            &sent->factor[n]));
    PD_TRY(PD_NEW(c->context, count, &host));
    int threads = complete_model_threads(c, count, 1);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t k = 0; k < count; ++k) {
      host[k] = pd_model_number(model, model->factor[n], k);
      if (n == 0) host[k] *= pd_model_number(model, model->weights, k % model->rank);
    }
    polyad_status status = pd_matrix_from_host(c->context, &sent->factor[n], host);
    if (status == POLYAD_OK)
      status = c->plan->device->functions->synchronize(c->context, c->plan->device);
    pd_free(c->context, host);
    PD_TRY(status);
  }
  return POLYAD_OK;
}

/* sums[0]: of the observations of the fit; sums[1]: of validation. See pd_completion::compare. */
static polyad_status compare_model(struct pd_complete *c, double sums[2][2]) {
  struct pd_completed sent;
  polyad_status status = send_model(c, &sent);
  if (status == POLYAD_OK)
    status = c->steps->compare(c->context, c->work, &sent, c->seen, c->mean, sums[0]);
  if (status == POLYAD_OK && c->held != NULL)
    status = c->steps->compare(c->context, c->work, &sent, c->held, c->mean, sums[1]);
  for (int n = 0; n < c->order; ++n)
    pd_matrix_destroy(c->context, &sent.factor[n]);
  return status;
}

/* Every model value is wrong by at most (order + rank + 4) u times the magnitudes that went into
 * it, and sums of n positive terms by n u of themselves, with n of a chunk and of the chunks'
 * number. */
static polyad_status complete_model_find_fit(struct pd_complete *c, polyad_run_info *info) {
  double sums[2][2], unit = DBL_EPSILON / 2;
  uint64_t chunks = c->seen->count / CHUNK;
  double terms = (double)(CHUNK + chunks + 8);
  PD_TRY(compare_model(c, sums));
  double value_error = ((double)c->order + (double)c->model->rank + 4) * unit * sqrt(sums[0][1]);
  double norm = sqrt(c->norm_squared), missed = sqrt(sums[0][0]);
  int exponent = c->exponent + c->plan->value_exponent;
  info->fit = 1 - missed / norm;
  info->fit_bound =
      (value_error + 2 * (terms + (double)c->seen->count) * unit * missed) / norm + 2 * unit;
  info->fit_from = POLYAD_FIT_OBSERVED;
  info->rmse = ldexp(sqrt(sums[0][0] / c->seen->weights), exponent);
  info->regularized_solves = c->fallbacks;
  if (c->held == NULL) return POLYAD_OK;
  info->validation_rmse = ldexp(sqrt(sums[1][0] / c->held->weights), exponent);
  info->best_iteration = (int)c->best_iteration;
  return POLYAD_OK;
}

/* ---- words ---------------------------------------------------------------------------------- */

static void diagnose(const struct pd_complete *c, polyad_run_info *info) {
  uint64_t numbers = 0;
  for (int n = 0; n < c->order; ++n) {
    uint64_t empty = c->empty[n], dim = c->plan->dims[n];
    numbers += (dim - empty) * c->fitted.columns;
    if (empty > 0)
      pd_run_say(info, "%" PRIu64 " of %" PRIu64 " indices of mode %d have no observation: %s.",
                 empty, dim, pd_shown_mode(c->context, n),
                 pd_completed_biases(&c->fitted)
                     ? "nothing but the other modes' biases is predicted there"
                     : "zero is predicted there");
  }
  if (numbers > c->seen->count)
    pd_run_say(info,
               "The model has %" PRIu64 " numbers and was fitted to %" PRIu64
               " observations: a validation set shows whether it predicts others.",
               numbers, c->seen->count);
}

/* A fit below which nothing worth mentioning is left of a model. */
static const double least_fit = 1e-3;

/* For values s x a ridge is as heavy as s^(2 - 2/N) times it is for x: squares of the values grow
 * by s^2, those of N factors by s^(2/N). */
static void say_ridge(const struct pd_complete *c, polyad_run_info *info) {
  polyad_cp_complete_options usual;
  polyad_cp_complete_options_init(&usual);
  int exponent = c->exponent + c->plan->value_exponent;
  double values = ldexp(sqrt(c->norm_squared / c->seen->weights), exponent);
  double suited = usual.ridge * pow(values, 2 - 2.0 / c->order);
  if (!(info->fit < least_fit && suited < c->options->ridge)) return;
  pd_run_say(info,
             "The ridge %g leaves next to nothing of the model. The default, %g, is for values of "
             "about one; here the root of their mean square is %.3g, for which a ridge of %.3g is "
             "as heavy.",
             c->options->ridge, usual.ridge, values, suited);
}

/* Inner products of the components, whose columns have norm one or zero and need no scale. */
static polyad_status multiply_cosines(const struct pd_complete *c, double *cosine) {
  struct pd_scaled_model model = {
      .order = c->model->order, .rank = c->model->rank, .type = c->model->type};
  for (int n = 0; n < model.order; ++n) {
    model.dims[n] = c->model->dims[n];
    model.factor[n] = c->model->factor[n];
  }
  return pd_model_gram(c->context, &model, &model, cosine);
}

/* Times that the root of the mean square of all cells may be that of the known ones. */
static const double most_growth = 10;

/* Where there are too few observations a model may fit them by values that grow without bound
 * elsewhere. */
static void say_growth(const struct pd_complete *c, const double *cosine, polyad_run_info *info) {
  const polyad_ktensor *model = c->model;
  double square = 0, cells = 1, known = c->norm_squared / c->seen->weights;
  for (int n = 0; n < c->order; ++n)
    cells *= (double)model->dims[n];
  for (uint64_t r = 0; r < model->rank; ++r)
    for (uint64_t s = r; s < model->rank; ++s)
      square += (r == s ? 1 : 2) * pd_model_number(model, model->weights, r) *
                pd_model_number(model, model->weights, s) * cosine[r * model->rank + s];
  double growth = sqrt(square / cells / known);
  if (growth > most_growth)
    pd_run_say(info,
               "The model is degenerate: its values over all cells are %.3g times as large as the "
               "known ones (root mean squares), so that it predicts nothing; try a larger ridge, "
               "more starts or a lower rank.",
               growth);
}

static polyad_status diagnose_model(const struct pd_complete *c, polyad_run_info *info) {
  uint64_t all = c->model->rank, rank = c->fitted.rank;
  double *cosine;
  PD_TRY(PD_NEW(c->context, pd_mul_saturated(all, all), &cosine));
  polyad_status status = multiply_cosines(c, cosine);
  if (status == POLYAD_OK) {
    say_growth(c, cosine, info);
    for (uint64_t r = 0; r < rank; ++r) /* biases, which come behind the components, may cancel */
      memmove(cosine + r * rank, cosine + r * all, rank * sizeof *cosine);
    pd_run_say_pairs(c->context, rank, NULL, cosine, info);
  }
  pd_free(c->context, cosine);
  return status;
}

polyad_status pd_complete_finish(void *state, polyad_run_info *info) {
  struct pd_complete *c = state;
  PD_TRY(bring_best_factors(c));
  PD_TRY(make_model(c));
  PD_TRY(complete_model_find_fit(c, info));
  diagnose(c, info);
  say_ridge(c, info);
  PD_TRY(diagnose_model(c, info));
  /* What rounding changes at a cell counts by its weight, which is at most the sum of all. */
  double heaviest = c->seen->weight != NULL ? c->seen->weights : 1;
  return pd_model_scale_result(c->context, c->exponent + c->plan->value_exponent,
                               sqrt(c->norm_squared / heaviest), c->model, &info->fit_bound);
}
