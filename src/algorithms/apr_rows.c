/* Solves a small problem for every row of every factor, the rows spread over threads: a row's
 * nonzeros come from the plan's storage (plan/rows.h), with their rows of Pi, the products of the
 * other factors' rows; the method's solver improves the row; the log-likelihood is summed from the
 * rows of the last mode. Beside that the steps that all such solvers take: the gradient, the
 * variables that the bound holds, and the search along a direction. */
#include "algorithms/apr_rows.h"
#include "algorithms/apr_there.h"
#include "core/numbers.h"
#include "core/threads.h"
#include "linalg/newton_rules.h"
#include "plan/rows.h"
#include <math.h>
#include <omp.h>
#include <string.h>

struct pd_apr_rows {
  struct pd_plan_rows *nonzeros;
  uint64_t longest; /* nonzeros of the fullest row of any mode */
  int threads;
  struct pd_apr_row *row; /* one per thread */
  double *memory;         /* theirs */
  double *logarithms;     /* of each row of the last mode */
};

/* ---- making ----------------------------------------------------------------------------- */

static uint64_t apr_rows_numbers_per_thread(const struct pd_apr *apr,
                                            const struct pd_apr_rows *rows) {
  uint64_t rank = apr->options->rank;
  uint64_t numbers = pd_mul_saturated(rows->longest, pd_add_saturated(rank, 2));
  numbers = pd_add_saturated(numbers, pd_mul_saturated(rank, 5));
  return pd_add_saturated(numbers, pd_apr_row_extra(apr->options));
}

static polyad_status apr_rows_create_scratch(struct pd_apr *apr, struct pd_apr_rows *rows) {
  uint64_t numbers = apr_rows_numbers_per_thread(apr, rows), rank = apr->options->rank;
  rows->threads = pd_kernel_threads(apr->context, apr->plan->nnz, rank);
  uint64_t total = pd_mul_saturated(numbers, (uint64_t)rows->threads);
  PD_TRY(pd_memory_check(apr->context, pd_mul_saturated(total, sizeof(double)),
                         "the rows that are solved at once"));
  PD_TRY(PD_NEW(apr->context, total, &rows->memory));
  PD_TRY(PD_NEW_ZERO(apr->context, (uint64_t)rows->threads, &rows->row));
  for (int t = 0; t < rows->threads; ++t) {
    double *next = rows->memory + (uint64_t)t * numbers;
    struct pd_apr_row *row = &rows->row[t];
    row->rank = (size_t)rank;
    row->loss = (struct pd_loss){PD_LOSS_POISSON, apr->options->epsilon};
    row->pi = next;
    row->x = (next += rows->longest * rank);
    row->dots = (next += rows->longest);
    row->m = (next += rows->longest);
    row->gradient = (next += rank);
    row->phi = (next += rank);
    row->direction = (next += rank);
    row->next = (next += rank);
    row->extra = next + rank;
    PD_TRY(pd_row_reader_create(apr->context, &row->reader));
  }
  return POLYAD_OK;
}

static polyad_status apr_rows_fill(struct pd_apr *apr, struct pd_apr_rows *rows) {
  PD_TRY(PD_NEW_ZERO(apr->context, apr->plan->dims[apr->order - 1], &rows->logarithms));
  if (apr->there != NULL) return POLYAD_OK; /* the device has the rest */
  PD_TRY(pd_plan_rows_create(apr->context, apr->plan, &rows->nonzeros));
  for (int n = 0; n < apr->order; ++n)
    if (apr->plan->longest_row[n] > rows->longest) rows->longest = apr->plan->longest_row[n];
  return apr_rows_create_scratch(apr, rows);
}

polyad_status pd_apr_rows_create(struct pd_apr *apr, struct pd_apr_rows **out) {
  struct pd_apr_rows *rows = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(apr->context, 1, &rows));
  polyad_status status = apr_rows_fill(apr, rows);
  if (status != POLYAD_OK) {
    pd_apr_rows_destroy(apr->context, rows);
    return status;
  }
  *out = rows;
  return POLYAD_OK;
}

void pd_apr_rows_destroy(polyad_context *context, struct pd_apr_rows *rows) {
  if (rows == NULL) return;
  pd_plan_rows_destroy(context, rows->nonzeros);
  for (int t = 0; t < rows->threads && rows->row != NULL; ++t)
    pd_row_reader_destroy(context, rows->row[t].reader);
  PD_FREE(context, rows->row, rows->memory, rows->logarithms, rows);
}

/* ---- solving ---------------------------------------------------------------------------- */

/* The rows of Pi of a part of the row's nonzeros. */
static void apr_rows_multiply_rows(const struct pd_apr *apr, int mode,
                                   const struct pd_row_part *part, size_t rank, double *pi) {
  for (int k = 0; k < part->count; ++k, pi += rank) {
    for (size_t r = 0; r < rank; ++r)
      pi[r] = 1;
    for (int n = 0; n < apr->order; ++n) {
      if (n == mode) continue;
      uint64_t at = part->index[n][k] * rank;
      for (size_t r = 0; r < rank; ++r)
        pi[r] *= pd_load(apr->factor[n].type, apr->factor[n].data, at + r);
    }
  }
}

