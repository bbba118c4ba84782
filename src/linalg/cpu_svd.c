/* Leading left singular vectors on the CPU. LAPACK sees the smaller Gram matrix alone. Sums are in
 * an order that depends on the number of threads only. */
#include "core/numbers.h"
#include "core/random.h"
#include "linalg/cpu_dense.h"
#include "linalg/lapack.h"
#include "linalg/subspace.h"
#include "linalg/svd.h"
#include <string.h>

enum { LAPACK_NUMBERS = 64 }; /* of a row, with its integers, at most */

/* One size's own memory. */
struct each {
  struct pd_svd_size size;
  uint64_t vectors;
  struct pd_subspace basis; /* rows x vectors; unused where the rows' own Gram matrix is taken */
  struct pd_subspace image; /* randomized: columns x vectors */
};

struct pd_svd_work {
  enum pd_svd_method method;
  int sizes, threads;
  struct each each[POLYAD_MAX_ORDER];
  struct pd_dense_gram gram;
  double *vectors;   /* eigenvectors, row by row; randomized: q^T Y */
  double *strongest; /* as LAPACK finds them: one after the other, the weakest first */
  double *values, *lapack;
  int *integers;
  uint64_t seed;
};

/* Whether the rows are fewer than the columns, so that Y Y^T is the smaller Gram matrix. */
static bool wide(const struct pd_svd_size *size) { return size->rows <= size->columns; }

static uint64_t smaller(const struct pd_svd_size *size) {
  return wide(size) ? size->rows : size->columns;
}

/* What the sizes need at most. */
struct needs {
  uint64_t gram;    /* rows of the largest Gram matrix */
  uint64_t vectors; /* numbers */
  uint64_t bases;   /* numbers of all bases */
};

static struct needs cpu_svd_needs_of(int sizes, const struct pd_svd_size *size,
                                     enum pd_svd_method method) {
  struct needs needs = {.gram = 1, .vectors = 1};
  for (int k = 0; k < sizes; ++k) {
    uint64_t count = pd_svd_vectors(&size[k], method), numbers;
    if (method == PD_SVD_EXACT) {
      if (smaller(&size[k]) > needs.gram) needs.gram = smaller(&size[k]);
      numbers = pd_mul_saturated(smaller(&size[k]), count);
    } else {
      numbers = pd_mul_saturated(size[k].columns, count);
      needs.bases = pd_add_saturated(needs.bases, pd_mul_saturated(2, numbers));
    }
    if (numbers > needs.vectors) needs.vectors = numbers;
    if (method == PD_SVD_RANDOMIZED || !wide(&size[k]))
      needs.bases =
          pd_add_saturated(needs.bases, pd_mul_saturated(2, pd_mul_saturated(size[k].rows, count)));
  }
  return needs;
}

static uint64_t cpu_svd_bytes(int sizes, const struct pd_svd_size *size, enum pd_svd_method method,
                              int threads) {
  struct needs needs = cpu_svd_needs_of(sizes, size, method);
  uint64_t numbers = pd_add_saturated(needs.vectors, needs.bases);
  if (method == PD_SVD_EXACT) { /* LAPACK's */
    numbers = pd_add_saturated(numbers, needs.vectors);
    numbers = pd_add_saturated(numbers, pd_mul_saturated(LAPACK_NUMBERS, needs.gram));
  }
  return pd_add_saturated(pd_mul_saturated(numbers, sizeof(double)),
                          pd_dense_gram_bytes(needs.gram, threads));
}

static void cpu_svd_destroy(polyad_context *context, struct pd_svd_work *work) {
  if (work == NULL) return;
  for (int k = 0; k < work->sizes; ++k)
    pd_subspace_destroy(&work->each[k].basis);
  for (int k = 0; k < work->sizes; ++k)
    pd_subspace_destroy(&work->each[k].image);
  pd_dense_gram_destroy(context, &work->gram);
  PD_FREE(context, work->vectors, work->strongest, work->values, work->lapack, work->integers,
          work);
}

