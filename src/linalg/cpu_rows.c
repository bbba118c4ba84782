/* Passes over the rows of tall factor matrices. */
#include "core/threads.h"
#include "linalg/cpu_mixed.h"
#include "linalg/cpu_work.h"
#include <math.h>
#include <omp.h>
#include <string.h>

enum { BLOCK_BYTES = 32 << 10 };
/* Rows that are worth a part of their own. */
enum { LEAST_ROWS = 128 };
/* Weights beyond this are left to check_finite(): a float may not hold what they divide. */
static const double MOST_DIVISOR = 0x1p126;

static double *cpu_rows_tile_of(const struct pd_linalg_work *work) {
  return work->thread[omp_get_thread_num()].tile;
}

int pd_cpu_pass_threads(const struct pd_linalg_work *work, const struct pd_matrix *a) {
  return pd_worth_threads(work->threads, a->rows * a->columns);
}

static uint64_t cpu_rows_block_rows(const struct pd_matrix *a) {
  uint64_t rows = BLOCK_BYTES / (a->columns * pd_type_bytes(a->type)) / PD_ROW_TILE * PD_ROW_TILE;
  return rows < PD_ROW_TILE ? PD_ROW_TILE : rows;
}

/* Parts that the rows of a matrix are summed in: their number follows from that of the rows. */
static int parts_of_rows(const struct pd_linalg_work *work, uint64_t rows) {
  uint64_t parts = rows / LEAST_ROWS;
  return parts < 1 ? 1 : parts < (uint64_t)work->parts ? (int)parts : work->parts;
}

/* Threads for one pass over a matrix whose parts are summed one by one. */
static int part_threads(const struct pd_linalg_work *work, const struct pd_matrix *a, int parts) {
  int threads = pd_cpu_pass_threads(work, a);
  return threads < parts ? threads : parts;
}

/* Adds the parts' upper triangles in order and mirrors the sum. */
static void collect_gram(const struct pd_linalg_work *work, int parts, double *gram) {
  size_t rank = work->rank, padded = pd_padded(rank);
  for (size_t r = 0; r < rank; ++r) {
    double *line = gram + r * rank;
    memcpy(line + r, work->part[0].gram + r * padded + r, (rank - r) * sizeof *line);
    for (int p = 1; p < parts; ++p) {
      const double *from = work->part[p].gram + r * padded;
      for (size_t s = r; s < rank; ++s)
        line[s] += from[s];
    }
  }
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < r; ++s)
      gram[r * rank + s] = gram[s * rank + r];
}

static double largest_of_parts(const struct pd_linalg_work *work, int parts, size_t r) {
  double largest = 0;
  for (int p = 0; p < parts; ++p)
    if (work->part[p].largest[r] > largest) largest = work->part[p].largest[r];
  return largest;
}

static void clear_part(const struct pd_linalg_work *work, struct pd_cpu_part *part) {
  size_t padded = pd_padded(work->rank);
  memset(part->gram, 0, padded * padded * sizeof(double));
  memset(part->inner, 0, padded * sizeof(double));
  memset(part->largest, 0, padded * sizeof(double));
  memset(part->squares, 0, padded * sizeof(double));
}

void pd_cpu_gram(struct pd_linalg_work *work, const struct pd_matrix *a, double *gram,
                 double *peak) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(a->type);
  int parts = parts_of_rows(work, a->rows), threads = part_threads(work, a, parts);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < parts; ++p) {
    uint64_t block = cpu_rows_block_rows(a), end = pd_part_begin(a->rows, p + 1, parts);
    clear_part(work, &work->part[p]);
    for (uint64_t row = pd_part_begin(a->rows, p, parts); row < end; row += block) {
      uint64_t rows = end - row < block ? end - row : block;
      if (peak != NULL)
        kernels->largest(rows, work->rank, pd_cpu_row(a, row), work->part[p].largest);
      kernels->gram(rows, work->rank, pd_cpu_row(a, row), work->part[p].gram,
                    cpu_rows_tile_of(work));
    }
  }
  collect_gram(work, parts, gram);
  for (size_t r = 0; peak != NULL && r < work->rank; ++r)
    peak[r] = largest_of_parts(work, parts, r);
}

/* The least power of two that is no less than a positive number. */
static double power_of_two_above(double number) {
  int exponent;
  double mantissa = frexp(number, &exponent);
  return ldexp(1, mantissa == 0.5 ? exponent - 1 : exponent);
}

