/* New chances for components of a completion that nonnegativity has clipped to zero: without help
 * they stay zero for ever, since the other modes' rows are then solved against zeros. Their columns
 * become random in all modes but the first, and zero there, so that the model is the same; this
 * iteration's update of the first mode then finds what they can add.
 *
 * A ridge makes a component cost something before it has won anything. So components are revived in
 * iterations 1, 2, 4, 8, ... of a start, and no such iteration ends the run: in between the
 * objective falls as ever, and the run converges. What is done depends on the factors and on the
 * number of the iteration alone, so that a run that is resumed has the same bits. */
#include "algorithms/complete_state.h"
#include "core/random.h"
#include <math.h>
#include <string.h>

static bool is_due(int iteration) { return iteration > 0 && (iteration & (iteration - 1)) == 0; }

/* Marks the components that have a column of zeros in some mode; whether there are any. */
static bool find_dead(const struct pd_complete *c, double *const *host, bool *dead) {
  bool any = false;
  for (size_t r = 0; r < c->fitted.rank; ++r) {
    dead[r] = false;
    for (int n = 0; n < c->order && !dead[r]; ++n) {
      uint64_t i = 0;
      while (i < c->plan->dims[n] && host[n][i * c->fitted.columns + r] == 0)
        ++i;
      dead[r] = i == c->plan->dims[n];
    }
    any = any || dead[r];
  }
  return any;
}

/* Entries are of the size of first factors: products are about one, as observations are. */
static void revive_columns(const struct pd_complete *c, int n, const bool *dead, double *factor) {
  double size = pow(pow(2, c->order) / (double)c->fitted.rank, 1 / (double)c->order);
  uint64_t seed = polyad_seed(c->context), stream = pd_revive_stream(&c->run, n);
  for (uint64_t i = 0; i < c->plan->dims[n]; ++i)
    for (size_t r = 0; r < c->fitted.rank; ++r)
      if (dead[r])
        factor[i * c->fitted.columns + r] =
            n == 0 ? 0 : size * pd_random_uniform(seed, stream, i * c->fitted.rank + r);
}

static polyad_status fetch_factors(struct pd_complete *c, double **host) {
  for (int n = 0; n < c->order; ++n) {
    const struct pd_matrix *factor = &c->fitted.factor[n];
    PD_TRY(PD_NEW(c->context, pd_mul_saturated(factor->rows, factor->columns), &host[n]));
    PD_TRY(pd_matrix_to_host(c->context, factor, host[n]));
  }
  return POLYAD_OK;
}

static polyad_status revive_dead(struct pd_complete *c, const bool *dead, double *const *host) {
  for (int n = 0; n < c->order; ++n) {
    struct pd_matrix *factor = &c->fitted.factor[n];
    revive_columns(c, n, dead, host[n]);
    PD_TRY(pd_matrix_from_host(c->context, factor, host[n]));
    PD_TRY(factor->device->functions->synchronize(c->context, factor->device));
  }
  c->steps->forget(c->work);
  c->revived = true;
  return POLYAD_OK;
}

polyad_status pd_complete_revive(struct pd_complete *c) {
  double *host[POLYAD_MAX_ORDER] = {NULL};
  bool *dead = NULL;
  polyad_status status = POLYAD_OK;
  c->revived = false;
  if (c->nonnegative == 0 || !is_due(c->run.iteration)) return POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(c->context, c->fitted.rank, &dead));
  PD_TRY_CLEANUP(fetch_factors(c, host));
  if (find_dead(c, host, dead)) status = revive_dead(c, dead, host);
cleanup:
  for (int n = 0; n < c->order; ++n)
    pd_free(c->context, host[n]);
  pd_free(c->context, dead);
  return status;
}