/* LAPACK's own memory for the largest Gram matrix and the most vectors. */
static polyad_status create_lapack(polyad_context *context, uint64_t rows, uint64_t vectors,
                                   struct pd_svd_work *work) {
  if (rows > PD_EIGEN_LARGEST)
    return pd_fail(context, POLYAD_OVERFLOW,
                   "a Gram matrix of %llu rows is too large for LAPACK; use the randomized way",
                   (unsigned long long)rows);
  PD_TRY(PD_NEW(context, vectors, &work->strongest));
  PD_TRY(PD_NEW(context, pd_eigen_leading_numbers((size_t)rows), &work->lapack));
  PD_TRY(PD_NEW(context, pd_eigen_leading_integers((size_t)rows), &work->integers));
  return PD_NEW(context, rows, &work->values);
}

static polyad_status cpu_svd_create(polyad_context *context, const struct pd_device *device,
                                    int sizes, const struct pd_svd_size *size,
                                    enum pd_svd_method method, struct pd_svd_work **result) {
  (void)device;
  polyad_status status = POLYAD_OK;
  struct pd_svd_work *work = NULL;
  struct needs needs = cpu_svd_needs_of(sizes, size, method);
  *result = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &work));
  work->method = method;
  work->sizes = sizes;
  work->threads = polyad_threads(context);
  work->seed = polyad_seed(context);
  PD_TRY_CLEANUP(PD_NEW(context, needs.vectors, &work->vectors));
  PD_TRY_CLEANUP(pd_dense_gram_create(context, needs.gram, work->threads, &work->gram));
  if (method == PD_SVD_EXACT)
    PD_TRY_CLEANUP(create_lapack(context, needs.gram, needs.vectors, work));
  for (int k = 0; k < sizes; ++k) {
    struct each *each = &work->each[k];
    each->size = size[k];
    each->vectors = pd_svd_vectors(&size[k], method);
    if (method == PD_SVD_RANDOMIZED || !wide(&size[k]))
      PD_TRY_CLEANUP(pd_subspace_create(context, size[k].rows, each->vectors, &each->basis));
    if (method == PD_SVD_RANDOMIZED)
      PD_TRY_CLEANUP(pd_subspace_create(context, size[k].columns, each->vectors, &each->image));
  }
  *result = work;
  work = NULL;
cleanup:
  cpu_svd_destroy(context, work);
  return status;
}

/* The `count` strongest eigenvectors of the Gram matrix, whose lower triangle moves to where LAPACK
 * reads it. */
static polyad_status cpu_svd_decompose(struct pd_stage *stage, struct pd_svd_work *work,
                                       uint64_t rows, uint64_t count) {
  double *a = work->gram.sum;
  size_t n = (size_t)rows, padded = pd_padded(n);
  for (size_t i = 1; i < n; ++i)
    for (size_t j = 0; j < i; ++j)
      a[i * padded + j] = a[j * padded + i];
  for (size_t i = 1; i < n; ++i)
    memmove(a + i * n, a + i * padded, (i + 1) * sizeof *a);
  return pd_eigen_leading(stage, n, a, (size_t)count, work->values, work->strongest, work->lapack,
                          work->integers);
}

/* Eigenvector number `which` of `count`, the strongest first. */
static const double *vector_at(const struct pd_svd_work *work, uint64_t rows, uint64_t count,
                               uint64_t which) {
  return work->strongest + (count - 1 - which) * rows;
}

/* The randomized basis starts with Y times normal numbers; powers of Y Y^T follow, and every
 * product is orthonormalised, so that weak vectors are not lost beside strong ones. */
static polyad_status cpu_svd_find_range(struct pd_svd_work *work, struct each *each,
                                        const struct pd_matrix *y) {
  uint64_t columns = each->size.columns, count = each->vectors;
  for (uint64_t k = 0; k < columns * count; ++k)
    each->image.q[k] = pd_random_normal(work->seed, UINT64_C(3) << 32, k);
  for (int power = 0;; ++power) {
    pd_dense_times(work->threads, y, each->image.q, count, each->basis.y);
    PD_TRY(pd_subspace_orthonormalize(&each->basis));
    if (power == PD_SVD_POWERS) return POLYAD_OK;
    pd_dense_project(work->threads, y, each->basis.q, count, work->vectors);
    for (uint64_t p = 0; p < columns; ++p)
      for (uint64_t r = 0; r < count; ++r)
        each->image.y[p * count + r] = work->vectors[r * columns + p];
    PD_TRY(pd_subspace_orthonormalize(&each->image));
  }
}

