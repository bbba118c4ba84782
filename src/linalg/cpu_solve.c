/* The ways to update a factor from normal equations x v = m.
 *
 * Where v is well-conditioned, rows are multiplied by its explicit inverse; else they are solved
 * for with its Cholesky factor. Where m is less precise than v is ill-conditioned, a proximal step
 * from the factor before takes the place of the solution; and where v is singular even in double,
 * the pseudo-inverse does. linalg.h has the formulas. */
#include "linalg/cpu_solve.h"
#include "linalg/cholesky.h"
#include "linalg/lapack.h"
#include <float.h>
#include <math.h>
#include <string.h>

struct cholesky {
  const double *lower, *inverse_diagonal;
};

static void rows_by_cholesky(const struct pd_factor_kernels *kernels, const void *user,
                             uint64_t rows, size_t rank, const void *m, const void *before, void *x,
                             double *inner, double *tile) {
  (void)before;
  const struct cholesky *by = user;
  kernels->solve(rows, rank, by->lower, by->inverse_diagonal, m, x, inner, tile);
}

static bool all_finite(size_t count, const double *numbers) {
  for (size_t k = 0; k < count; ++k)
    if (!isfinite(numbers[k])) return false;
  return true;
}

/* Pivots above this part of their diagonal entries make the explicit inverse lose nothing that
 * shows in the fit, and multiplying by it is several times faster than substitution. With condition
 * number k its error in the solution raises the squared residual by about eps^2 k^3 of the data's,
 * which is rounding error itself while k < eps^(-1/3). A float result is rounded far more coarsely
 * than any inverse that damping lets pass. */
static double inverse_limit(polyad_type type) { return type == POLYAD_F32 ? 0 : cbrt(DBL_EPSILON); }

/* Factors v into work->lower. LAPACK's routine would allocate a transposed copy and, for large
 * ranks, start threads of its own in every iteration. */
static bool factorise(struct pd_linalg_work *work, const double *v, double limit,
                      double *least_ratio) {
  return pd_cholesky(work->rank, v, limit, work->lower, work->numbers + work->rank, least_ratio);
}

static void rows_by_matrix(const struct pd_factor_kernels *kernels, const void *user, uint64_t rows,
                           size_t rank, const void *m, const void *before, void *x, double *inner,
                           double *tile) {
  (void)before;
  kernels->multiply(rows, rank, user, m, x, inner, tile);
}

static void rows_by_damped_matrix(const struct pd_factor_kernels *kernels, const void *user,
                                  uint64_t rows, size_t rank, const void *m, const void *before,
                                  void *x, double *inner, double *tile) {
  const struct pd_linalg_work *work = user;
  kernels->multiply_damped(rows, rank, work->inverse, before, work->pull, m, x, inner, tile);
}

/* work->inverse = (L L^T)^-1, by solving for the rows of the unit matrix. */
static void invert(struct pd_linalg_work *work, const struct cholesky *by) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  size_t rank = work->rank, padded = pd_padded(rank);
  struct pd_cpu_thread *scratch = &work->thread[0];
  memset(work->vectors, 0, rank * rank * sizeof(double));
  for (size_t r = 0; r < rank; ++r)
    work->vectors[r * rank + r] = 1;
  kernels->solve(rank, rank, by->lower, by->inverse_diagonal, work->vectors, work->vectors,
                 scratch->inner, scratch->tile);
  memset(work->inverse, 0, rank * padded * sizeof(double));
  for (size_t r = 0; r < rank; ++r)
    memcpy(work->inverse + r * padded, work->vectors + r * rank, rank * sizeof(double));
}

/* work->inverse = v^+ from eigenvectors (contiguous in `vectors`) and eigenvalues. Rows of zeros in
 * v (components with a zero column) are exactly zero in v^+ too: rounding must not wake them. */
static void pseudo_inverse(struct pd_linalg_work *work, const double *v,
                           const double *eigenvalues) {
  size_t rank = work->rank, padded = pd_padded(rank);
  double largest = fmax(eigenvalues[rank - 1], 0), kept = 0;
  double least = (double)rank * DBL_EPSILON * largest;
  memset(work->inverse, 0, rank * padded * sizeof(double));
  for (size_t k = 0; k < rank; ++k) {
    if (!(eigenvalues[k] > least)) continue;
    ++kept;
    for (size_t r = 0; r < rank; ++r) {
      double factor = work->vectors[k * rank + r] / eigenvalues[k];
      for (size_t s = 0; s < rank; ++s)
        work->inverse[r * padded + s] += factor * work->vectors[k * rank + s];
    }
  }
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s)
      if (v[r * rank + r] == 0 || v[s * rank + s] == 0) work->inverse[r * padded + s] = 0;
  work->scalars[PD_SCALAR_KEPT] = kept;
}

