/* Passes over the rows of tall factor matrices. */
#include "linalg/cpu_work.h"
#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 32 << 10, LEAST_WORK = 1 << 15 };

int pd_cpu_pass_threads(const struct pd_linalg_work *work, const struct pd_matrix *a) {
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
  size_t rank = work->rank, padded = pd_padded(rank);
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = r; s < rank; ++s) {
      double sum = 0;
      for (int t = 0; t < threads; ++t)
        sum += work->thread[t].gram[r * padded + s];
      gram[r * rank + s] = gram[s * rank + r] = sum;
    }
}

static void clear_thread(const struct pd_linalg_work *work, int thread) {
  size_t padded = pd_padded(work->rank);
  memset(work->thread[thread].gram, 0, padded * padded * sizeof(double));
  memset(work->thread[thread].norm, 0, padded * sizeof(double));
  memset(work->thread[thread].inner, 0, padded * sizeof(double));
}

void pd_cpu_gram(polyad_context *context, struct pd_linalg_work *work, const struct pd_matrix *a,
                 double *gram) {
  (void)context;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(a->type);
  int threads = pd_cpu_pass_threads(work, a);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(a->rows, t, threads);
    uint64_t end = pd_part_begin(a->rows, t + 1, threads);
    clear_thread(work, t);
    kernels->gram(end - begin, work->rank, pd_cpu_row(a, begin), work->thread[t].gram,
                  work->thread[t].tile);
  }
  collect_gram(work, threads, gram);
}

/* Norm of column r from what the threads found and the unscaled Gram matrix. */
static double column_norm(const struct pd_linalg_work *work, int threads, size_t r,
                          enum pd_scaling scaling, const double *gram) {
  double largest = 0, sum = 0;
  for (int t = 0; t < threads; ++t) {
    double part = work->thread[t].norm[r];
    sum += part;
    largest = part > largest ? part : largest;
  }
  switch (scaling) {
  case PD_SCALE_NORM_2:
    return sqrt(gram[r * work->rank + r]);
  case PD_SCALE_NORM_1:
    return sum;
  case PD_SCALE_MAX_AT_LEAST_1:
    break;
  }
  return largest > 0 && largest < 1 ? 1 : largest;
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

static void scale_gram(size_t rank, const double *factor, double *gram) {
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s)
      gram[r * rank + s] *= factor[r] * factor[s];
}

void pd_cpu_scale(struct pd_linalg_work *work, struct pd_matrix *x, const double *factor) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  int threads = pd_cpu_pass_threads(work, x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(x->rows, t, threads);
    kernels->scale(pd_part_begin(x->rows, t + 1, threads) - begin, work->rank, factor,
                   pd_cpu_row(x, begin));
  }
}

void pd_cpu_update_rows(polyad_context *context, struct pd_linalg_work *work,
                        pd_rows_function function, const void *user, const struct pd_matrix *m,
                        struct pd_matrix *x, enum pd_scaling scaling, struct pd_matrix *lambda,
                        struct pd_matrix *gram) {
  (void)context;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  size_t rank = work->rank;
  int threads = pd_cpu_pass_threads(work, x);
  uint64_t block = block_rows(x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    struct pd_cpu_thread *scratch = &work->thread[t];
    clear_thread(work, t);
    uint64_t end = pd_part_begin(x->rows, t + 1, threads);
    for (uint64_t row = pd_part_begin(x->rows, t, threads); row < end; row += block) {
      uint64_t rows = end - row < block ? end - row : block;
      function(kernels, user, rows, rank, pd_cpu_row(m, row), pd_cpu_row(x, row), scratch->inner,
               scratch->tile);
      if (scaling == PD_SCALE_MAX_AT_LEAST_1)
        kernels->largest(rows, rank, pd_cpu_row(x, row), scratch->norm);
      else if (scaling == PD_SCALE_NORM_1)
        kernels->absolute(rows, rank, pd_cpu_row(x, row), scratch->norm);
      kernels->gram(rows, rank, pd_cpu_row(x, row), scratch->gram, scratch->tile);
    }
  }
  collect_gram(work, threads, gram->data);
  double *norms = lambda->data, *factor = work->numbers;
  bool scaled = false;
  for (size_t r = 0; r < rank; ++r) {
    norms[r] = column_norm(work, threads, r, scaling, gram->data);
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
  int threads = pd_cpu_pass_threads(work, x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(x->rows, t, threads);
    memset(work->thread[t].inner, 0, work->rank * sizeof(double));
    kernels->inner(pd_part_begin(x->rows, t + 1, threads) - begin, work->rank, pd_cpu_row(m, begin),
                   pd_cpu_row(x, begin), work->thread[t].inner);
  }
  work->scalars[PD_SCALAR_INNER] = collect_inner(work, threads, weight);
}