/* Through the columns' Gram matrix: Y V, orthonormalised. */
static polyad_status through_columns(struct pd_stage *stage, struct pd_svd_work *work,
                                     struct each *each, const struct pd_matrix *y) {
  uint64_t columns = each->size.columns, count = each->vectors;
  PD_TRY(pd_dense_gram_columns(stage, &work->gram, y));
  PD_TRY(cpu_svd_decompose(stage, work, columns, count));
  for (uint64_t r = 0; r < count; ++r) {
    const double *vector = vector_at(work, columns, count, r);
    for (uint64_t p = 0; p < columns; ++p)
      work->vectors[p * count + r] = vector[p];
  }
  pd_dense_times(work->threads, y, work->vectors, count, each->basis.y);
  return pd_subspace_orthonormalize(&each->basis);
}

/* Through the rows' Gram matrix, whose eigenvectors they are. */
static polyad_status through_rows(struct pd_stage *stage, struct pd_svd_work *work,
                                  const struct pd_matrix *y, uint64_t count, struct pd_matrix *u) {
  PD_TRY(pd_dense_gram_rows(stage, &work->gram, y));
  PD_TRY(cpu_svd_decompose(stage, work, y->rows, count));
  for (uint64_t r = 0; r < count; ++r) {
    struct pd_matrix column = *u;
    column.data = (char *)u->data + r * (u->type == POLYAD_F32 ? 4 : 8);
    pd_dense_store(&column, vector_at(work, y->rows, count, r), 1, 1, 1);
  }
  return POLYAD_OK;
}

static struct each *find_size(struct pd_svd_work *work, const struct pd_matrix *y,
                              const struct pd_matrix *u) {
  for (int k = 0; k < work->sizes; ++k) {
    const struct pd_svd_size *size = &work->each[k].size;
    if (size->rows == y->rows && size->columns == y->columns && size->count == u->columns)
      return &work->each[k];
  }
  return NULL;
}

static polyad_status cpu_svd_leading(polyad_context *context, struct pd_svd_work *work,
                                     const struct pd_matrix *y, struct pd_matrix *u) {
  struct each *each = find_size(work, y, u);
  if (each == NULL)
    return pd_fail(context, POLYAD_INTERNAL, "singular vectors of a size that was not asked for");
  uint64_t count = each->vectors, taken = count < u->columns ? count : u->columns;
  struct pd_stage stage = pd_stage_begin_silent(context, "a decomposition");
  if (work->method == PD_SVD_RANDOMIZED) {
    PD_TRY(cpu_svd_find_range(work, each, y));
    pd_dense_store(u, each->basis.q, count, 1, taken);
  } else if (wide(&each->size)) {
    PD_TRY(through_rows(&stage, work, y, taken, u));
  } else {
    PD_TRY(through_columns(&stage, work, each, y));
    pd_dense_store(u, each->basis.q, count, 1, taken);
  }
  pd_dense_complete(u, taken);
  return POLYAD_OK;
}

static polyad_status cpu_svd_project(polyad_context *context, struct pd_svd_work *work,
                                     const struct pd_matrix *u, const struct pd_matrix *y,
                                     struct pd_matrix *core) {
  double *wide_u = NULL, *wide_core = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(u->rows, u->columns), &wide_u));
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(core->rows, core->columns), &wide_core));
  pd_dense_load(u, wide_u);
  pd_dense_project(work->threads, y, wide_u, u->columns, wide_core);
  pd_dense_store(core, wide_core, core->columns, 1, core->columns);
cleanup:
  PD_FREE(context, wide_u, wide_core);
  return status;
}

static polyad_status cpu_svd_sum_of_squares(polyad_context *context, struct pd_svd_work *work,
                                            const struct pd_matrix *m, double *sum) {
  (void)context, (void)work;
  *sum = 0;
  for (uint64_t k = 0; k < m->rows * m->columns; ++k) {
    double x = pd_load(m->type, m->data, k);
    *sum += x * x;
  }
  return POLYAD_OK;
}

const struct pd_svd pd_cpu_svd = {
    .bytes = cpu_svd_bytes,
    .create = cpu_svd_create,
    .destroy = cpu_svd_destroy,
    .leading = cpu_svd_leading,
    .project = cpu_svd_project,
    .sum_of_squares = cpu_svd_sum_of_squares,
};
