#include "linalg/cpu_dense.h"
#include "core/numbers.h"
#include "core/threads.h"
#include <math.h>
#include <string.h>

/* Memory that the threads' own Gram matrices may take together. */
static const uint64_t most_bytes = UINT64_C(256) << 20;

static uint64_t square_bytes(uint64_t rows) {
  uint64_t padded = pd_padded((size_t)rows);
  return pd_mul_saturated(pd_mul_saturated(padded, padded), sizeof(double));
}

static int threads_within(uint64_t rows, int threads) {
  uint64_t each = square_bytes(rows);
  while (threads > 1 && pd_mul_saturated(each, (uint64_t)threads) > most_bytes)
    --threads;
  return threads;
}

static uint64_t tiles_numbers(uint64_t rows) { return 2 * PD_TILE_ROWS * pd_padded((size_t)rows); }

uint64_t pd_dense_gram_bytes(uint64_t rows, int threads) {
  uint64_t each = pd_add_saturated(square_bytes(rows), tiles_numbers(rows) * sizeof(double));
  return pd_mul_saturated(each, (uint64_t)threads_within(rows, threads));
}

polyad_status pd_dense_gram_create(polyad_context *context, uint64_t rows, int threads,
                                   struct pd_dense_gram *gram) {
  *gram = (struct pd_dense_gram){.rows = rows, .threads = threads_within(rows, threads)};
  uint64_t count = (uint64_t)gram->threads;
  PD_TRY(pd_alloc(context, count, square_bytes(rows), (void **)&gram->sum));
  return PD_NEW(context, pd_mul_saturated(count, tiles_numbers(rows)), &gram->tiles);
}

void pd_dense_gram_destroy(polyad_context *context, struct pd_dense_gram *gram) {
  PD_FREE(context, gram->sum, gram->tiles);
  *gram = (struct pd_dense_gram){0};
}

static double cpu_dense_entry(const struct pd_matrix *y, uint64_t k) {
  return pd_load(y->type, y->data, k);
}

static uint64_t products_of(const struct pd_matrix *y, uint64_t each) {
  return pd_mul_saturated(pd_mul_saturated(y->rows, y->columns), each);
}

/* The threads' parts are added in their order. */
static void cpu_dense_add_parts(struct pd_dense_gram *gram, int threads, size_t padded) {
  for (int t = 1; t < threads; ++t) {
    const double *part = gram->sum + (size_t)t * padded * padded;
    for (size_t k = 0; k < padded * padded; ++k)
      gram->sum[k] += part[k];
  }
}

static void clear_parts(struct pd_dense_gram *gram, int threads, size_t padded) {
  memset(gram->sum, 0, (size_t)threads * padded * padded * sizeof *gram->sum);
}

/* Of `count` rows (or columns) with so many products each: those of one step. */
static uint64_t step_of(uint64_t count, size_t side, int threads) {
  const uint64_t products = UINT64_C(300000000) * (uint64_t)threads;
  uint64_t step = products / ((uint64_t)side * side) + PD_TILE_ROWS;
  return step < count ? step : count;
}

/* Rows from `first` to `last` - 1 of y. */
static void cpu_dense_add_rows(struct pd_dense_gram *gram, const struct pd_matrix *y,
                               uint64_t first, uint64_t last, int threads) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(y->type);
  size_t columns = (size_t)y->columns, padded = pd_padded(columns);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = first + pd_part_begin(last - first, t, threads),
             end = first + pd_part_begin(last - first, t + 1, threads);
    kernels->gram(end - begin, columns,
                  (const char *)y->data + begin * columns * pd_type_bytes(y->type),
                  gram->sum + (size_t)t * padded * padded,
                  gram->tiles + (size_t)t * tiles_numbers(gram->rows));
  }
}

/* Columns from `first` to `last` - 1 of y: panels of them, transposed, are rows to the kernel. */
static void cpu_dense_add_columns(struct pd_dense_gram *gram, const struct pd_matrix *y,
                                  uint64_t first, uint64_t last, int threads) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  size_t rows = (size_t)y->rows, padded = pd_padded(rows);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t end = first + pd_part_begin(last - first, t + 1, threads);
    double *part = gram->sum + (size_t)t * padded * padded;
    double *panel = gram->tiles + (size_t)t * tiles_numbers(gram->rows);
    for (uint64_t c = first + pd_part_begin(last - first, t, threads); c < end; c += PD_TILE_ROWS) {
      uint64_t count = end - c < PD_TILE_ROWS ? end - c : PD_TILE_ROWS;
      for (size_t i = 0; i < rows; ++i)
        for (uint64_t k = 0; k < count; ++k)
          panel[k * rows + i] = cpu_dense_entry(y, i * y->columns + c + k);
      kernels->gram(count, rows, panel, part, panel + PD_TILE_ROWS * padded);
    }
  }
}

/* The matrix of `side` rows that `count` rows, or columns, of y add up to, step by step. */
static polyad_status gram_of(struct pd_stage *stage, struct pd_dense_gram *gram,
                             const struct pd_matrix *y, uint64_t side, uint64_t count,
                             void (*add)(struct pd_dense_gram *gram, const struct pd_matrix *y,
                                         uint64_t first, uint64_t last, int threads)) {
  size_t padded = pd_padded((size_t)side);
  int threads = pd_worth_threads_dense(gram->threads, products_of(y, side));
  uint64_t step = step_of(count, (size_t)side, threads);
  clear_parts(gram, threads, padded);
  for (uint64_t first = 0; first < count; first += step) {
    PD_TRY(pd_stage_tick(stage));
    add(gram, y, first, count - first < step ? count : first + step, threads);
  }
  cpu_dense_add_parts(gram, threads, padded);
  return POLYAD_OK;
}

