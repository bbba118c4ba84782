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
#include <string.h>

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

/* residual += sign times the component. */
static void shift_residuals(const struct update *u, double sign) {
  const struct pd_observations *o = u->work->job.seen;
  double *const *column = u->work->column;
#pragma omp parallel for num_threads(u->work->job.threads) schedule(static)
  for (uint64_t q = 0; q < o->count; ++q) {
    double product = sign * column[u->mode][o->cell[u->mode][q]];
    for (int n = 0; n < o->order && !u->bias; ++n)
      if (n != u->mode) product *= column[n][o->cell[n][q]];
    u->work->residual[q] += product;
  }
}

static struct sums add_up_products(const struct update *u, uint64_t first, uint64_t count) {
  const struct pd_observations *o = u->work->job.seen;
  const struct pd_observed_rows *rows = &o->rows[u->mode];
  struct sums sums = {0};
  for (uint64_t p = first; p < first + count; ++p) {
    uint64_t q = pd_observed_place(rows, p);
    double h = 1;
    for (int n = 0; n < o->order && !u->bias; ++n)
      if (n != u->mode) h *= u->work->column[n][rows->index[n][p]];
    double weighted = pd_observed_weight(o, q) * h;
    sums.slope += weighted * u->work->residual[q];
    sums.square += weighted * h;
  }
  return sums;
}

static void set_row_entry(const struct update *u, uint64_t i, struct sums sums) {
  uint64_t count = pd_observed_count(&u->work->job.seen->rows[u->mode], i);
  double *x = &u->work->column[u->mode][i];
  double square = sums.square + pd_completed_ridge(u->model, u->bias, count);
  if (count == 0)
    *x = 0;
  else if (square > 0)
    *x = sums.slope / square;
  if (u->model->nonnegative && !u->bias && *x < 0) *x = 0;
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
