/* Completion by alternating least squares. A row of a factor has normal equations of its own, from
 * its observations alone (row_system.h); with biases the row's bias is one more unknown, whose
 * entry of h is 1. Rows are solved in parallel. The sums of a row that is too long for one thread
 * are those of its pieces, added in their order. */
#include "algorithms/complete_state.h"
#include <math.h>
#include <omp.h>
#include <string.h>

/* The equations of observations [first, first + count) of the mode's order. */
static void add_equations(const struct pd_complete *c, int mode, uint64_t first, uint64_t count,
                          struct pd_row_system *system) {
  const struct pd_observations *o = c->seen;
  const struct pd_observed_rows *rows = &o->rows[mode];
  for (uint64_t done = 0; done < count; done += PD_TILE_ROWS) {
    int some = count - done < PD_TILE_ROWS ? (int)(count - done) : PD_TILE_ROWS;
    for (int j = 0; j < some; ++j) {
      uint64_t p = first + done + (uint64_t)j, q = pd_observed_place(rows, p);
      double *h = system->rows + (size_t)j * c->columns;
      double known = pd_complete_multiply(c, mode, p, h);
      if (pd_complete_has_biases(c)) h[c->rank] = 1;
      system->values[j] = o->value[q] - known;
      if (o->weight == NULL) continue;
      double root = sqrt(o->weight[q]);
      system->values[j] *= root;
      for (size_t r = 0; r < c->columns; ++r)
        h[r] *= root;
    }
    pd_row_system_add(system, some);
  }
}

static void sum_pieces(const struct pd_complete *c, int mode) {
  const struct pd_observed_rows *rows = &c->seen->rows[mode];
  size_t numbers = pd_row_sums(&c->system[0]);
#pragma omp parallel for num_threads(c->threads) schedule(dynamic, 1)
  for (uint64_t k = 0; k < rows->pieces; ++k) {
    struct pd_row_system *system = &c->system[omp_get_thread_num()];
    const struct pd_piece *piece = &rows->piece[k];
    pd_row_system_begin(system);
    add_equations(c, mode, piece->first, piece->count, system);
    memcpy(c->sums + k * numbers, system->gram, numbers * sizeof *c->sums);
  }
}

/* Returns whether the equations had to be regularised. */
static bool complete_als_solve_row(const struct pd_complete *c, int mode, uint64_t i,
                                   struct pd_row_system *system) {
  const struct pd_observed_rows *rows = &c->seen->rows[mode];
  uint64_t count = pd_observed_count(rows, i), place = pd_observed_long_row(rows, i);
  double *x = pd_complete_row(c, mode, i);
  if (count == 0) {
    memset(x, 0, c->columns * sizeof *x);
    return false;
  }
  pd_row_system_begin(system);
  if (place == UINT64_MAX) {
    add_equations(c, mode, rows->start[i], count, system);
  } else {
    for (uint64_t k = rows->first_piece[place]; k < rows->first_piece[place + 1]; ++k)
      pd_row_system_add_sums(system, c->sums + k * pd_row_sums(system));
  }
  for (size_t r = 0; r < c->columns; ++r)
    system->ridge[r] = pd_complete_ridge(c, r == c->rank, count);
  if (!c->options->nonnegative) return pd_row_system_solve(system, system->ridge, x);
  pd_row_system_solve_bounded(system, system->ridge, c->rank, x);
  return false;
}

static void complete_als_solve_mode(struct pd_complete *c, int mode) {
  uint64_t fallbacks = 0;
  sum_pieces(c, mode);
#pragma omp parallel num_threads(c->threads) reduction(+ : fallbacks)
  {
    struct pd_row_system *system = &c->system[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 4)
    for (uint64_t i = 0; i < c->seen->dims[mode]; ++i)
      fallbacks += complete_als_solve_row(c, mode, i, system);
  }
  c->fallbacks += fallbacks;
}

polyad_status pd_complete_iterate_als(struct pd_complete *c, double *seconds) {
  for (int n = 0; n < c->order; ++n) {
    double began = pd_seconds();
    complete_als_solve_mode(c, n);
    seconds[n] = pd_seconds() - began;
  }
  return POLYAD_OK;
}
