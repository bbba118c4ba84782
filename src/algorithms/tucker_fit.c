/* The fit of a Tucker model.
 *
 * With orthonormal factors ||X - M||^2 = ||X||^2 - ||G||^2, which costs nothing but loses its
 * digits where the model is nearly exact. Rounding changes the share ||G||^2 / ||X||^2 by at most
 * about 4 u + sum over modes of 2 u sqrt(R_n)      (chain, core and factors rounded to the plan's
 * type, unit roundoff u; the latter are orthonormal but for 2 u sqrt(R_n))
 *   + 2 N c                                    (products in a narrower type of roundoff c)
 *   + eps (rows of LAPACK's largest matrix + sqrt(nonzeros) + 2 N)   (float64: eigenvectors, sums).
 * With d this sum and r the relative residual, the fit is known to within sqrt(r^2 + d) - r or
 * r - sqrt(r^2 - d), whichever is more. Where that is more than a tenth of the tolerance and of
 * 1e-5, or more than a hundredth of r, the residual is summed from the nonzeros of the tensor and
 * the model's entries there, in float64 and wider, plus the model's norm elsewhere. */
#include "algorithms/tucker_state.h"
#include "core/rounding.h"
#include <float.h>
#include <math.h>

static double roundoff_of_products(polyad_compute compute) {
  switch (compute) {
  case POLYAD_COMPUTE_F16:
  case POLYAD_COMPUTE_TF32:
    return ldexp(1, -11);
  case POLYAD_COMPUTE_BF16:
    return ldexp(1, -8);
  case POLYAD_COMPUTE_NATIVE:
    break;
  }
  return 0;
}

double pd_tucker_share_error(const struct pd_tucker *t) {
  double u = (t->plan->type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON) / 2, rows = 0;
  double error = 4 * u + 2 * t->order * roundoff_of_products(t->plan->compute);
  for (int n = 0; n < t->order; ++n) {
    uint64_t dim = t->plan->dims[n], least = dim < t->columns[n] ? dim : t->columns[n];
    error += 2 * u * sqrt((double)t->model->ranks[n]);
    rows = fmax(rows, (double)least);
  }
  return error + DBL_EPSILON * (rows + sqrt((double)t->plan->nnz) + 2 * t->order);
}

/* The tensor's nonzeros, kept for later iterations. */
static polyad_status need_nonzeros(struct pd_tucker *t) {
  if (t->nonzeros != NULL) return POLYAD_OK;
  return pd_plan_expand(t->context, t->plan, &t->nonzeros);
}

/* The residual of the model as it is now; factors and core come to the host. */
static polyad_status tucker_fit_sum_residual(struct pd_tucker *t, double *residual) {
  double relative, bound, rounded;
  PD_TRY(need_nonzeros(t));
  PD_TRY(pd_tucker_download(t, 0, &rounded));
  PD_TRY(pd_ttensor_residual(t->context, t->model, t->nonzeros, &relative, &bound));
  *residual = relative * relative;
  t->fit_error = bound;
  t->fit_from = POLYAD_FIT_RESIDUAL;
  return POLYAD_OK;
}

/* Without memory for the nonzeros the fit keeps its rounding error, which the run then tells. */
static polyad_status keep_rounded(struct pd_tucker *t, polyad_status status) {
  if (status != POLYAD_MEMORY_LIMIT && status != POLYAD_OUT_OF_MEMORY &&
      status != POLYAD_UNSUPPORTED)
    return status;
  pd_begin(t->context);
  t->no_sum = true;
  return POLYAD_OK;
}

/* The residual by the formula, with its bound. */
static polyad_status subtract_norms(struct pd_tucker *t, double *residual) {
  double core;
  PD_TRY(t->svd->sum_of_squares(t->context, t->work, &t->core, &core));
  *residual = (t->norm_squared - core) / t->norm_squared;
  if (!isfinite(*residual))
    return pd_fail(t->context, POLYAD_NUMERICAL, "iteration %d overflows; scale the values",
                   t->run.iteration + 1);
  t->fit_error = pd_root_bound(*residual, fmax(t->share_error, -*residual)) + DBL_EPSILON;
  t->fit_from = POLYAD_FIT_FORMULA;
  return POLYAD_OK;
}

polyad_status pd_tucker_fit(struct pd_tucker *t, polyad_trace_row *row) {
  double residual;
  t->fit_error_before = t->fit_error;
  PD_TRY(subtract_norms(t, &residual));
  double limit = fmin(fmax(t->options->run.tolerance, 1e-5) / 10, 0.01 * sqrt(fmax(residual, 0)));
  bool summed = false;
  if (t->fit_error > limit && !t->no_sum) {
    polyad_status status = tucker_fit_sum_residual(t, &residual);
    summed = status == POLYAD_OK;
    if (!summed) PD_TRY(keep_rounded(t, status));
  }
  if (!summed && residual < -t->share_error)
    return pd_fail(t->context, POLYAD_NUMERICAL,
                   "iteration %d: the core's norm is %.3g times the tensor's, which orthonormal "
                   "factors cannot give; use a wider precision",
                   t->run.iteration + 1, sqrt(1 - residual));
  row->residual = fmax(residual, 0);
  row->fit = 1 - sqrt(row->residual);
  row->fit_bound = t->fit_error;
  row->fit_from = t->fit_from;
  return POLYAD_OK;
}

/* A fall beyond rounding, that of the fit and that of the factors, is no convergence, however
 * small. */
bool pd_tucker_converged(const void *state) {
  const struct pd_tucker *t = state;
  double rounding = t->fit_error + t->fit_error_before + t->share_error;
  double tolerance = t->options->run.tolerance, change = t->run.change;
  if (t->cut_short || tolerance <= 0 || isnan(change)) return false; /* it is at first */
  return change < tolerance && change >= -rounding;
}
