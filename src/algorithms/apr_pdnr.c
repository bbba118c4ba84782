/* CP-APR by projected damped Newton steps on the rows (Hansen, Plantenga and Kolda 2015,
 * algorithm 3). Variables that the bound holds rest; for the others the Hessian, a sum over the
 * row's nonzeros, plus a damping on its diagonal is solved by Cholesky. The damping follows how
 * well the quadratic model has predicted the last step. */
#include "algorithms/apr_rows.h"
#include "linalg/cholesky.h"
#include "linalg/factor_kernels.h"
#include "linalg/newton_rules.h"
#include <math.h>
#include <string.h>

/* row->extra, cut up. Matrices that the kernels sum into are padded x padded. */
struct newton {
  size_t padded;
  double *hessian;  /* padded x padded: of all variables */
  double *damped;   /* free x free */
  double *lower;    /* free x free */
  double *diagonal; /* reciprocals of lower's */
  double *right, *inner;
  double *tile; /* PD_TILE_ROWS x padded */
  bool *active;
};

static size_t extra_numbers(size_t rank) {
  size_t padded = pd_padded(rank);
  return padded * padded + 2 * rank * rank + (3 + PD_TILE_ROWS) * padded + rank;
}

static struct newton apr_pdnr_cut_up(const struct pd_apr_row *row) {
  struct newton newton = {.padded = pd_padded(row->rank)};
  size_t rank = row->rank, padded = newton.padded;
  double *next = row->extra;
  newton.hessian = next;
  newton.damped = (next += padded * padded);
  newton.lower = (next += rank * rank);
  newton.diagonal = (next += rank * rank);
  newton.right = (next += padded);
  newton.inner = (next += padded);
  newton.tile = (next += padded);
  newton.active = (bool *)(next + PD_TILE_ROWS * padded);
  return newton;
}

/* Hessian of the objective: the sum over j of x_j / max((m . pi_j)^2, epsilon) times
 * pi_j pi_j^T. */
static void find_hessian(const struct pd_apr_row *row, struct newton *newton) {
  const struct pd_row_terms terms = pd_apr_row_terms(row);
  memset(newton->hessian, 0, newton->padded * newton->padded * sizeof(double));
  pd_row_run(&PD_CURVATURE(row->loss), &terms, newton->tile, newton->hessian);
}

/* damped = the free variables' Hessian plus mu on the diagonal; returns how many there are. */
static size_t apr_pdnr_damp(const struct pd_apr_row *row, double mu, struct newton *newton) {
  size_t count = 0, i = 0;
  for (size_t r = 0; r < row->rank; ++r)
    count += !newton->active[r];
  for (size_t r = 0; r < row->rank; ++r) {
    if (newton->active[r]) continue;
    newton->right[i] = -row->gradient[r];
    double *to = newton->damped + i++ * count;
    for (size_t s = 0; s < row->rank; ++s)
      if (!newton->active[s])
        *to++ =
            newton->hessian[(r < s ? r : s) * newton->padded + (r < s ? s : r)] + (r == s ? mu : 0);
  }
  return count;
}

static void use_gradient(struct pd_apr_row *row) {
  for (size_t r = 0; r < row->rank; ++r)
    row->direction[r] = -row->gradient[r];
}

/* Change of the quadratic model along a step of the free variables. */
static double model_change(const struct newton *newton, size_t count, const double *step) {
  double change = 0;
  for (size_t i = 0; i < count; ++i) {
    double line = 0;
    for (size_t k = 0; k < count; ++k)
      line += newton->damped[i * count + k] * step[k];
    change += step[i] * (0.5 * line - newton->right[i]);
  }
  return change;
}

/* The direction: a damped Newton step of the free variables, the gradient of those near the bound,
 * nothing for those at it. Returns the reduction that the model predicts (negative). */
static double apr_pdnr_find_direction(const struct pd_apr *apr, struct pd_apr_row *row, double mu) {
  struct newton newton = apr_pdnr_cut_up(row);
  double least = 1, *step = row->next;
  find_hessian(row, &newton);
  pd_apr_row_active(row, apr->options->active_tolerance, newton.active);
  size_t count = apr_pdnr_damp(row, mu, &newton);
  for (size_t r = 0; r < row->rank; ++r)
    row->direction[r] = newton.active[r] && row->m[r] != 0 ? -row->gradient[r] : 0;
  if (count == 0) return 0;
  if (!pd_cholesky(count, newton.damped, pd_cholesky_rounding(count), newton.lower, newton.diagonal,
                   &least)) {
    use_gradient(row); /* too ill-conditioned */
    return 0;
  }
  memset(newton.inner, 0, newton.padded * sizeof(double));
  pd_factor_kernels_for(POLYAD_F64)
      ->solve(1, count, newton.lower, newton.diagonal, newton.right, step, newton.inner,
              newton.tile);
  double change = model_change(&newton, count, step);
  if (change > 0) {
    use_gradient(row);
    return change;
  }
  for (size_t r = 0, i = 0; r < row->rank; ++r)
    if (!newton.active[r]) row->direction[r] = step[i++];
  return change;
}

int pd_apr_row_most(const struct pd_apr *apr) {
  const polyad_cp_apr_options *options = apr->options;
  bool first = options->inexact && apr->run.iteration == 0;
  bool fewer = first && options->method == POLYAD_APR_PDNR && options->max_inner_iterations > 2;
  return fewer ? 2 : options->max_inner_iterations;
}

static struct pd_apr_row_result apr_pdnr_solve(const struct pd_apr *apr, struct pd_apr_row *row) {
  struct pd_apr_row_result result = {0};
  double mu = apr->options->damping;
  uint64_t most = (uint64_t)pd_apr_row_most(apr);
  while (result.inner < most) {
    double kkt = pd_apr_row_gradient(row);
    if (result.inner++ == 0) result.kkt = kkt;
    if (isnan(kkt)) result.kkt = NAN;
    if (!(kkt >= apr->row_tolerance)) break;
    result.changed = true;
    double predicted = apr_pdnr_find_direction(apr, row, mu);
    struct pd_apr_search search = pd_apr_row_search(row);
    mu = pd_newton_damping(mu, search.before, search.unit, predicted);
  }
  return result;
}

/* Rows that a looser tolerance than the one asked for left alone do not tell of convergence. */
polyad_status pd_apr_iterate_pdnr(struct pd_apr *apr) {
  bool loose = apr->row_tolerance > apr->options->run.tolerance;
  PD_TRY(pd_apr_rows_iterate(apr, apr_pdnr_solve));
  apr->result.converged = apr->result.converged && !loose;
  if (apr->options->inexact)
    apr->row_tolerance = fmax(apr->options->run.tolerance, apr->result.kkt / 100);
  return POLYAD_OK;
}

uint64_t pd_apr_row_extra(const polyad_cp_apr_options *options) {
  size_t rank = (size_t)options->rank;
  if (options->method == POLYAD_APR_PDNR) return extra_numbers(rank);
  /* pairs of L-BFGS, their factors, the last m and gradient, flags */
  return (2 * (uint64_t)rank + 2) * (uint64_t)options->memory + 3 * (uint64_t)rank;
}
