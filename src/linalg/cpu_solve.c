/* The ways to update a factor from normal equations x v = m.
 *
 * Where v is well-conditioned, rows are multiplied by its explicit inverse; else they are solved
 * for with its Cholesky factor. Where m is less precise than v is ill-conditioned, a proximal step
 * from the factor before takes the place of the solution; and where v is singular even in double,
 * the pseudo-inverse does. linalg.h has the formulas. */
#include "linalg/cpu_solve.h"
#include "core/numbers.h"
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
static void cpu_solve_invert(struct pd_linalg_work *work, const struct cholesky *by) {
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
  if (!pd_all_finite(POLYAD_F64, rank * rank, v))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the normal equations hold numbers that are not finite; scale the values");
  return pd_eigen(context, rank, work->vectors, rank, work->numbers + rank, work->eigen_work);
}

/* Lets x = m work->inverse come out divided by work->divided: exactly, by powers of two. */
static void divide_inverse(struct pd_linalg_work *work) {
  size_t rank = work->rank, padded = pd_padded(rank);
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s)
      work->inverse[r * padded + s] *= work->reciprocal[s];
}

/* work->inverse = (v + damping diag(v))^-1, and work->pull what the factor before is added with.
 * A component whose columns are zero has a row of zeros in v: a one on the diagonal leaves it zero.
 * False when v is not finite. */
static bool cpu_solve_damp(struct pd_linalg_work *work, const struct cholesky *by, const double *v,
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
  cpu_solve_invert(work, by);
  return true;
}

/* Chooses how rows are updated, and makes the matrix that they are multiplied by. */
static polyad_status choose_way(polyad_context *context, struct pd_linalg_work *work,
                                const struct pd_update *update, const struct cholesky *by,
                                struct pd_cpu_rows *rows) {
  const double *v = update->v->data;
  double least_ratio = 1, rounding = pd_cholesky_rounding(work->rank), damping = update->damping;
  rows->function = rows_by_matrix;
  rows->user = work->inverse;
  rows->divides = true;
  if (factorise(work, v, fmax(rounding, damping), &least_ratio)) {
    if (least_ratio >= inverse_limit(update->x->type)) {
      cpu_solve_invert(work, by);
    } else {
      rows->function = rows_by_cholesky;
      rows->user = by;
      rows->divides = false;
    }
  } else if (damping > rounding && cpu_solve_damp(work, by, v, damping, update->weights->data)) {
    rows->function = rows_by_damped_matrix;
    rows->user = work;
    work->scalars[PD_SCALAR_DAMPED] += 1;
  } else {
    PD_TRY(eigen_decompose(context, work, v));
    pseudo_inverse(work, v, work->numbers + work->rank);
    work->scalars[PD_SCALAR_FALLBACKS] += 1;
  }
  if (rows->divides) divide_inverse(work);
  return POLYAD_OK;
}

polyad_status pd_cpu_update_rows_by_solving(polyad_context *context, int runs,
                                            const struct pd_update *updates) {
  for (const struct pd_update *update = updates; update < updates + runs; ++update) {
    struct pd_linalg_work *work = update->work;
    struct cholesky by = {work->lower, work->numbers + work->rank};
    struct pd_cpu_rows rows = {.m = update->x};
    pd_cpu_choose_divisors(work, update);
    PD_TRY(choose_way(context, work, update, &by, &rows));
    pd_cpu_update_rows(work, update, &rows);
  }
  return POLYAD_OK;
}

struct sweep {
  const double *v, *weights;
  size_t row_bytes;
};

static void rows_by_hals(const struct pd_factor_kernels *kernels, const void *user, uint64_t rows,
                         size_t rank, const void *m, const void *before, void *x, double *inner,
                         double *tile) {
  const struct sweep *sweep = user;
  memcpy(x, before, rows * sweep->row_bytes);
  kernels->scale(rows, rank, sweep->weights, x);
  kernels->hals(rows, rank, sweep->v, m, x, inner, tile);
}

polyad_status pd_cpu_update_rows_nonnegative(polyad_context *context, int runs,
                                             const struct pd_update *updates) {
  (void)context;
  for (const struct pd_update *update = updates; update < updates + runs; ++update) {
    struct pd_linalg_work *work = update->work;
    struct sweep sweep = {update->v->data, update->weights->data,
                          work->rank * pd_type_bytes(update->x->type)};
    struct pd_cpu_rows rows = {.function = rows_by_hals, .user = &sweep, .m = update->m};
    pd_cpu_choose_divisors(work, update);
    pd_cpu_update_rows(work, update, &rows);
  }
  return POLYAD_OK;
}
