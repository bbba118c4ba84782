/* The end of a completion: the model in its normal form, with biases as components of their own,
 * the fit that it really has in the plan's type, and words about it. */
#include "algorithms/complete_state.h"
#include "algorithms/model_start.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 12 };

/* ---- the model ------------------------------------------------------------------------------ */

static polyad_status make_components(const struct pd_complete *c, polyad_ktensor **out) {
  polyad_ktensor *made = NULL;
  PD_TRY(polyad_ktensor_create(c->context, c->order, c->plan->dims, c->rank, c->plan->type, &made));
  pd_model_unit_weights(made);
  for (int n = 0; n < c->order; ++n)
    for (uint64_t i = 0; i < made->dims[n]; ++i)
      for (size_t r = 0; r < c->rank; ++r)
        pd_model_set(made, made->factor[n], i * c->rank + r, pd_complete_best_row(c, n, i)[r]);
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
  return pd_complete_best_row(c, n, i)[c->rank] + (n == 0 ? c->mean : 0);
}

/* The components, and behind them a component for the biases of every mode, with columns of norm
 * one. */
static polyad_status append_biases(const struct pd_complete *c, const polyad_ktensor *components,
                                   polyad_ktensor **out) {
  polyad_ktensor *made = NULL;
  uint64_t rank = c->rank + (uint64_t)c->order;
  PD_TRY(polyad_ktensor_create(c->context, c->order, c->plan->dims, rank, c->plan->type, &made));
  pd_model_unit_weights(made);
  for (int n = 0; n < c->order; ++n)
    for (uint64_t i = 0; i < made->dims[n]; ++i) {
      for (int k = 0; k < c->order; ++k)
        pd_model_set(made, made->factor[n], i * rank + c->rank + (uint64_t)k,
                     bias_entry(c, k, n, i));
    }
  polyad_ktensor_normalize(made, POLYAD_NORM_2); /* components are zero so far */
  for (uint64_t r = 0; r < c->rank; ++r)
    pd_model_set(made, made->weights, r, pd_model_number(components, components->weights, r));
  for (int n = 0; n < c->order; ++n)
    for (uint64_t i = 0; i < made->dims[n]; ++i)
      for (uint64_t r = 0; r < c->rank; ++r)
        pd_model_set(made, made->factor[n], i * rank + r,
                     pd_model_number(components, components->factor[n], i * c->rank + r));
  *out = made;
  return POLYAD_OK;
}

static polyad_status make_model(struct pd_complete *c) {
  if (!pd_complete_has_biases(c)) return make_components(c, &c->model);
  polyad_ktensor *components = NULL;
  PD_TRY(make_components(c, &components));
  polyad_status status = append_biases(c, components, &c->model);
  polyad_ktensor_destroy(components);
  return status;
}

/* ---- its fit -------------------------------------------------------------------------------- */

/* What the model misses at a cell; *magnitude gets the sum of what was added up. */
static double missed_at(const struct pd_complete *c, const struct pd_observations *o, uint64_t q,
                        double *magnitude) {
  const polyad_ktensor *model = c->model;
  double sum = 0, size = 0, x = o->value[q] + c->mean;
  for (uint64_t r = 0; r < model->rank; ++r) {
    double term = pd_model_number(model, model->weights, r);
    for (int n = 0; n < c->order; ++n)
      term *= pd_model_number(model, model->factor[n], o->cell[n][q] * model->rank + r);
    sum += term;
    size += fabs(term);
  }
  *magnitude = fabs(x) + 2 * fabs(c->mean) + size;
  return x - sum;
}

/* Sums over observations of w (x - m)^2, and of w times the square of the magnitudes. */
static void complete_model_compare(const struct pd_complete *c, const struct pd_observations *o,
                                   double *loss, double *magnitudes) {
  uint64_t chunks = (o->count + CHUNK - 1) / CHUNK;
#pragma omp parallel for num_threads(c->threads) schedule(static)
  for (uint64_t k = 0; k < chunks; ++k) {
    uint64_t end = (k + 1) * CHUNK < o->count ? (k + 1) * CHUNK : o->count;
    double sums[2] = {0};
    for (uint64_t q = k * CHUNK; q < end; ++q) {
      double size, missed = missed_at(c, o, q, &size), weight = pd_complete_weight(o, q);
      sums[0] += weight * (missed * missed);
      sums[1] += weight * (size * size);
    }
    c->partial[2 * k] = sums[0];
    c->partial[2 * k + 1] = sums[1];
  }
  *loss = *magnitudes = 0;
  for (uint64_t k = 0; k < chunks; ++k) {
    *loss += c->partial[2 * k];
    *magnitudes += c->partial[2 * k + 1];
  }
}

/* Every model value is wrong by at most (order + rank + 4) u times the magnitudes that went into
 * it, and sums of n positive terms by n u of themselves, with n of a chunk and of the chunks'
 * number. */
static void complete_model_find_fit(const struct pd_complete *c, polyad_run_info *info) {
  double loss, magnitudes, unit = DBL_EPSILON / 2;
  uint64_t chunks = c->seen->count / CHUNK;
  double terms = (double)(CHUNK + chunks + 8);
  complete_model_compare(c, c->seen, &loss, &magnitudes);
  double value_error = ((double)c->order + (double)c->model->rank + 4) * unit * sqrt(magnitudes);
  double norm = sqrt(c->norm_squared), missed = sqrt(loss);
  int exponent = c->exponent + c->plan->value_exponent;
  info->fit = 1 - missed / norm;
  info->fit_bound =
      (value_error + 2 * (terms + (double)c->seen->count) * unit * missed) / norm + 2 * unit;
  info->fit_from = POLYAD_FIT_OBSERVED;
  info->rmse = ldexp(sqrt(loss / c->seen->weights), exponent);
  info->regularized_solves = c->fallbacks;
  if (c->held == NULL) return;
  complete_model_compare(c, c->held, &loss, &magnitudes);
  info->validation_rmse = ldexp(sqrt(loss / c->held->weights), exponent);
  info->best_iteration = (int)c->best_iteration;
}

/* ---- words ---------------------------------------------------------------------------------- */

static void diagnose(const struct pd_complete *c, polyad_run_info *info) {
  uint64_t numbers = 0;
  for (int n = 0; n < c->order; ++n) {
    uint64_t empty = 0, dim = c->plan->dims[n];
    for (uint64_t i = 0; i < dim; ++i)
      empty += pd_observed_count(&c->seen->rows[n], i) == 0;
    numbers += (dim - empty) * c->columns;
    if (empty > 0)
      pd_run_say(info, "%" PRIu64 " of %" PRIu64 " indices of mode %d have no observation: %s.",
                 empty, dim, pd_shown_mode(c->context, n),
                 pd_complete_has_biases(c)
                     ? "nothing but the other modes' biases is predicted there"
                     : "zero is predicted there");
  }
  if (numbers > c->seen->count)
    pd_run_say(info,
               "The model has %" PRIu64 " numbers and was fitted to %" PRIu64
               " observations: a validation set shows whether it predicts others.",
               numbers, c->seen->count);
}

polyad_status pd_complete_finish(void *state, polyad_run_info *info) {
  struct pd_complete *c = state;
  PD_TRY(make_model(c));
  complete_model_find_fit(c, info);
  diagnose(c, info);
  return pd_model_scale_weights(c->context, c->exponent + c->plan->value_exponent, c->model);
}
