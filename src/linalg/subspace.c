#include "linalg/subspace.h"
#include "core/threads.h"
#include "linalg/cpu_work.h"
#include "linalg/lapack.h"
#include <float.h>
#include <math.h>
#include <string.h>

polyad_status pd_subspace_create(polyad_context *context, uint64_t rows, uint64_t columns,
                                 struct pd_subspace *subspace) {
  polyad_status status = POLYAD_OK;
  uint64_t count = pd_mul_saturated(rows, columns);
  *subspace = (struct pd_subspace){.context = context, .rows = rows, .columns = (size_t)columns};
  PD_TRY_CLEANUP(pd_cpu_linalg.work_create(context, &pd_cpu_device, columns, &subspace->work));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, count, &subspace->q));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, count, &subspace->y));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, columns, &subspace->values));
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(columns, columns), &subspace->square));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, pd_mul_saturated(columns, pd_padded((size_t)columns)),
                             &subspace->rotation));
  return POLYAD_OK;
cleanup:
  pd_subspace_destroy(subspace);
  return status;
}

void pd_subspace_destroy(struct pd_subspace *subspace) {
  polyad_context *context = subspace->context;
  if (context == NULL) return;
  PD_FREE(context, subspace->q, subspace->y, subspace->values, subspace->square,
          subspace->rotation);
  pd_cpu_linalg.work_destroy(context, subspace->work);
  *subspace = (struct pd_subspace){0};
}

/* square = eigenvectors (rows of it, ascending) of y^T y; work->numbers = eigenvalues. */
static polyad_status subspace_decompose(struct pd_subspace *s) {
  struct pd_matrix y = {.device = &pd_cpu_device,
                        .type = POLYAD_F64,
                        .rows = s->rows,
                        .columns = s->columns,
                        .stride = s->columns,
                        .data = s->y};
  pd_cpu_gram(s->work, &y, s->square, NULL);
  return pd_eigen(s->context, s->columns, s->square, s->columns, s->work->numbers,
                  s->work->eigen_work);
}

/* y = y rotation, row by row. */
static void rotate(struct pd_subspace *s) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  int threads = pd_worth_threads_dense(s->work->threads, s->rows * s->columns * s->columns);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(s->rows, t, threads);
    double *rows = s->y + begin * s->columns;
    memset(s->work->thread[t].inner, 0, s->columns * sizeof(double));
    kernels->multiply(pd_part_begin(s->rows, t + 1, threads) - begin, s->columns, s->rotation, rows,
                      rows, s->work->thread[t].inner, s->work->thread[t].tile);
  }
}

/* Left singular vectors, up to the square root of the rounding error: column k of the rotation is
 * eigenvector l - 1 - k over its singular value. */
static polyad_status rotate_to_singular_vectors(struct pd_subspace *s) {
  size_t l = s->columns;
  PD_TRY(subspace_decompose(s));
  const double *eigenvalues = s->work->numbers;
  double least = eigenvalues[l - 1] * (double)l * DBL_EPSILON;
  for (size_t k = 0; k < l; ++k) {
    size_t from = l - 1 - k;
    bool strong = eigenvalues[from] > least;
    s->values[k] = strong ? sqrt(eigenvalues[from]) : 0;
    for (size_t r = 0; r < l; ++r)
      s->rotation[r * pd_padded(l) + k] = strong ? s->square[from * l + r] / s->values[k] : 0;
  }
  rotate(s);
  return POLYAD_OK;
}

/* Nearly orthonormal columns become orthonormal and hardly move: y (y^T y)^(-1/2). */
static polyad_status polish(struct pd_subspace *s) {
  size_t l = s->columns;
  PD_TRY(subspace_decompose(s));
  memset(s->rotation, 0, l * pd_padded(l) * sizeof(double));
  for (size_t k = 0; k < l; ++k) {
    double eigenvalue = s->work->numbers[k];
    if (!(eigenvalue > 0.5)) continue; /* a zero column */
    for (size_t r = 0; r < l; ++r) {
      double factor = s->square[k * l + r] / sqrt(eigenvalue);
      for (size_t c = 0; c < l; ++c)
        s->rotation[r * pd_padded(l) + c] += factor * s->square[k * l + c];
    }
  }
  rotate(s);
  return POLYAD_OK;
}

polyad_status pd_subspace_orthonormalize(struct pd_subspace *subspace) {
  PD_TRY(rotate_to_singular_vectors(subspace));
  PD_TRY(polish(subspace));
  double *swap = subspace->q;
  subspace->q = subspace->y;
  subspace->y = swap;
  return POLYAD_OK;
}