polyad_status pd_dense_gram_columns(struct pd_stage *stage, struct pd_dense_gram *gram,
                                    const struct pd_matrix *y) {
  return gram_of(stage, gram, y, y->columns, y->rows, cpu_dense_add_rows);
}

polyad_status pd_dense_gram_rows(struct pd_stage *stage, struct pd_dense_gram *gram,
                                 const struct pd_matrix *y) {
  return gram_of(stage, gram, y, y->rows, y->columns, cpu_dense_add_columns);
}

void pd_dense_times(int threads, const struct pd_matrix *y, const double *restrict b,
                    uint64_t count, double *restrict to) {
  threads = pd_worth_threads_dense(threads, products_of(y, count));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < y->rows; ++i) {
    double *row = to + i * count;
    memset(row, 0, count * sizeof *row);
    for (uint64_t p = 0; p < y->columns; ++p) {
      double x = cpu_dense_entry(y, i * y->columns + p);
      const double *line = b + p * count;
      for (uint64_t r = 0; r < count; ++r)
        row[r] += x * line[r];
    }
  }
}

void pd_dense_project(int threads, const struct pd_matrix *y, const double *restrict q,
                      uint64_t count, double *restrict to) {
  uint64_t columns = y->columns;
  threads = pd_worth_threads_dense(threads, products_of(y, count));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(columns, t, threads),
             end = pd_part_begin(columns, t + 1, threads);
    for (uint64_t r = 0; r < count; ++r)
      memset(to + r * columns + begin, 0, (end - begin) * sizeof *to);
    for (uint64_t i = 0; i < y->rows; ++i)
      for (uint64_t r = 0; r < count; ++r) {
        double x = q[i * count + r], *line = to + r * columns;
        for (uint64_t p = begin; p < end; ++p)
          line[p] += x * cpu_dense_entry(y, i * columns + p);
      }
  }
}

void pd_dense_store(struct pd_matrix *u, const double *from, uint64_t row_step,
                    uint64_t column_step, uint64_t columns) {
  for (uint64_t i = 0; i < u->rows; ++i)
    for (uint64_t c = 0; c < columns; ++c) {
      double value = from[i * row_step + c * column_step];
      pd_store(u->type, u->data, i * u->stride + c, value);
    }
}

void pd_dense_load(const struct pd_matrix *u, double *to) {
  for (uint64_t i = 0; i < u->rows; ++i)
    for (uint64_t c = 0; c < u->columns; ++c)
      to[i * u->columns + c] = cpu_dense_entry(u, i * u->stride + c);
}

static void cpu_dense_put(struct pd_matrix *u, uint64_t i, uint64_t c, double value) {
  pd_store(u->type, u->data, i * u->stride + c, value);
}

/* The unit vector that the columns so far know least of. */
static uint64_t least_known(const struct pd_matrix *u) {
  uint64_t best = 0;
  double least = INFINITY;
  for (uint64_t i = 0; i < u->rows; ++i) {
    double sum = 0;
    for (uint64_t c = 0; c < u->columns; ++c)
      sum += cpu_dense_entry(u, i * u->stride + c) * cpu_dense_entry(u, i * u->stride + c);
    if (sum < least) {
      least = sum;
      best = i;
    }
  }
  return best;
}

/* Column `which` minus its part in the span of the others, at norm one; columns that are zero have
 * no say. */
static void orthogonalize(struct pd_matrix *u, uint64_t which) {
  for (int again = 0; again < 2; ++again)
    for (uint64_t c = 0; c < u->columns; ++c) {
      double inner = 0;
      if (c == which) continue;
      for (uint64_t i = 0; i < u->rows; ++i)
        inner += cpu_dense_entry(u, i * u->stride + c) * cpu_dense_entry(u, i * u->stride + which);
      for (uint64_t i = 0; i < u->rows && inner != 0; ++i)
        cpu_dense_put(u, i, which,
                      cpu_dense_entry(u, i * u->stride + which) -
                          inner * cpu_dense_entry(u, i * u->stride + c));
    }
  double square = 0;
  for (uint64_t i = 0; i < u->rows; ++i)
    square += cpu_dense_entry(u, i * u->stride + which) * cpu_dense_entry(u, i * u->stride + which);
  for (uint64_t i = 0; i < u->rows && square > 0; ++i)
    cpu_dense_put(u, i, which, cpu_dense_entry(u, i * u->stride + which) / sqrt(square));
}

static bool is_zero(const struct pd_matrix *u, uint64_t c) {
  for (uint64_t i = 0; i < u->rows; ++i)
    if (cpu_dense_entry(u, i * u->stride + c) != 0) return false;
  return true;
}

void pd_dense_complete(struct pd_matrix *u, uint64_t from) {
  for (uint64_t c = from; c < u->columns; ++c)
    for (uint64_t i = 0; i < u->rows; ++i)
      cpu_dense_put(u, i, c, 0);
  for (uint64_t c = 0; c < u->columns; ++c) {
    if (c < from && !is_zero(u, c)) continue;
    cpu_dense_put(u, least_known(u), c, 1);
    orthogonalize(u, c);
  }
}
