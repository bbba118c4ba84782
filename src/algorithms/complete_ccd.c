/* Completion by CCD++ (Yu, Hsieh, Si and Dhillon 2012). With the residuals e of all observations at
 * hand, entry (i, r) of a factor has the best value
 *
 *   a = (sum of w h e + a_before sum of w h^2) / (ridge + sum of w h^2)
 *
 * over the observations of row i, where h is the product of the other factors' entries; then the
 * row's residuals fall by (a - a_before) h. Components are visited one after the other, and in each
 * the modes; biases come last, with h = 1. The columns of the component are copied out of the
 * factors, since its entries alone are read again and again. */
#include "algorithms/complete_state.h"
#include <math.h>
#include <string.h>

/* One column in one mode. */
struct update {
  const struct pd_complete *c;
  const struct pd_observed_rows *rows;
  int mode;
  bool bias;
  double *column[POLYAD_MAX_ORDER]; /* of every mode; of a bias: this mode's alone */
};

/* Sums over some observations of a row. */
struct sums {
  double slope, square; /* of w h e and of w h^2 */
};

static inline double product_at(const struct update *u, uint64_t p) {
  double h = 1;
  for (int n = 0; n < u->c->order && !u->bias; ++n)
    if (n != u->mode) h *= u->column[n][u->rows->index[n][p]];
  return h;
}

static struct sums complete_ccd_add_up(const struct update *u, uint64_t first, uint64_t count) {
  struct sums sums = {0};
  for (uint64_t p = first; p < first + count; ++p) {
    uint64_t q = pd_observed_place(u->rows, p);
    double h = product_at(u, p), weighted = pd_complete_weight(u->c->seen, q) * h;
    sums.slope += weighted * u->c->residual[q];
    sums.square += weighted * h;
  }
  return sums;
}

static void lower_residuals(const struct update *u, uint64_t first, uint64_t count, double change) {
  for (uint64_t p = first; p < first + count && change != 0; ++p)
    u->c->residual[pd_observed_place(u->rows, p)] -= change * product_at(u, p);
}

/* The new entry of a row; returns how much it has changed. */
static double complete_ccd_move(const struct update *u, uint64_t i, struct sums sums) {
  uint64_t count = pd_observed_count(u->rows, i);
  double *x = &u->column[u->mode][i], before = *x;
  double square = sums.square + pd_complete_ridge(u->c, u->bias, count);
  if (count == 0)
    *x = 0;
  else if (square > 0)
    *x = (sums.slope + before * sums.square) / square;
  if (u->c->options->nonnegative && !u->bias && *x < 0) *x = 0;
  return *x - before;
}

/* Pieces of long rows in parallel; then their rows' entries; then their residuals in parallel. */
static void update_long_rows(const struct update *u) {
  const struct pd_observed_rows *rows = u->rows;
  struct sums *sums = (struct sums *)u->c->sums;
  double *change = u->c->sums + 2 * rows->pieces;
#pragma omp parallel for num_threads(u->c->threads) schedule(dynamic, 1)
  for (uint64_t k = 0; k < rows->pieces; ++k)
    sums[k] = complete_ccd_add_up(u, rows->piece[k].first, rows->piece[k].count);
  for (uint64_t l = 0; l < rows->long_rows; ++l) {
    struct sums sum = {0};
    for (uint64_t k = rows->first_piece[l]; k < rows->first_piece[l + 1]; ++k) {
      sum.slope += sums[k].slope;
      sum.square += sums[k].square;
    }
    double moved = complete_ccd_move(u, rows->long_row[l], sum);
    for (uint64_t k = rows->first_piece[l]; k < rows->first_piece[l + 1]; ++k)
      change[k] = moved;
  }
#pragma omp parallel for num_threads(u->c->threads) schedule(dynamic, 1)
  for (uint64_t k = 0; k < rows->pieces; ++k)
    lower_residuals(u, rows->piece[k].first, rows->piece[k].count, change[k]);
}

static void complete_ccd_update_mode(const struct update *u) {
  const struct pd_observed_rows *rows = u->rows;
  update_long_rows(u);
#pragma omp parallel for num_threads(u->c->threads) schedule(dynamic, 16)
  for (uint64_t i = 0; i < u->c->seen->dims[u->mode]; ++i) {
    if (rows->long_rows > 0 && pd_observed_long_row(rows, i) != UINT64_MAX) continue;
    uint64_t first = rows->start[i], count = pd_observed_count(rows, i);
    lower_residuals(u, first, count, complete_ccd_move(u, i, complete_ccd_add_up(u, first, count)));
  }
}

static void complete_ccd_copy_column(const struct pd_complete *c, int mode, size_t r,
                                     double *column, bool back) {
  for (uint64_t i = 0; i < c->seen->dims[mode]; ++i) {
    double *x = pd_complete_row(c, mode, i) + r;
    if (back)
      *x = column[i];
    else
      column[i] = *x;
  }
}

static void update_column(struct pd_complete *c, size_t r, int mode, double *const *column,
                          double *seconds) {
  struct update update = {.c = c, .rows = &c->seen->rows[mode], .mode = mode, .bias = r == c->rank};
  double began = pd_seconds();
  memcpy(update.column, column, (size_t)c->order * sizeof *column);
  complete_ccd_update_mode(&update);
  seconds[mode] += pd_seconds() - began;
}

polyad_status pd_complete_iterate_ccd(struct pd_complete *c, double *seconds) {
  double *column[POLYAD_MAX_ORDER], *at = c->columns_of_one;
  for (int n = 0; n < c->order; ++n) {
    column[n] = at;
    at += c->seen->dims[n];
    seconds[n] = 0;
  }
  if (!c->residual_stands) (void)pd_complete_loss(c, c->seen, c->residual);
  c->residual_stands = false; /* only to rounding, after this */
  for (size_t r = 0; r < c->columns; ++r) {
    for (int n = 0; n < c->order; ++n)
      complete_ccd_copy_column(c, n, r, column[n], false);
    for (int n = 0; n < c->order; ++n)
      update_column(c, r, n, column, seconds);
    for (int n = 0; n < c->order; ++n)
      complete_ccd_copy_column(c, n, r, column[n], true);
  }
  return POLYAD_OK;
}
