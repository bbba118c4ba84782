#include "algorithms/hosvd.h"
#include "core/radix_sort.h"
#include "core/random.h"
#include "linalg/cpu_work.h"
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { OVERSAMPLING = 8, MOST_ITERATIONS = 60 };
static const double settled = 1e-9; /* relative change of eigenvalues that ends the iteration */

/* Block subspace iteration for one mode. */
struct subspace {
  polyad_context *context;
  const polyad_tensor *tensor;
  int mode;
  uint64_t rows;
  size_t columns;
  void *permutation; /* nonzeros sorted by all other modes: fibers are runs */
  int permutation_bytes;
  struct pd_matrix q, y; /* rows x columns, F64 */
  struct pd_linalg_work *work;
  double *square;      /* columns x columns */
  double *eigenvalues; /* columns, ascending */
  double *lapack;      /* LAPACK's */
};

static uint64_t nonzero_at(const struct subspace *s, uint64_t p) {
  return s->permutation_bytes == 4 ? ((const uint32_t *)s->permutation)[p]
                                   : ((const uint64_t *)s->permutation)[p];
}

static polyad_status sort_into_fibers(struct subspace *s) {
  const polyad_tensor *tensor = s->tensor;
  struct pd_key keys[POLYAD_MAX_ORDER];
  int count = 0;
  for (int n = 0; n < tensor->order; ++n)
    if (n != s->mode)
      keys[count++] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  s->permutation_bytes = tensor->nnz <= UINT32_MAX ? 4 : 8;
  PD_TRY(pd_alloc(s->context, tensor->nnz, (size_t)s->permutation_bytes, &s->permutation));
  if (count > 0)
    return pd_sort_permutation(s->context, tensor->nnz, count, keys, s->permutation_bytes,
                               s->permutation);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    ((uint32_t *)s->permutation)[p] = (uint32_t)p;
  return POLYAD_OK;
}

static bool same_fiber(const struct subspace *s, uint64_t a, uint64_t b) {
  for (int n = 0; n < s->tensor->order; ++n)
    if (n != s->mode && pd_tensor_index(s->tensor, n, a) != pd_tensor_index(s->tensor, n, b))
      return false;
  return true;
}

/* y += x_f (x_f^T q) for one fiber x_f, columns [begin, end). */
static void apply_fiber(const struct subspace *s, uint64_t first, uint64_t last, size_t begin,
                        size_t end, double *z) {
  const double *q = s->q.data;
  double *y = s->y.data;
  for (size_t r = begin; r < end; ++r)
    z[r] = 0;
  for (uint64_t p = first; p < last; ++p) {
    uint64_t at = nonzero_at(s, p);
    const double *row = q + pd_tensor_index(s->tensor, s->mode, at) * s->columns;
    double value = pd_tensor_value(s->tensor, at);
    for (size_t r = begin; r < end; ++r)
      z[r] += value * row[r];
  }
  for (uint64_t p = first; p < last; ++p) {
    uint64_t at = nonzero_at(s, p);
    double *row = y + pd_tensor_index(s->tensor, s->mode, at) * s->columns;
    double value = pd_tensor_value(s->tensor, at);
    for (size_t r = begin; r < end; ++r)
      row[r] += value * z[r];
  }
}

/* y = X X^T q. Threads share out the columns, so that no two write one entry. */
static void apply(struct subspace *s) {
  memset(s->y.data, 0, s->rows * s->columns * sizeof(double));
  int threads = polyad_threads(s->context);
  if ((size_t)threads > s->columns) threads = (int)s->columns;
  double *z = s->square; /* a row of it is enough */
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    size_t begin = (size_t)pd_part_begin(s->columns, t, threads);
    size_t end = (size_t)pd_part_begin(s->columns, t + 1, threads);
    uint64_t first = 0, nnz = s->tensor->nnz;
    while (first < nnz) {
      uint64_t last = first + 1, head = nonzero_at(s, first);
      while (last < nnz && same_fiber(s, head, nonzero_at(s, last)))
        ++last;
      apply_fiber(s, first, last, begin, end, z);
      first = last;
    }
  }
}

/* Eigenvectors (contiguous) of the symmetric matrix in s->square, in place. */
static polyad_status eigen(struct subspace *s) {
  lapack_int n = (lapack_int)s->columns;
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', n, s->square, n, s->eigenvalues, s->lapack,
                         34 * n) != 0)
    return pd_fail(s->context, POLYAD_NUMERICAL,
                   "the singular vectors of mode %d do not converge; use random first factors",
                   s->mode + 1);
  return POLYAD_OK;
}

/* target = target w, row by row; w in s->square. */
static void rotate(struct subspace *s, struct pd_matrix *target) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  int threads = s->work->threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(s->rows, t, threads);
    double *rows = (double *)target->data + begin * s->columns;
    memset(s->work->thread[t].inner, 0, s->columns * sizeof(double));
    kernels->multiply(pd_part_begin(s->rows, t + 1, threads) - begin, s->columns, s->square, rows,
                      rows, s->work->thread[t].inner, s->work->thread[t].tile);
  }
}

/* Orthonormal columns for q from y, strongest first, by the eigenvectors of y^T y; twice,
 * because once leaves the square root of the rounding error. Directions without any strength
 * become zero columns. */
