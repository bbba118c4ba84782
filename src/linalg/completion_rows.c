/* Least squares for every row of a factor. A row has normal equations of its own, from its
 * observations alone (row_system.h); with biases the row's bias is one more unknown, whose entry of
 * h is 1. Rows are solved in parallel. The sums of a row that is too long for one thread are those
 * of its pieces, added in their order. */
#include "linalg/completion_cpu.h"
#include <omp.h>
#include <string.h>

/* The rows of other modes at observation p of the mode's order, and at those after it. */
static struct pd_row_lists other_rows(const struct pd_completed *model,
                                      const struct pd_observed_rows *rows, int mode, uint64_t p) {
  struct pd_row_lists lists = {.stride = model->columns};
  for (int n = 0; n < model->order; ++n) {
    if (n == mode) continue;
    lists.factor[lists.count] = model->factor[n].data;
    lists.index[lists.count++] = rows->index[n] + p;
  }
  return lists;
}

/* What the other modes' biases leave of the values of `count` observations; their entry of h. */
static void take_biases(const struct pd_completed *model, const struct pd_row_lists *lists,
                        int count, struct pd_row_system *system) {
  const size_t rank = model->rank;
  for (int j = 0; j < count; ++j) {
    for (int k = 0; k < lists->count; ++k)
      system->values[j] -=
          ((const double *)lists->factor[k])[lists->index[k][j] * lists->stride + rank];
    system->rows[(size_t)j * system->padded + rank] = 1;
  }
}

/* The equations of observations [first, first + count) of the mode's order. */
static void add_equations(const struct pd_observations *o, const struct pd_completed *model,
                          int mode, uint64_t first, uint64_t count, struct pd_row_system *system) {
  const struct pd_observed_rows *rows = &o->rows[mode];
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  for (uint64_t end = first + count; first < end; first += PD_TILE_ROWS) {
    int some = end - first < PD_TILE_ROWS ? (int)(end - first) : PD_TILE_ROWS;
    const struct pd_row_lists lists = other_rows(model, rows, mode, first);
    kernels->row_products(&lists, (size_t)some, model->rank, system->padded, system->rows);
    for (int j = 0; j < some; ++j)
      system->values[j] = o->value[pd_observed_place(rows, first + (uint64_t)j)];
    for (int j = 0; j < some && o->weight != NULL; ++j)
      system->weights[j] = o->weight[pd_observed_place(rows, first + (uint64_t)j)];
    if (pd_completed_biases(model)) take_biases(model, &lists, some, system);
    pd_row_system_add(system, some, o->weight != NULL);
  }
}

static void sum_pieces(struct pd_completion_work *work, const struct pd_completed *model,
                       int mode) {
  const struct pd_observed_rows *rows = &work->job.seen->rows[mode];
  size_t numbers = pd_row_sums(&work->system[0]);
#pragma omp parallel for num_threads(work->job.threads) schedule(dynamic, 1)
  for (uint64_t k = 0; k < rows->pieces; ++k) {
    struct pd_row_system *system = &work->system[omp_get_thread_num()];
    const struct pd_row_piece *piece = &rows->piece[k];
    pd_row_system_begin(system);
    add_equations(work->job.seen, model, mode, piece->first, piece->count, system);
    memcpy(work->sums + k * numbers, system->gram, numbers * sizeof *work->sums);
  }
}

/* Returns whether the equations had to be regularised. */
static bool completion_solve_row(const struct pd_completion_work *work,
                                 const struct pd_completed *model, int mode, uint64_t i,
                                 struct pd_row_system *system) {
  const struct pd_observed_rows *rows = &work->job.seen->rows[mode];
  uint64_t count = pd_observed_count(rows, i), place = pd_observed_long_row(rows, i);
  double *x = pd_completed_row(model, mode, i);
  if (count == 0) {
    memset(x, 0, model->columns * sizeof *x);
    return false;
  }
  pd_row_system_begin(system);
  if (place == UINT64_MAX) {
    add_equations(work->job.seen, model, mode, rows->start[i], count, system);
  } else {
    for (uint64_t k = rows->first_piece[place]; k < rows->first_piece[place + 1]; ++k)
      pd_row_system_add_sums(system, work->sums + k * pd_row_sums(system));
  }
  for (size_t r = 0; r < model->columns; ++r)
    system->ridge[r] = pd_completed_ridge(model, r == model->rank, count);
  if (!(model->nonnegative >> mode & 1)) return pd_row_system_solve(system, system->ridge, x);
  pd_row_system_solve_bounded(system, system->ridge, model->rank, x);
  return false;
}

polyad_status pd_completion_solve_rows(polyad_context *context, struct pd_completion_work *work,
                                       const struct pd_completed *model, int mode) {
  uint64_t fallbacks = 0, rows = model->factor[mode].rows;
  (void)context;
  sum_pieces(work, model, mode);
#pragma omp parallel num_threads(work->job.threads) reduction(+ : fallbacks)
  {
    struct pd_row_system *system = &work->system[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 4)
    for (uint64_t i = 0; i < rows; ++i)
      fallbacks += completion_solve_row(work, model, mode, i, system);
  }
  work->fallbacks += fallbacks;
  return POLYAD_OK;
}
