/* Passes over the rows of tall factor matrices. */
#include "linalg/cpu_work.h"
#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10, LEAST_WORK = 1 << 15 };

static char *row_at(const struct pd_matrix *matrix, uint64_t row) {
  return (char *)matrix->data + row * matrix->stride * pd_type_bytes(matrix->type);
}

/* Partial sums depend on how rows are split, so the split depends on the matrix and the number
 * of threads alone. */
static int threads_for(const struct pd_linalg_work *work, const struct pd_matrix *a) {
  uint64_t useful = a->rows * a->columns / LEAST_WORK;
  if (useful <= 1) return 1;
  return useful < (uint64_t)work->threads ? (int)useful : work->threads;
}

static uint64_t block_rows(const struct pd_matrix *a) {
  uint64_t rows = BLOCK_BYTES / (a->columns * pd_type_bytes(a->type)) / PD_ROW_TILE * PD_ROW_TILE;
  return rows < PD_ROW_TILE ? PD_ROW_TILE : rows;
}

/* Adds the threads' upper triangles in order and mirrors the sum. */
static void collect_gram(const struct pd_linalg_work *work, int threads, double *gram) {
  size_t rank = work->rank;
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = r; s < rank; ++s) {
      double sum = 0;
      for (int t = 0; t < threads; ++t)
        sum += work->thread[t].gram[r * rank + s];
      gram[r * rank + s] = gram[s * rank + r] = sum;
    }
}

void pd_cpu_gram(polyad_context *context, struct pd_linalg_work *work, const struct pd_matrix *a,
                 double *gram) {
  (void)context;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(a->type);
  int threads = threads_for(work, a);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(a->rows, t, threads);
    uint64_t end = pd_part_begin(a->rows, t + 1, threads);
    memset(work->thread[t].gram, 0, work->rank * work->rank * sizeof(double));
    kernels->gram(end - begin, work->rank, row_at(a, begin), work->thread[t].gram);
  }
  collect_gram(work, threads, gram);
}

static struct pd_column_sums sums_of(const struct pd_linalg_work *work, int thread) {
  double *columns = work->thread[thread].columns;
  size_t rank = work->rank;
  return (struct pd_column_sums){
      .square = columns, .largest = columns + rank, .absolute = columns + 2 * rank};
}

/* Adds up the threads' column sums into thread 0's, in order. */
static struct pd_column_sums collect_sums(const struct pd_linalg_work *work, int threads) {
  struct pd_column_sums total = sums_of(work, 0);
  for (int t = 1; t < threads; ++t) {
    struct pd_column_sums part = sums_of(work, t);
    for (size_t r = 0; r < work->rank; ++r) {
      total.square[r] += part.square[r];
      total.absolute[r] += part.absolute[r];
      if (part.largest[r] > total.largest[r]) total.largest[r] = part.largest[r];
    }
  }
  return total;
}

/* Sum over columns of weight times the threads' inner products, in order. */
static double collect_inner(const struct pd_linalg_work *work, int threads, const double *weight) {
  double sum = 0;
  for (size_t r = 0; r < work->rank; ++r) {
    double column = 0;
    for (int t = 0; t < threads; ++t)
      column += work->thread[t].inner[r];
    sum += weight == NULL ? column : weight[r] * column;
  }
  return sum;
}

static double column_norm(const struct pd_column_sums *sums, size_t r, enum pd_scaling scaling) {
  switch (scaling) {
  case PD_SCALE_NORM_2:
    return sqrt(sums->square[r]);
  case PD_SCALE_NORM_1:
    return sums->absolute[r];
  case PD_SCALE_MAX_AT_LEAST_1:
    break;
  }
  if (sums->largest[r] == 0) return 0;
  return sums->largest[r] > 1.0 ? sums->largest[r] : 1.0;
}

static void scale_gram(size_t rank, const double *factor, double *gram) {
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s)
      gram[r * rank + s] *= factor[r] * factor[s];
}

void pd_cpu_scale(struct pd_linalg_work *work, struct pd_matrix *x, const double *factor) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  int threads = threads_for(work, x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(x->rows, t, threads);
    kernels->scale(pd_part_begin(x->rows, t + 1, threads) - begin, work->rank, factor,
                   row_at(x, begin));
  }
}

void pd_cpu_update_rows(polyad_context *context, struct pd_linalg_work *work,
                        pd_rows_function function, const void *user, const struct pd_matrix *m,
                        struct pd_matrix *x, enum pd_scaling scaling, struct pd_matrix *lambda,
                        struct pd_matrix *gram) {
  (void)context;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  size_t rank = work->rank;
  int threads = threads_for(work, x);
  uint64_t block = block_rows(x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    struct pd_cpu_thread *scratch = &work->thread[t];
    struct pd_column_sums sums = sums_of(work, t);
    memset(scratch->gram, 0, rank * rank * sizeof(double));
    memset(scratch->columns, 0, 3 * rank * sizeof(double));
    memset(scratch->inner, 0, rank * sizeof(double));
    uint64_t end = pd_part_begin(x->rows, t + 1, threads);
    for (uint64_t row = pd_part_begin(x->rows, t, threads); row < end; row += block) {
      uint64_t rows = end - row < block ? end - row : block;
      function(kernels, user, rows, rank, row_at(m, row), row_at(x, row), scratch->inner,
               scratch->tile);
      kernels->column_sums(rows, rank, row_at(x, row), &sums);
      kernels->gram(rows, rank, row_at(x, row), scratch->gram);
    }
  }
  collect_gram(work, threads, gram->data);
  struct pd_column_sums sums = collect_sums(work, threads);
  double *norms = lambda->data, *factor = work->numbers;
  bool scaled = false;
  for (size_t r = 0; r < rank; ++r) {
    norms[r] = column_norm(&sums, r, scaling);
    factor[r] = norms[r] > 0 ? 1.0 / norms[r] : 1.0;
    scaled = scaled || factor[r] != 1.0;
  }
  work->scalars[PD_SCALAR_INNER] = collect_inner(work, threads, NULL);
  if (!scaled) return;
  scale_gram(rank, factor, gram->data);
  pd_cpu_scale(work, x, factor);
}

void pd_cpu_weighted_inner(struct pd_linalg_work *work, const struct pd_matrix *m,
                           const struct pd_matrix *x, const double *weight) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  int threads = threads_for(work, x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(x->rows, t, threads);
    memset(work->thread[t].inner, 0, work->rank * sizeof(double));
    kernels->inner(pd_part_begin(x->rows, t + 1, threads) - begin, work->rank, row_at(m, begin),
                   row_at(x, begin), work->thread[t].inner);
  }
  work->scalars[PD_SCALAR_INNER] = collect_inner(work, threads, weight);
}
