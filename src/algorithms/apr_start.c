/* The first model of a start of CP-APR, uniform random numbers or the caller's, with columns of
 * 1-norm one; and the way of models to the device and back. */
#include "algorithms/apr_rows.h"
#include "algorithms/model_start.h"
#include "algorithms/model_team.h"
#include <math.h>
#include <string.h>

static polyad_status check_weights(struct pd_apr *apr, const polyad_ktensor *initial) {
  for (uint64_t r = 0; r < initial->rank; ++r) {
    double weight = pd_model_number(initial, initial->weights, r);
    if (!(isfinite(weight) && weight >= 0))
      return pd_fail(apr->context, POLYAD_NUMERICAL,
                     "weight %llu of the initial model is %g; expected a finite number of at least "
                     "0",
                     (unsigned long long)pd_shown(apr->context, r), weight);
  }
  return POLYAD_OK;
}

static polyad_status apr_start_take_initial(struct pd_apr *apr) {
  const polyad_ktensor *initial = apr->options->initial;
  PD_TRY(pd_model_take_initial(apr->context, apr->plan, initial, 0, apr->model));
  PD_TRY(check_weights(apr, initial));
  for (int n = 0; n < apr->order; ++n)
    for (uint64_t k = 0; k < initial->dims[n] * initial->rank; ++k) {
      double value = pd_model_number(initial, initial->factor[n], k);
      if (value < 0)
        return pd_fail(apr->context, POLYAD_NUMERICAL,
                       "the initial factor of mode %d has the negative entry %g in row %llu; "
                       "expected at least 0",
                       pd_shown_mode(apr->context, n), value,
                       (unsigned long long)pd_shown(apr->context, k / initial->rank));
    }
  for (uint64_t r = 0; r < initial->rank; ++r)
    pd_model_set(apr->model, apr->model->weights, r,
                 ldexp(pd_model_number(initial, initial->weights, r), -apr->plan->value_exponent));
  return POLYAD_OK;
}

/* Rows of zeros would have no logarithm: their first entry becomes tiny. */
static void lift_zero_rows(struct pd_apr *apr) {
  const polyad_ktensor *model = apr->model;
  for (int n = 0; n < apr->order; ++n)
    for (uint64_t i = 0; i < model->dims[n]; ++i) {
      double sum = 0;
      for (uint64_t r = 0; r < model->rank; ++r)
        sum += pd_model_number(model, model->factor[n], i * model->rank + r);
      if (sum == 0) pd_model_set(model, model->factor[n], i * model->rank, 1e-8);
    }
}

static polyad_status apr_start_upload(struct pd_apr *apr) {
  polyad_context *context = apr->context;
  for (uint64_t r = 0; r < apr->model->rank; ++r)
    apr->host_lambda[r] = pd_model_number(apr->model, apr->model->weights, r);
  PD_TRY(pd_matrix_from_host(context, &apr->lambda, apr->host_lambda));
  for (int n = 0; n < apr->order; ++n) {
    PD_TRY(pd_matrix_from_host(context, &apr->factor[n], apr->model->factor[n]));
    pd_matrix_touch(&apr->factor[n]);
  }
  return POLYAD_OK;
}

polyad_status pd_apr_normalize(struct pd_apr *apr) {
  return pd_model_normalize(apr->context, apr->plan, POLYAD_NORM_1, apr->model);
}

/* Unlike a least-squares fit, MU keeps the scale of its guess for a while: but for rounding the
 * weights of the guess are those that the guess itself has. */
polyad_status pd_apr_start(void *state, int start) {
  struct pd_apr *apr = state;
  apr->row_tolerance = apr->options->run.tolerance;
  apr->timed_iterations = 0;
  memset(apr->seconds, 0, sizeof apr->seconds);
  pd_model_unit_weights(apr->model);
  if (apr->options->init == POLYAD_INIT_MODEL)
    PD_TRY(apr_start_take_initial(apr));
  else
    pd_model_fill_random(apr->context, apr->plan, start, apr->model);
  if (apr->options->method != POLYAD_APR_MU) lift_zero_rows(apr);
  PD_TRY(pd_apr_normalize(apr));
  return apr_start_upload(apr);
}

polyad_status pd_apr_download(struct pd_apr *apr) {
  polyad_context *context = apr->context;
  PD_TRY(pd_matrix_to_host(context, &apr->lambda, apr->host_lambda));
  for (uint64_t r = 0; r < apr->model->rank; ++r)
    pd_model_set(apr->model, apr->model->weights, r, apr->host_lambda[r]);
  for (int n = 0; n < apr->order; ++n)
    PD_TRY(pd_matrix_to_host(context, &apr->factor[n], apr->model->factor[n]));
  return POLYAD_OK;
}
