/* New chances for components that nonnegativity has clipped to zero: without help they stay zero
 * for ever. Their columns in all modes but the first become random; their weights stay zero, so
 * that the model is the same, and the next update of the first mode finds what they can add. */
#include "algorithms/als_state.h"
#include "core/random.h"

static void fill_dead_columns(struct pd_als *als, int n) {
  uint64_t rank = als->model->rank, seed = polyad_seed(als->context),
           stream = pd_revive_stream(&als->run, n);
  bool single = als->model->type == POLYAD_F32;
  double *wide = als->model->factor[n];
  float *narrow = als->model->factor[n];
  for (uint64_t r = 0; r < rank; ++r) {
    if (als->host_lambda[r] != 0) continue;
    for (uint64_t i = 0; i < als->model->dims[n]; ++i) {
      double value = pd_random_uniform(seed, stream, pd_plan_index(als->plan, n, i) * rank + r);
      if (single)
        narrow[i * rank + r] = (float)value;
      else
        wide[i * rank + r] = value;
    }
  }
}

polyad_status pd_als_revive(struct pd_als *als) {
  polyad_context *context = als->context;
  bool dead = false;
  if (als->fit.clipped == 0) return POLYAD_OK;
  PD_TRY(pd_matrix_to_host(context, &als->lambda, als->host_lambda));
  for (uint64_t r = 0; r < als->model->rank; ++r)
    dead = dead || als->host_lambda[r] == 0;
  if (!dead) return POLYAD_OK;
  for (int n = 1; n < als->order; ++n) {
    PD_TRY(pd_matrix_to_host(context, &als->factor[n], als->model->factor[n]));
    fill_dead_columns(als, n);
    PD_TRY(pd_matrix_from_host(context, &als->factor[n], als->model->factor[n]));
    PD_TRY(pd_als_take_factor(als, n));
  }
  return POLYAD_OK;
}