void pd_cpu_choose_divisors(struct pd_linalg_work *work, const struct pd_update *update) {
  for (size_t r = 0; r < work->rank; ++r) {
    work->divided[r] = 1;
    if (update->scaling == PD_SCALE_AS_BEFORE) {
      double most =
          ((const double *)update->weights->data)[r] * ((const double *)update->peak->data)[r];
      if (most > 1 && most <= MOST_DIVISOR) work->divided[r] = power_of_two_above(most);
    }
    work->reciprocal[r] = 1 / work->divided[r];
  }
}

/* The sum of the parts' inner products of a column, in the order of the parts. */
static double inner_of_column(const struct pd_linalg_work *work, int parts, size_t r) {
  double column = 0;
  for (int p = 0; p < parts; ++p)
    column += work->part[p].inner[r];
  return column;
}

/* The sum over the columns of their inner products times their weights. */
static double collect_inner(const struct pd_linalg_work *work, int parts, const double *weight) {
  double sum = 0;
  for (size_t r = 0; r < work->rank; ++r)
    sum += weight[r] * inner_of_column(work, parts, r);
  return sum;
}

static void collect_squares(struct pd_linalg_work *work, int parts) {
  for (size_t r = 0; r < work->rank; ++r) {
    work->squares[r] = 0;
    for (int p = 0; p < parts; ++p)
      work->squares[r] += work->part[p].squares[r];
  }
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

/* The rows of one part, in blocks that stay in the cache until all that is needed of them is
 * known. */
static void update_part(struct pd_linalg_work *work, const struct pd_update *update,
                        const struct pd_cpu_rows *how, int p, int parts) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(update->x->type);
  const struct pd_matrix *x = update->x;
  const double *slices = update->slices != NULL ? update->slices->data : NULL;
  struct pd_cpu_part *part = &work->part[p];
  size_t rank = work->rank;
  double *tile = cpu_rows_tile_of(work);
  bool divides = update->scaling == PD_SCALE_AS_BEFORE && !how->divides;
  uint64_t block = cpu_rows_block_rows(x), end = pd_part_begin(x->rows, p + 1, parts);
  clear_part(work, part);
  for (uint64_t row = pd_part_begin(x->rows, p, parts); row < end; row += block) {
    uint64_t rows = end - row < block ? end - row : block;
    void *to = pd_cpu_row(x, row);
    const void *before = update->before != NULL ? pd_cpu_row(update->before, row) : NULL;
    how->function(kernels, how->user, rows, rank, pd_cpu_row(how->m, row), before, to, part->inner,
                  tile);
    if (divides) kernels->scale(rows, rank, work->reciprocal, to);
    kernels->largest(rows, rank, to, part->largest);
    if (slices != NULL) kernels->squares(rows, rank, slices + row, to, part->squares);
    kernels->gram(rows, rank, to, part->gram, tile);
  }
}

void pd_cpu_update_rows(struct pd_linalg_work *work, const struct pd_update *update,
                        const struct pd_cpu_rows *rows) {
  int parts = parts_of_rows(work, update->x->rows), threads = part_threads(work, update->x, parts);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < parts; ++p)
    update_part(work, update, rows, p, parts);
  for (size_t r = 0; r < work->rank; ++r)
    work->weighed[r] = rows->divides ? work->divided[r] : 1;
}

/* What is stored is rounded, and so is its largest entry. */
static double cpu_rows_stored(polyad_type type, double number) {
  return type == POLYAD_F32 ? (double)(float)number : number;
}

/* Divides columns by their norms. */
static void normalize_columns(struct pd_linalg_work *work, const struct pd_update *update) {
  double *lambda = update->lambda->data, *peak = update->peak->data, *gram = update->gram->data;
  double *factor = work->numbers;
  for (size_t r = 0; r < work->rank; ++r) {
    lambda[r] = sqrt(gram[r * work->rank + r]);
    factor[r] = lambda[r] > 0 ? 1 / lambda[r] : 1;
    if (lambda[r] > 0 && pd_team_is_mixed(work->team)) lambda[r] = 1 / factor[r]; /* as GPUs do */
    peak[r] = cpu_rows_stored(update->x->type, peak[r] * factor[r]);
    work->squares[r] *= factor[r] * factor[r];
  }
  scale_gram(work->rank, factor, gram);
  pd_cpu_scale(work, update->x, factor);
}

/* Adds up the members' sums in a mixed team. Its inner products are with x as it is stored. Where
 * the parts' products are with x before its columns were divided they are divided here, by powers
 * of two. */
