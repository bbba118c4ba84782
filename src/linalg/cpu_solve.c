/* The three ways to update a factor from normal equations x v = m. */
#include "linalg/cpu_solve.h"
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

struct cholesky {
  const double *lower, *inverse_diagonal;
};

static void rows_by_cholesky(const struct pd_factor_kernels *kernels, const void *user,
                             uint64_t rows, size_t rank, const void *m, void *x, double *tile) {
  const struct cholesky *by = user;
  kernels->solve(rows, rank, by->lower, by->inverse_diagonal, m, x, tile);
}

/* Factors v into work->lower; false when v is not numerically positive definite: a pivot that
 * is rounding error beside its diagonal entry tells nothing. */
static bool factorise(struct pd_linalg_work *work, const double *v) {
  size_t rank = work->rank;
  double *lower = work->lower;
  memcpy(lower, v, rank * rank * sizeof(double));
  for (size_t k = 0; k < rank * rank; ++k)
    if (!isfinite(lower[k])) return false;
  lapack_int n = (lapack_int)rank;
  if (LAPACKE_dpotrf_work(LAPACK_ROW_MAJOR, 'L', n, lower, n) != 0) return false;
  double smallest = 1;
  for (size_t r = 0; r < rank; ++r) {
    double pivot = lower[r * rank + r], ratio = pivot * pivot / v[r * rank + r];
    if (!(ratio > (double)rank * DBL_EPSILON)) return false;
    if (ratio < smallest) smallest = ratio;
    work->numbers[rank + r] = 1.0 / pivot;
  }
  work->scalars[PD_SCALAR_CONDITION] = smallest;
  return true;
}

polyad_status pd_cpu_update(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *v, const struct pd_matrix *m,
                            struct pd_matrix *x, enum pd_scaling scaling, struct pd_matrix *lambda,
                            struct pd_matrix *gram) {
  if (!factorise(work, v->data)) {
    work->scalars[PD_SCALAR_FAILED] = 1;
    return POLYAD_OK;
  }
  struct cholesky by = {work->lower, work->numbers + work->rank};
  pd_cpu_update_rows(context, work, rows_by_cholesky, &by, m, x, scaling, lambda, gram);
  return POLYAD_OK;
}

static void rows_by_matrix(const struct pd_factor_kernels *kernels, const void *user, uint64_t rows,
                           size_t rank, const void *m, void *x, double *tile) {
  kernels->multiply(rows, rank, user, m, x, tile);
}

/* work->inverse = v^+ from eigenvectors (columns of `vectors`) and eigenvalues. */
static void pseudo_inverse(struct pd_linalg_work *work, const double *eigenvalues) {
  size_t rank = work->rank;
  double largest = fmax(eigenvalues[rank - 1], 0), kept = 0;
  double least = (double)rank * DBL_EPSILON * largest;
  memset(work->inverse, 0, rank * rank * sizeof(double));
  for (size_t k = 0; k < rank; ++k) {
    if (!(eigenvalues[k] > least)) continue;
    ++kept;
    for (size_t r = 0; r < rank; ++r) {
      double factor = work->vectors[r * rank + k] / eigenvalues[k];
      for (size_t s = 0; s < rank; ++s)
        work->inverse[r * rank + s] += factor * work->vectors[s * rank + k];
    }
  }
  work->scalars[PD_SCALAR_KEPT] = kept;
}

polyad_status pd_cpu_update_rank_revealing(polyad_context *context, struct pd_linalg_work *work,
                                           const struct pd_matrix *v, const struct pd_matrix *m,
                                           struct pd_matrix *x, enum pd_scaling scaling,
                                           struct pd_matrix *lambda, struct pd_matrix *gram) {
  size_t rank = work->rank;
  double *eigenvalues = work->numbers + rank;
  memcpy(work->vectors, v->data, rank * rank * sizeof(double));
  lapack_int n = (lapack_int)rank;
  lapack_int info = LAPACKE_dsyev_work(LAPACK_ROW_MAJOR, 'V', 'U', n, work->vectors, n, eigenvalues,
                                       work->eigen_work, work->eigen_work_size);
  if (info != 0)
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the normal equations hold numbers that are not finite; scale the values");
  pseudo_inverse(work, eigenvalues);
  pd_cpu_update_rows(context, work, rows_by_matrix, work->inverse, m, x, scaling, lambda, gram);
  return POLYAD_OK;
}

static void rows_by_hals(const struct pd_factor_kernels *kernels, const void *user, uint64_t rows,
                         size_t rank, const void *m, void *x, double *tile) {
  kernels->hals(rows, rank, user, m, x, tile);
}

polyad_status pd_cpu_update_nonnegative(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *v, const struct pd_matrix *m,
                                        struct pd_matrix *x, enum pd_scaling scaling,
                                        struct pd_matrix *lambda, struct pd_matrix *gram) {
  pd_cpu_scale(work, x, lambda->data);
  pd_cpu_update_rows(context, work, rows_by_hals, v->data, m, x, scaling, lambda, gram);
  return POLYAD_OK;
}