static polyad_status eigen_decompose(polyad_context *context, struct pd_linalg_work *work,
                                     const double *v) {
  size_t rank = work->rank;
  memcpy(work->vectors, v, rank * rank * sizeof(double));
  if (!all_finite(rank * rank, v))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the normal equations hold numbers that are not finite; scale the values");
  return pd_eigen(context, rank, work->vectors, rank, work->numbers + rank, work->eigen_work);
}

/* Lets x = m work->inverse come out divided by the weights of before, raised to powers of two (only
 * those of a first iteration are not), which work->divided keeps. */
static void divide_inverse(struct pd_linalg_work *work, const double *lambda) {
  size_t rank = work->rank, padded = pd_padded(rank);
  for (size_t r = 0; r < rank; ++r)
    work->divided[r] = lambda[r] > 0 && isfinite(lambda[r]) ? pd_power_of_two_above(lambda[r]) : 1;
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s)
      work->inverse[r * padded + s] /= work->divided[s];
}

/* work->inverse = (v + damping diag(v))^-1, and work->pull what the factor before is added with.
 * A component whose columns are zero has a row of zeros in v: a one on the diagonal leaves it zero.
 * False when v is not finite. */
static bool damp(struct pd_linalg_work *work, const struct cholesky *by, const double *v,
                 double damping, const double *lambda) {
  size_t rank = work->rank;
  double *damped = work->inverse, ratio = 1;
  memcpy(damped, v, rank * rank * sizeof *damped);
  for (size_t r = 0; r < rank; ++r) {
    double diagonal = v[r * rank + r];
    damped[r * rank + r] = diagonal > 0 ? diagonal * (1 + damping) : 1;
    work->pull[r] = damping * diagonal * lambda[r];
  }
  if (!factorise(work, damped, 0, &ratio)) return false;
  invert(work, by);
  return true;
}

polyad_status pd_cpu_update(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *v, double damping,
                            const struct pd_matrix *before, struct pd_matrix *x,
                            enum pd_scaling scaling, struct pd_matrix *lambda,
                            struct pd_matrix *gram) {
  struct cholesky by = {work->lower, work->numbers + work->rank};
  struct pd_cpu_update update = {.function = rows_by_matrix,
                                 .user = work->inverse,
                                 .m = x,
                                 .before = before,
                                 .x = x,
                                 .scaling = scaling,
                                 .lambda = lambda,
                                 .gram = gram};
  double least_ratio = 1, rounding = pd_cholesky_rounding(work->rank);
  if (factorise(work, v->data, fmax(rounding, damping), &least_ratio)) {
    if (least_ratio >= inverse_limit(x->type)) {
      invert(work, &by);
      if (scaling == PD_SCALE_AS_BEFORE) {
        divide_inverse(work, lambda->data);
        update.divided = work->divided;
      }
    } else {
      update.function = rows_by_cholesky;
      update.user = &by;
    }
  } else if (damping > rounding && damp(work, &by, v->data, damping, lambda->data)) {
    update.function = rows_by_damped_matrix;
    update.user = work;
    work->scalars[PD_SCALAR_DAMPED] += 1;
  } else {
    PD_TRY(eigen_decompose(context, work, v->data));
    pseudo_inverse(work, v->data, work->numbers + work->rank);
    work->scalars[PD_SCALAR_FALLBACKS] += 1;
  }
  pd_cpu_update_rows(work, &update);
  return POLYAD_OK;
}

static void rows_by_hals(const struct pd_factor_kernels *kernels, const void *user, uint64_t rows,
                         size_t rank, const void *m, const void *before, void *x, double *inner,
                         double *tile) {
  (void)before;
  kernels->hals(rows, rank, user, m, x, inner, tile);
}

polyad_status pd_cpu_update_nonnegative(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *v, const struct pd_matrix *m,
                                        struct pd_matrix *x, enum pd_scaling scaling,
                                        struct pd_matrix *lambda, struct pd_matrix *gram) {
  (void)context;
  struct pd_cpu_update update = {.function = rows_by_hals,
                                 .user = v->data,
                                 .m = m,
                                 .x = x,
                                 .scaling = scaling,
                                 .lambda = lambda,
                                 .gram = gram};
  pd_cpu_scale(work, x, lambda->data);
  pd_cpu_update_rows(work, &update);
  return POLYAD_OK;
}
