/* The first factors of a start of CP-ALS: uniform random numbers, a model that the caller gives, or
 * the leading singular vectors of the unfoldings (HOSVD). */
#include "algorithms/als_state.h"
#include "algorithms/hosvd.h"
#include "algorithms/model_start.h"
#include <math.h>

static polyad_status start_by_hosvd(struct pd_als *als) {
  if (pd_plan_team(als->plan) != NULL)
    return pd_fail(als->context, POLYAD_UNSUPPORTED,
                   "the plan is shared by a team, whose first factors are random or the caller's; "
                   "expected no HOSVD");
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < als->order; ++n)
    ranks[n] = als->model->rank;
  return pd_hosvd(als->context, als->plan, ranks, als->model->type, als->model->factor, NULL);
}

/* HALS needs nonnegative factors; a singular vector's sign means nothing. */
static void make_nonnegative(struct pd_als *als) {
  for (int n = 0; n < als->order; ++n)
    for (uint64_t k = 0;
         pd_nonnegative_in(als->nonnegative, n) && k < als->model->dims[n] * als->model->rank;
         ++k) {
      if (als->model->type == POLYAD_F64)
        ((double *)als->model->factor[n])[k] = fabs(((double *)als->model->factor[n])[k]);
      else
        ((float *)als->model->factor[n])[k] = fabsf(((float *)als->model->factor[n])[k]);
    }
}

/* The weights of the caller's model go into its first factor that may have any sign, or into the
 * first of all, where no negative entry stays: so the guess is the caller's model. Alternating
 * least squares replaces that factor before it reads it, unless a sweep of HALS goes on from it. */
static polyad_status weigh_initial(struct pd_als *als) {
  const polyad_ktensor *initial = als->options->initial;
  int n = 0;
  while (n < als->order && pd_nonnegative_in(als->nonnegative, n))
    ++n;
  if (n == als->order) n = 0;
  bool clip = pd_nonnegative_in(als->nonnegative, n);
  void *factor = als->model->factor[n];
  uint64_t rank = als->model->rank, count = als->model->dims[n] * rank;
  int threads = pd_threads_for(als->context, count, 1 << 16);
  for (uint64_t r = 0; r < rank; ++r) {
    double given = pd_model_number(initial, initial->weights, r);
    als->host_lambda[r] = ldexp(given, -als->plan->value_exponent);
    if (!isfinite(als->host_lambda[r]))
      return pd_fail(als->context, POLYAD_NUMERICAL,
                     "weight %llu of the initial model is %g; expected a finite number%s",
                     (unsigned long long)pd_shown(als->context, r), given,
                     isfinite(given) ? " that is not large beside the tensor's values" : "");
    if (clip && given < 0) als->host_lambda[r] = 0;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < count; ++k)
    pd_model_set(als->model, factor, k,
                 pd_model_number(als->model, factor, k) * als->host_lambda[k % rank]);
  return POLYAD_OK;
}

/* Random factors that the device makes itself; the host's model does not have them. A team's member
 * has rows here and there of the whole factors, which the host fills. */
static polyad_status start_on_device(struct pd_als *als, int start) {
  uint64_t seed = polyad_seed(als->context);
  PD_TRY(pd_als_put_weights(als));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(als->linalg->random(als->context, als->work, seed, pd_model_stream(start, n),
                               &als->factor[n]));
  return pd_als_take_factors(als);
}

polyad_status pd_als_start(void *state, int start) {
  struct pd_als *als = state;
  PD_TRY(pd_als_ahead_drop(als));
  als->solves = (struct pd_als_solves){0};
  als->caution = 1;
  als->fell_to = NAN;
  pd_als_half_reset(als);
  pd_model_unit_weights(als->model);
  /* Later starts of several differ only if they are random. */
  bool hosvd = als->options->init == POLYAD_INIT_HOSVD && start == 0;
  if (als->options->init != POLYAD_INIT_MODEL && !hosvd && als->linalg->random != NULL &&
      pd_plan_team(als->plan) == NULL)
    return start_on_device(als, start);
  if (als->options->init == POLYAD_INIT_MODEL) {
    PD_TRY(pd_model_take_initial(als->context, als->plan, als->options->initial, als->nonnegative,
                                 als->model));
    PD_TRY(weigh_initial(als));
  } else {
    pd_model_fill_random(als->context, als->plan, start, als->model);
    if (hosvd) {
      PD_TRY(start_by_hosvd(als));
      make_nonnegative(als);
    }
  }
  PD_TRY(pd_als_put_model(als));
  return pd_als_take_factors(als);
}
