/* Slices added to a model of counts. Of a count x in a cell, component r is expected to have the
 * part that it has in the model's value there (Chi and Kolda 2012: what their multiplicative update
 * of a factor B sums up is B * Phi). A factor of largest likelihood is, row by row and component by
 * component, the counts that are expected over what the rows are multiplied by in the model's sum
 * of all cells. Both are sums over slices, so that they can be kept, and forgotten, as slices come:
 * expectation and maximisation on line (O. Cappe and E. Moulines, On-line expectation-maximization
 * algorithm for latent data models, J. R. Stat. Soc. B 71, 2009).
 *
 * The new rows of the growing mode are exact, by Newton's method (poisson_row.c). A slice that was
 * there keeps its earlier counts as the model had dealt them out to components. */
#include "algorithms/poisson_row.h"
#include "algorithms/updater_add.h"
#include <float.h>

enum { ROW_ITERATIONS = 200 };

/* The counts of slices that were there, by component: rows times what they are multiplied by. */
static void find_known(struct pd_addition *a) {
  uint64_t rank = a->rank;
  pd_addition_system(a, a->mode, -1, a->v);
  for (uint64_t k = 0; k < a->count; ++k)
    for (uint64_t r = 0; r < rank; ++r) {
      bool old = k < a->old_count;
      a->right[k * rank + r] = old ? a->before[k * rank + r] * a->v[r * rank + r] : 0;
    }
}

polyad_status pd_addition_count_slices(struct pd_addition *a) {
  find_known(a);
  struct pd_poisson_rows rows = {.tensor = a->touched,
                                 .mode = a->mode,
                                 .rank = a->rank,
                                 .factor = (const double *const *)a->next.factor,
                                 .weight = a->next.weight,
                                 .known = a->right,
                                 .max_iterations = ROW_ITERATIONS};
  return pd_poisson_rows(&a->stage, &rows, a->next.factor[a->mode]);
}

polyad_status pd_addition_expect(struct pd_addition *a, int mode, double *expected) {
  const void *factors[POLYAD_MAX_ORDER];
  uint64_t rank = a->rank, rows = a->next.rows[mode];
  double *weighted = NULL;
  PD_TRY(pd_stage_tick(&a->stage));
  PD_TRY(PD_NEW(a->context, pd_mul_saturated(rows, rank), &weighted));
  for (uint64_t k = 0; k < rows * rank; ++k)
    weighted[k] = a->next.factor[mode][k] * a->next.weight[k % rank];
  for (int n = 0; n < a->next.order; ++n)
    factors[n] = n == mode ? weighted : a->next.factor[n];
  polyad_status status =
      polyad_phi(a->context, a->plan, a->workspace, mode, factors, DBL_MIN, expected);
  for (uint64_t k = 0; status == POLYAD_OK && k < rows * rank; ++k)
    expected[k] *= weighted[k];
  pd_free(a->context, weighted);
  return status;
}

void pd_addition_divide(struct pd_addition *a, int mode) {
  const struct pd_updated_mode *sums = &a->sums[mode];
  uint64_t rank = a->rank;
  for (uint64_t k = 0; k < a->next.rows[mode] * rank; ++k) {
    double whole = sums->q[k % rank * (rank + 1)];
    a->next.factor[mode][k] = whole > 0 && sums->p[k] > 0 ? sums->p[k] / whole : 0;
  }
}