static polyad_status share_mixed_sums(polyad_context *context, struct pd_linalg_work *work,
                                      const struct pd_update *update, int parts) {
  struct pd_cpu_sums sums = {
      .gram = update->gram->data,
      .column = {[PD_SUM_INNER] = work->numbers, [PD_SUM_LARGEST] = update->peak->data}};
  double inner = 0;
  if (update->slices != NULL) sums.column[PD_SUM_SQUARE] = work->squares;
  for (size_t r = 0; r < work->rank; ++r)
    work->numbers[r] = inner_of_column(work, parts, r) * work->weighed[r] * work->reciprocal[r];
  PD_TRY(pd_cpu_share_mixed(context, work, &sums));
  for (size_t r = 0; r < work->rank; ++r)
    inner += work->divided[r] * work->numbers[r];
  work->scalars[PD_SCALAR_INNER] = inner;
  return POLYAD_OK;
}

/* Adds up what the members of a team have found for their own rows. */
static polyad_status share_sums(polyad_context *context, struct pd_linalg_work *work,
                                const struct pd_update *update, int parts) {
  uint64_t rank = work->rank;
  if (work->team == NULL) return POLYAD_OK;
  if (work->team->mixed) return share_mixed_sums(context, work, update, parts);
  PD_TRY(pd_team_sum(context, work->team, rank * rank, update->gram->data));
  PD_TRY(pd_team_sum(context, work->team, 1, &work->scalars[PD_SCALAR_INNER]));
  if (update->slices != NULL) PD_TRY(pd_team_sum(context, work->team, rank, work->squares));
  return pd_team_max(context, work->team, rank, update->peak->data);
}

static polyad_status finish_one(polyad_context *context, const struct pd_update *update) {
  struct pd_linalg_work *work = update->work;
  int parts = parts_of_rows(work, update->x->rows);
  double *lambda = update->lambda->data, *peak = update->peak->data;
  collect_gram(work, parts, update->gram->data);
  work->scalars[PD_SCALAR_INNER] = collect_inner(work, parts, work->weighed);
  if (update->slices != NULL) collect_squares(work, parts);
  for (size_t r = 0; r < work->rank; ++r)
    peak[r] = largest_of_parts(work, parts, r);
  PD_TRY(share_sums(context, work, update, parts));
  for (size_t r = 0; r < work->rank; ++r)
    lambda[r] = peak[r] > 0 ? work->divided[r] : 0;
  if (update->scaling == PD_SCALE_NORM_2) normalize_columns(work, update);
  return POLYAD_OK;
}

polyad_status pd_cpu_update_finish(polyad_context *context, int runs,
                                   const struct pd_update *updates) {
  for (int k = 0; k < runs; ++k)
    PD_TRY(finish_one(context, &updates[k]));
  return POLYAD_OK;
}

/* Sums over the rows i of each part, for every column r: of m(i,r) x(i,r), or of of_row(i) x(i,r)^2
 * where m is NULL. Returns the number of parts. */
static int sum_parts(struct pd_linalg_work *work, const struct pd_matrix *m, const double *of_row,
                     const struct pd_matrix *x) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  int parts = parts_of_rows(work, x->rows), threads = part_threads(work, x, parts);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < parts; ++p) {
    struct pd_cpu_part *part = &work->part[p];
    uint64_t begin = pd_part_begin(x->rows, p, parts);
    uint64_t rows = pd_part_begin(x->rows, p + 1, parts) - begin;
    clear_part(work, part);
    if (m != NULL)
      kernels->inner(rows, work->rank, pd_cpu_row(m, begin), pd_cpu_row(x, begin), part->inner);
    else
      kernels->squares(rows, work->rank, of_row + begin, pd_cpu_row(x, begin), part->squares);
  }
  return parts;
}

void pd_cpu_weighted_inner(struct pd_linalg_work *work, const struct pd_matrix *m,
                           const struct pd_matrix *x, const double *weight) {
  int parts = sum_parts(work, m, NULL, x);
  work->scalars[PD_SCALAR_INNER] = collect_inner(work, parts, weight);
}

void pd_cpu_weighted_squares(struct pd_linalg_work *work, const double *of_row,
                             const struct pd_matrix *x) {
  collect_squares(work, sum_parts(work, NULL, of_row, x));
}

polyad_status pd_cpu_share_inner(polyad_context *context, struct pd_linalg_work *work,
                                 const struct pd_matrix *x, const double *weight) {
  const struct pd_cpu_sums sums = {.column[PD_SUM_INNER] = work->numbers};
  int parts = parts_of_rows(work, x->rows);
  double sum = 0;
  for (size_t r = 0; r < work->rank; ++r)
    work->numbers[r] = inner_of_column(work, parts, r);
  PD_TRY(pd_cpu_share_mixed(context, work, &sums));
  for (size_t r = 0; r < work->rank; ++r)
    sum += weight[r] * work->numbers[r];
  work->scalars[PD_SCALAR_INNER] = sum;
  return POLYAD_OK;
}
