/* CCD++ (Yu, Hsieh, Si and Dhillon 2012): least squares for one component after the other. With the
 * residuals e of all observations without the component at hand, entry (i, r) of a factor has the
 * best value
 *
 *   a = sum of w h e / (ridge + sum of w h^2)
 *
 * over the observations of row i, where h is the product of the other factors' entries. The
 * component is added to the residuals before its modes are visited, and taken away after. A bias is
 * a component of one mode, with h = 1. The columns are copied out of the factors, since their
 * entries alone are read again and again. */
#include "linalg/completion_cpu.h"

/* One column of every factor, in one mode. */
struct update {
  struct pd_completion_work *work;
  const struct pd_completed *model;
  int mode;
  bool bias; /* the column of this mode stands alone */
};

/* Sums over some observations of a row. */
struct sums {
  double slope, square; /* of w h e and of w h^2 */
};

/* The columns whose entries are multiplied, and the indices of observations in them. */
struct columns {
  int count;
  const double *column[POLYAD_MAX_ORDER];
  const uint32_t *index[POLYAD_MAX_ORDER];
};

static void add_column(struct columns *columns, const double *column, const uint32_t *index) {
  columns->column[columns->count] = column;
  columns->index[columns->count++] = index;
}

/* `count` is columns->count, as a constant where loops are to be unrolled. */
static inline __attribute__((always_inline)) double product_at(const struct columns *columns,
                                                               int count, uint64_t p) {
  double product = 1;
  for (int k = 0; k < count; ++k)
    product *= columns->column[k][columns->index[k][p]];
  return product;
}

static inline __attribute__((always_inline)) void shift_range(const struct columns *columns,
                                                              int count, double sign,
                                                              uint64_t first, uint64_t end,
                                                              double *residual) {
  for (uint64_t q = first; q < end; ++q)
    residual[q] += sign * product_at(columns, count, q);
}

/* residual += sign times the component. */
static void shift_residuals(const struct update *u, double sign) {
  enum { CHUNK = 1 << 12 };
  const struct pd_observations *o = u->work->job.seen;
  struct columns columns = {0};
  for (int n = 0; n < o->order; ++n)
    if (n == u->mode || !u->bias) add_column(&columns, u->work->column[n], o->cell[n]);
#pragma omp parallel for num_threads(u->work->job.threads) schedule(static)
  for (uint64_t first = 0; first < o->count; first += CHUNK) {
    uint64_t end = o->count - first < CHUNK ? o->count : first + CHUNK;
    if (columns.count == 3)
      shift_range(&columns, 3, sign, first, end, u->work->residual);
    else if (columns.count == 4)
      shift_range(&columns, 4, sign, first, end, u->work->residual);
    else
      shift_range(&columns, columns.count, sign, first, end, u->work->residual);
  }
}

/* Observations of a row's, in two sums that do not wait for each other. */
static inline __attribute__((always_inline)) struct sums add_up_range(const struct update *u,
                                                                      const struct columns *columns,
                                                                      int count, uint64_t first,
                                                                      uint64_t end) {
  const struct pd_observations *o = u->work->job.seen;
  const struct pd_observed_rows *rows = &o->rows[u->mode];
  const double *residual = u->work->residual;
  struct sums sums[2] = {{0}};
  for (uint64_t p = first; p < end; ++p) {
    uint64_t q = pd_observed_place(rows, p);
    double h = product_at(columns, count, p), weighted = pd_observed_weight(o, q) * h;
    sums[p % 2].slope += weighted * residual[q];
    sums[p % 2].square += weighted * h;
  }
  return (struct sums){.slope = sums[0].slope + sums[1].slope,
                       .square = sums[0].square + sums[1].square};
}

static struct sums add_up_products(const struct update *u, uint64_t first, uint64_t count) {
  const struct pd_observations *o = u->work->job.seen;
  struct columns columns = {0};
  for (int n = 0; n < o->order && !u->bias; ++n)
    if (n != u->mode) add_column(&columns, u->work->column[n], o->rows[u->mode].index[n]);
  if (columns.count == 2) return add_up_range(u, &columns, 2, first, first + count);
  if (columns.count == 3) return add_up_range(u, &columns, 3, first, first + count);
  return add_up_range(u, &columns, columns.count, first, first + count);
}

static void set_row_entry(const struct update *u, uint64_t i, struct sums sums) {
  uint64_t count = pd_observed_count(&u->work->job.seen->rows[u->mode], i);
  double *x = &u->work->column[u->mode][i];
  double square = sums.square + pd_completed_ridge(u->model, u->bias, count);
  if (count == 0)
    *x = 0;
  else if (square > 0)
    *x = sums.slope / square;
  if ((u->model->nonnegative >> u->mode & 1) && !u->bias && *x < 0) *x = 0;
}

/* Rows in pieces: the pieces in parallel, then their sums in order. */
static void update_long_rows(const struct update *u) {
  const struct pd_observed_rows *rows = &u->work->job.seen->rows[u->mode];
  struct sums *sums = (struct sums *)u->work->sums;
#pragma omp parallel for num_threads(u->work->job.threads) schedule(dynamic, 1)
  for (uint64_t k = 0; k < rows->pieces; ++k)
    sums[k] = add_up_products(u, rows->piece[k].first, rows->piece[k].count);
  for (uint64_t l = 0; l < rows->long_rows; ++l) {
    struct sums sum = {0};
    for (uint64_t k = rows->first_piece[l]; k < rows->first_piece[l + 1]; ++k) {
      sum.slope += sums[k].slope;
      sum.square += sums[k].square;
    }
    set_row_entry(u, rows->long_row[l], sum);
  }
}

static void update_column(const struct update *u) {
  const struct pd_observed_rows *rows = &u->work->job.seen->rows[u->mode];
  uint64_t dim = u->model->factor[u->mode].rows;
  update_long_rows(u);
#pragma omp parallel for num_threads(u->work->job.threads) schedule(dynamic, 16)
  for (uint64_t i = 0; i < dim; ++i)
    if (rows->long_rows == 0 || pd_observed_long_row(rows, i) == UINT64_MAX)
      set_row_entry(u, i, add_up_products(u, rows->start[i], pd_observed_count(rows, i)));
}

static void copy_column(const struct update *u, int mode, size_t r, bool back) {
  double *column = u->work->column[mode];
  for (uint64_t i = 0; i < u->model->factor[mode].rows; ++i) {
    double *x = pd_completed_row(u->model, mode, i) + r;
    if (back)
      *x = column[i];
    else
      column[i] = *x;
  }
}

polyad_status pd_completion_solve_component(polyad_context *context,
                                            struct pd_completion_work *work,
                                            const struct pd_completed *model, size_t r) {
  struct update u = {.work = work, .model = model, .bias = r == model->rank};
  (void)context;
  if (!work->stands) pd_completion_residuals(work, model);
  for (int n = 0; n < model->order; ++n)
    copy_column(&u, n, r, false);
  if (!u.bias) shift_residuals(&u, 1);
  for (u.mode = 0; u.mode < model->order; ++u.mode) {
    if (u.bias) shift_residuals(&u, 1);
    update_column(&u);
    if (u.bias) shift_residuals(&u, -1);
  }
  u.mode = 0;
  if (!u.bias) shift_residuals(&u, -1);
  for (int n = 0; n < model->order; ++n)
    copy_column(&u, n, r, true);
  return POLYAD_OK;
}