/* The values and rows of Pi of the row's nonzeros, and its row of B. */
static void apr_rows_gather(const struct pd_apr *apr, int mode, uint64_t i,
                            struct pd_apr_row *row) {
  const struct pd_plan_rows *nonzeros = apr->rows->nonzeros;
  row->count = pd_plan_row_length(nonzeros, mode, i);
  for (uint64_t j = 0; j < row->count;) {
    struct pd_row_part part = pd_row_read(nonzeros, row->reader, mode, i, j);
    memcpy(row->x + j, part.value, (size_t)part.count * sizeof *row->x);
    apr_rows_multiply_rows(apr, mode, &part, row->rank, row->pi + j * row->rank);
    j += (uint64_t)part.count;
  }
  for (size_t r = 0; r < row->rank; ++r)
    row->m[r] = pd_load(apr->factor[mode].type, apr->factor[mode].data, i * row->rank + r);
}

static void put_back(const struct pd_apr *apr, int mode, uint64_t i, const struct pd_apr_row *row) {
  for (size_t r = 0; r < row->rank; ++r) {
    uint64_t at = i * row->rank + r;
    pd_store(apr->factor[mode].type, apr->factor[mode].data, at, row->m[r]);
  }
}

static double log_sum(struct pd_apr_row *row, const double *m) {
  const struct pd_row_terms terms = pd_apr_row_terms(row);
  double sum = 0;
  pd_row_models(&terms, m, row->dots);
  pd_row_run(&PD_LIKELIHOOD, &terms, NULL, &sum);
  return sum;
}

/* One row; empty ones are zero. */
static struct pd_apr_row_result apr_rows_solve(const struct pd_apr *apr, int mode, uint64_t i,
                                               pd_apr_row_solver *solver, struct pd_apr_row *row) {
  struct pd_apr_row_result result = {0};
  apr_rows_gather(apr, mode, i, row);
  if (row->count == 0)
    memset(row->m, 0, row->rank * sizeof *row->m);
  else
    result = solver(apr, row);
  put_back(apr, mode, i, row);
  if (mode == apr->order - 1) apr->rows->logarithms[i] = log_sum(row, row->m);
  return result;
}

/* Rows need very different times, so whoever is free takes the next few; no row depends on another,
 * and what is added up is whole numbers. */
static void apr_rows_solve_mode(struct pd_apr *apr, int mode, pd_apr_row_solver *solver,
                                struct pd_newton_found *found) {
  struct pd_apr_rows *rows = apr->rows;
  double kkt = 0;
  uint64_t inner = 0;
  int changed = 0, lost = 0;
  int64_t dim = (int64_t)apr->plan->dims[mode];
#pragma omp parallel num_threads(rows->threads) reduction(max : kkt) reduction(+ : inner)          \
    reduction(| : changed, lost)
  {
    struct pd_apr_row *row = &rows->row[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 4)
    for (int64_t i = 0; i < dim; ++i) {
      struct pd_apr_row_result result = apr_rows_solve(apr, mode, (uint64_t)i, solver, row);
      kkt = result.kkt > kkt ? result.kkt : kkt;
      lost |= isnan(result.kkt);
      inner += result.inner;
      changed |= result.changed;
    }
  }
  *found = (struct pd_newton_found){lost ? NAN : kkt, inner, changed != 0};
}

static polyad_status apr_rows_solve_all(struct pd_apr *apr, int mode, pd_apr_row_solver *solver) {
  struct pd_apr_result *result = &apr->result;
  struct pd_newton_found found = {0};
  if (apr->there != NULL)
    PD_TRY(pd_apr_there_solve(apr, apr->there, mode, apr->rows->logarithms, &found));
  else
    apr_rows_solve_mode(apr, mode, solver, &found);
  if (!(found.kkt <= result->kkt)) result->kkt = found.kkt;
  result->inner += found.inner;
  result->converged = result->converged && !found.changed;
  return POLYAD_OK;
}

/* Fails where a number has been lost: the norms of the columns tell of all entries. */
static polyad_status check_columns_finite(struct pd_apr *apr, int mode, bool lost) {
  PD_TRY(pd_matrix_to_host(apr->context, &apr->lambda, apr->host_lambda));
  for (uint64_t r = 0; r < apr->lambda.columns; ++r)
    lost = lost || !isfinite(apr->host_lambda[r]);
  if (!lost) return POLYAD_OK;
  return pd_fail(apr->context, POLYAD_NUMERICAL,
                 "iteration %d gives numbers that are not finite in mode %d; scale the tensor's "
                 "values or the initial model",
                 apr->run.iteration + 1, pd_shown_mode(apr->context, mode));
}

