/* Passes over the rows of tall factor matrices. */
#include "core/threads.h"
#include "linalg/cpu_work.h"
#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 32 << 10 };

int pd_cpu_pass_threads(const struct pd_linalg_work *work, const struct pd_matrix *a) {
  return pd_worth_threads(work->threads, a->rows * a->columns);
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

double pd_power_of_two_above(double number) {
  int exponent;
  double mantissa = frexp(number, &exponent);
  return ldexp(1, mantissa == 0.5 ? exponent - 1 : exponent);
}

/* Norm of column r of what is stored, from what the threads found and its Gram matrix. */
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
  case PD_SCALE_AS_BEFORE:
    break;
  }
  return largest;
}

/* Sets lambda and work->numbers: what the stored columns are still to be multiplied by. False when
 * they may stay as they are. */
static bool choose_weights(const struct pd_linalg_work *work, int threads,
                           const struct pd_cpu_update *update) {
  double *lambda = update->lambda->data, *factor = work->numbers;
  bool as_before = update->divided != NULL, exact = true;
  for (size_t r = 0; r < work->rank; ++r) {
    double divided = update->divided != NULL ? update->divided[r] : 1;
    double norm = divided * column_norm(work, threads, r, update->scaling, update->gram->data);
    bool at_least_1 =
        update->scaling == PD_SCALE_MAX_AT_LEAST_1 || update->scaling == PD_SCALE_AS_BEFORE;
    if (at_least_1 && norm > 0 && norm < 1) norm = 1;
    if (update->scaling == PD_SCALE_AS_BEFORE && norm > 0 && isfinite(norm))
      norm = pd_power_of_two_above(norm);
    factor[r] = norm > 0 ? divided / norm : 1;
    exact = exact && factor[r] == 1;
    as_before = as_before && factor[r] >= 0.5 && factor[r] <= 2;
    lambda[r] = norm;
  }
  for (size_t r = 0; as_before && r < work->rank; ++r)
    if (lambda[r] > 0) lambda[r] = update->divided[r];
  return !as_before && !exact;
}

/* Sum over columns of weight (NULL: one) times the threads' inner products, in order. */
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

/* One thread's rows, in blocks that stay in the cache until all that is needed of them is known. */
static void update_part(struct pd_linalg_work *work, const struct pd_cpu_update *update, int t,
                        int threads) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(update->x->type);
  const struct pd_matrix *x = update->x;
  struct pd_cpu_thread *scratch = &work->thread[t];
  size_t rank = work->rank;
  uint64_t block = block_rows(x), end = pd_part_begin(x->rows, t + 1, threads);
  clear_thread(work, t);
  for (uint64_t row = pd_part_begin(x->rows, t, threads); row < end; row += block) {
    uint64_t rows = end - row < block ? end - row : block;
    void *to = pd_cpu_row(x, row);
    const void *before = update->before != NULL ? pd_cpu_row(update->before, row) : NULL;
    update->function(kernels, update->user, rows, rank, pd_cpu_row(update->m, row), before, to,
                     scratch->inner, scratch->tile);
    if (update->scaling == PD_SCALE_NORM_1)
      kernels->absolute(rows, rank, to, scratch->norm);
    else if (update->scaling != PD_SCALE_NORM_2)
      kernels->largest(rows, rank, to, scratch->norm);
    kernels->gram(rows, rank, to, scratch->gram, scratch->tile);
  }
}

void pd_cpu_update_rows(struct pd_linalg_work *work, const struct pd_cpu_update *update) {
  int threads = pd_cpu_pass_threads(work, update->x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    update_part(work, update, t, threads);
  collect_gram(work, threads, update->gram->data);
  work->scalars[PD_SCALAR_INNER] = collect_inner(work, threads, update->divided);
  if (!choose_weights(work, threads, update)) return;
  scale_gram(work->rank, work->numbers, update->gram->data);
  pd_cpu_scale(work, update->x, work->numbers);
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

static double weighted_squares_part(const struct pd_matrix *x, const double *of_row, uint64_t begin,
                                    uint64_t end, const double *weight) {
  double sum = 0;
  for (uint64_t i = begin; i < end; ++i) {
    const void *row = pd_cpu_row(x, i);
    double of_this = 0;
    for (uint64_t r = 0; r < x->columns; ++r) {
      double entry = x->type == POLYAD_F64 ? ((const double *)row)[r] : ((const float *)row)[r];
      of_this += weight[r] * entry * entry;
    }
    sum += of_row[i] * of_this;
  }
  return sum;
}

double pd_cpu_weighted_squares(struct pd_linalg_work *work, const double *of_row,
                               const struct pd_matrix *x, const double *weight) {
  int threads = pd_cpu_pass_threads(work, x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    work->thread[t].inner[0] =
        weighted_squares_part(x, of_row, pd_part_begin(x->rows, t, threads),
                              pd_part_begin(x->rows, t + 1, threads), weight);
  double sum = 0;
  for (int t = 0; t < threads; ++t)
    sum += work->thread[t].inner[0];
  return sum;
}