static polyad_status orthonormalize(struct subspace *s) {
  size_t l = s->columns;
  for (int pass = 0; pass < 2; ++pass) {
    pd_cpu_gram(s->context, s->work, &s->y, s->square);
    PD_TRY(eigen(s));
    double largest = s->eigenvalues[l - 1];
    double least = largest * (double)l * DBL_EPSILON;
    /* Row-major w: column k is eigenvector l - 1 - k, scaled. In place: transpose via lapack
     * room is too small, so go through s->work's inverse. */
    double *w = s->work->inverse;
    for (size_t k = 0; k < l; ++k) {
      size_t from = l - 1 - k;
      double scale =
          s->eigenvalues[from] > least && largest > 0 ? 1 / sqrt(s->eigenvalues[from]) : 0;
      for (size_t r = 0; r < l; ++r)
        w[r * l + k] = s->square[from * l + r] * scale;
    }
    memcpy(s->square, w, l * l * sizeof(double));
    rotate(s, &s->y);
  }
  struct pd_matrix swap = s->q;
  s->q = s->y;
  s->y = swap;
  return POLYAD_OK;
}

static void start(struct subspace *s) {
  double *y = s->y.data;
  if (s->columns == s->rows) { /* the whole space: one step is exact */
    for (uint64_t i = 0; i < s->rows; ++i)
      for (size_t r = 0; r < s->columns; ++r)
        y[i * s->columns + r] = i == r;
    return;
  }
  uint64_t stream = UINT64_C(1) << 32;
  for (uint64_t k = 0; k < s->rows * s->columns; ++k)
    y[k] = pd_random_normal(polyad_seed(s->context), stream + (uint64_t)s->mode, k);
}

/* Largest relative change of the leading eigenvalues, kept in `before`. */
static double change(const struct subspace *s, size_t wanted, double *before) {
  double most = 0, largest = s->eigenvalues[s->columns - 1];
  for (size_t k = 0; k < wanted; ++k) {
    double now = sqrt(fmax(s->eigenvalues[s->columns - 1 - k], 0));
    double by = fabs(now - before[k]) / (largest > 0 ? sqrt(largest) : 1);
    if (by > most) most = by;
    before[k] = now;
  }
  return most;
}

static polyad_status iterate(struct subspace *s, size_t wanted) {
  double *before = s->work->numbers;
  memset(before, 0, s->columns * sizeof(double));
  start(s);
  PD_TRY(orthonormalize(s));
  for (int k = 0; k < MOST_ITERATIONS; ++k) {
    apply(s);
    /* The first Gram of orthonormalize() has the squares of the Ritz values as eigenvalues. */
    pd_cpu_gram(s->context, s->work, &s->y, s->square);
    PD_TRY(eigen(s));
    double by = change(s, wanted, before);
    PD_TRY(orthonormalize(s));
    if (by < settled || s->columns == s->rows) break;
    if (pd_cancelled(s->context)) break;
  }
  return POLYAD_OK;
}

/* Columns of norm one go into the model with the sign that makes their largest entry positive. */
static void store(const struct subspace *s, polyad_ktensor *model) {
  const double *q = s->q.data;
  uint64_t rank = model->rank;
  for (size_t r = 0; r < s->columns && r < rank; ++r) {
    double largest = 0;
    for (uint64_t i = 0; i < s->rows; ++i) {
      double value = q[i * s->columns + r];
      if (fabs(value) > fabs(largest)) largest = value;
    }
    if (largest == 0) continue;
    double sign = largest < 0 ? -1 : 1;
    for (uint64_t i = 0; i < s->rows; ++i) {
      double value = sign * q[i * s->columns + r];
      if (model->type == POLYAD_F64)
        ((double *)model->factor[s->mode])[i * rank + r] = value;
      else
        ((float *)model->factor[s->mode])[i * rank + r] = (float)value;
    }
  }
}

static polyad_status one_mode(polyad_context *context, const polyad_tensor *tensor, int mode,
                              polyad_ktensor *model) {
  polyad_status status = POLYAD_OK;
  uint64_t rows = tensor->dims[mode], rank = model->rank;
  uint64_t columns = rank + OVERSAMPLING < rows ? rank + OVERSAMPLING : rows;
  struct subspace s = {
      .context = context, .tensor = tensor, .mode = mode, .rows = rows, .columns = (size_t)columns};
  PD_TRY_CLEANUP(sort_into_fibers(&s));
  PD_TRY_CLEANUP(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, rows, columns, &s.q));
  PD_TRY_CLEANUP(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, rows, columns, &s.y));
  PD_TRY_CLEANUP(pd_cpu_linalg.work_create(context, &pd_cpu_device, columns, &s.work));
  PD_TRY_CLEANUP(PD_NEW(context, columns * columns, &s.square));
  PD_TRY_CLEANUP(PD_NEW(context, columns, &s.eigenvalues));
  PD_TRY_CLEANUP(PD_NEW(context, 34 * columns, &s.lapack));
  PD_TRY_CLEANUP(iterate(&s, (size_t)(rank < columns ? rank : columns)));
  store(&s, model);
cleanup:
  pd_free(context, s.permutation);
  pd_matrix_destroy(context, &s.q);
  pd_matrix_destroy(context, &s.y);
  pd_cpu_linalg.work_destroy(context, s.work);
  pd_free(context, s.square);
  pd_free(context, s.eigenvalues);
  pd_free(context, s.lapack);
  return status;
}

polyad_status pd_hosvd(polyad_context *context, const polyad_plan *plan, polyad_ktensor *model) {
  polyad_tensor *tensor = NULL;
  if (plan->format->expand == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "format %s cannot give its nonzeros back for HOSVD; use random first factors",
                   plan->format->name);
  PD_TRY(plan->format->expand(context, plan->storage, &tensor));
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < plan->order && status == POLYAD_OK; ++n)
    status = one_mode(context, tensor, n, model);
  polyad_tensor_destroy(tensor);
  return status;
}