static polyad_status apr_rows_update_mode(struct pd_apr *apr, int mode, pd_apr_row_solver *solver) {
  double clock;
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr->linalg->weigh(apr->context, apr->work, NULL, 0, 0, &apr->lambda, &apr->factor[mode]));
  PD_TRY(pd_apr_tock(apr, clock, PD_APR_MU, mode));
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr_rows_solve_all(apr, mode, solver));
  PD_TRY(pd_apr_tock(apr, clock, PD_APR_PHI, mode));
  PD_TRY(check_columns_finite(apr, mode, isnan(apr->result.kkt)));
  PD_TRY(pd_apr_tick(apr, &clock));
  PD_TRY(apr->linalg->normalize(apr->context, apr->work, PD_SCALE_NORM_1, &apr->factor[mode],
                                &apr->lambda));
  PD_TRY(check_columns_finite(apr, mode, false));
  return pd_apr_tock(apr, clock, PD_APR_MU, mode);
}

polyad_status pd_apr_rows_iterate(struct pd_apr *apr, pd_apr_row_solver *solver) {
  double scalar[1][PD_SCALARS], logarithms = 0;
  apr->result = (struct pd_apr_result){.converged = true};
  for (int n = 0; n < apr->order; ++n)
    PD_TRY(apr_rows_update_mode(apr, n, solver));
  PD_TRY(apr->linalg->fetch(apr->context, 1, &apr->work, scalar));
  for (uint64_t i = 0; i < apr->plan->dims[apr->order - 1]; ++i)
    logarithms += apr->rows->logarithms[i];
  apr->result.log_likelihood = pd_apr_log_likelihood(apr, logarithms, scalar[0][PD_SCALAR_MASS]);
  return POLYAD_OK;
}

double pd_apr_row_gradient(struct pd_apr_row *row) {
  const struct pd_row_terms terms = pd_apr_row_terms(row);
  double kkt = 0;
  pd_row_models(&terms, row->m, row->dots);
  memset(row->phi, 0, row->rank * sizeof *row->phi);
  pd_row_run(&PD_GRADIENT(row->loss), &terms, NULL, row->phi);
  for (size_t r = 0; r < row->rank; ++r) {
    row->gradient[r] = 1 - row->phi[r];
    double size = fabs(fmin(row->m[r], row->gradient[r]));
    if (!(size <= kkt)) kkt = size;
    if (isnan(row->m[r]) || isnan(row->gradient[r])) return NAN;
  }
  return kkt;
}

void pd_apr_row_active(const struct pd_apr_row *row, double active_tolerance, bool *active) {
  double square = 0;
  for (size_t r = 0; r < row->rank; ++r) {
    double moved = fmax(row->m[r] - row->gradient[r], 0);
    square += (row->m[r] - moved) * (row->m[r] - moved);
  }
  double near = fmin(active_tolerance, sqrt(square));
  for (size_t r = 0; r < row->rank; ++r)
    active[r] = row->gradient[r] > 0 && row->m[r] <= near;
}

/* ---- the search along a direction -------------------------------------------------------- */

static double total(const double *numbers, size_t count) {
  double sum = 0;
  for (size_t r = 0; r < count; ++r)
    sum += numbers[r];
  return sum;
}

static double objective(struct pd_apr_row *row, const double *m) {
  return total(m, row->rank) - log_sum(row, m);
}

/* next = max(m + step * direction, 0); returns the decrease that the gradient promises. */
static double take_step(struct pd_apr_row *row, double step) {
  double slope = 0;
  for (size_t r = 0; r < row->rank; ++r) {
    double value = row->m[r] + step * row->direction[r];
    row->next[r] = value > 0 ? value : 0;
    slope += row->gradient[r] * (row->next[r] - row->m[r]);
  }
  return slope;
}

struct pd_apr_search pd_apr_row_search(struct pd_apr_row *row) {
  struct pd_apr_search found = {.before = objective(row, row->m), .unit = INFINITY};
  double step = 1, value = INFINITY;
  int tried = 0;
  bool enough = false;
  for (; tried < PD_NEWTON_STEPS && !enough; ++tried, step /= 2) {
    double slope = take_step(row, step);
    bool descends = !(slope > 0) && !pd_newton_vanishes(total(row->next, row->rank));
    value = descends ? objective(row, row->next) : INFINITY;
    if (tried == 0) found.unit = value;
    enough = descends && pd_newton_enough(found.before, value, slope);
  }
  if (isinf(found.unit)) found.unit = found.before;
  if ((!enough && value > found.before) || pd_newton_vanishes(total(row->next, row->rank))) {
    for (size_t r = 0; r < row->rank; ++r)
      row->next[r] = row->m[r] * row->phi[r];
    found.unit = found.before;
  }
  memcpy(row->m, row->next, row->rank * sizeof *row->m);
  return found;
}
