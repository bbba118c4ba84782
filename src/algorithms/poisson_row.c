/* Rows of largest Poisson likelihood, by Newton steps as in the PDNR method of S. Hansen, T.
 * Plantenga and T. G. Kolda (Newton-based optimization for Kullback-Leibler nonnegative tensor
 * factorizations, Optim. Methods Softw. 30, 2015): each step minimises the quadratic model of the
 * row's convex objective over nonnegative rows, damped on the diagonal, and is shortened until the
 * objective falls enough. Variables are scaled by s, so that the gradient is 1 minus a weighted
 * mean of pi. */
#include "algorithms/poisson_row.h"
#include "core/threads.h"
#include "engine/row.h"
#include "linalg/factor_kernels.h"
#include <math.h>
#include <string.h>

enum { TICKS = 1 << 10 };

static const double LEAST_RATE = 1e-300; /* that is divided by */

/* One row's problem, and a thread's memory for it. */
struct row {
  struct pd_quadratic quadratic;
  uint64_t room, count; /* nonzeros, and known counts */
  double *pi, *x;       /* count x R, divided by s; count */
  double *dot, *along;  /* count: rates now, and what a whole step adds to them */
  double *hessian, *gradient, *right, *target; /* R x R, R, R, R */
  double *squares;                             /* padded x padded: what the Hessian is summed in */
  double *tile;                                /* PD_TILE_ROWS x padded: of its kernel */
  double *c;                                   /* R: the row times s */
};

struct job {
  struct pd_stage *stage;
  struct pd_poisson_rows *rows;
  double *sum;     /* R: s, weights in it */
  uint64_t *start; /* dims + 1: where each row's nonzeros begin in place[] */
  uint64_t *place; /* nonzeros, row by row */
  uint64_t longest;
};

/* ---- one row -------------------------------------------------------------------------------- */

/* The products of the other modes' rows. A nonzero at which all are 0 does not depend on the row,
 * and is left out. */
static void read_row(const struct job *job, uint64_t i, struct row *row) {
  const struct pd_poisson_rows *rows = job->rows;
  uint64_t rank = rows->rank;
  row->count = 0;
  for (uint64_t k = job->start[i]; k < job->start[i + 1]; ++k) {
    uint64_t p = job->place[k];
    double *pi = row->pi + row->count * rank, most = 0;
    for (uint64_t r = 0; r < rank; ++r)
      pi[r] = job->sum[r] > 0 ? rows->weight[r] / job->sum[r] : 0;
    for (int n = 0; n < rows->tensor->order; ++n) {
      if (n == rows->mode) continue;
      const double *other = rows->factor[n] + pd_tensor_index(rows->tensor, n, p) * rank;
      for (uint64_t r = 0; r < rank; ++r)
        pi[r] *= other[r];
    }
    for (uint64_t r = 0; r < rank; ++r)
      most = fmax(most, pi[r]);
    if (most > 0) row->x[row->count++] = pd_tensor_value(rows->tensor, p);
  }
  for (uint64_t r = 0; rows->known != NULL && r < rank; ++r) {
    if (!(rows->known[i * rank + r] > 0) || !(job->sum[r] > 0)) continue;
    double *pi = row->pi + row->count * rank;
    memset(pi, 0, rank * sizeof *pi);
    pi[r] = 1;
    row->x[row->count++] = rows->known[i * rank + r];
  }
}

static struct pd_row_terms terms_of(const struct row *row, uint64_t rank) {
  return (struct pd_row_terms){.count = row->count,
                               .rank = (size_t)rank,
                               .stride = (size_t)rank,
                               .product = row->pi,
                               .value = row->x,
                               .model = row->dot};
}

static void find_rates(const struct row *row, uint64_t rank, const double *c, double *rate) {
  const struct pd_row_terms terms = terms_of(row, rank);
  pd_row_models(&terms, c, rate);
}

/* Change of the objective from the rates dot[] to dot[] + step * along[], and of the mass. */
static double poisson_row_change(const struct row *row, double step, double mass) {
  double sum = step * mass;
  for (uint64_t j = 0; j < row->count; ++j) {
    double more = step * row->along[j] / row->dot[j];
    if (!(more > -1)) return INFINITY;
    sum -= row->x[j] * log1p(more);
  }
  return sum;
}

/* The gradient and the Hessian at c; returns the largest violation of the optimality conditions. */
static double differentiate(struct row *row, uint64_t rank, const bool *held, double total) {
  const struct pd_row_terms terms = terms_of(row, rank);
  const struct pd_loss loss = {PD_LOSS_POISSON, LEAST_RATE};
  const size_t padded = pd_padded((size_t)rank);
  double worst = 0;
  memset(row->squares, 0, padded * padded * sizeof(double));
  memset(row->gradient, 0, rank * sizeof(double));
  pd_row_run(&PD_CURVATURE(loss), &terms, row->tile, row->squares);
  pd_row_run(&PD_GRADIENT(loss), &terms, NULL, row->gradient);
  for (uint64_t r = 0; r < rank; ++r) {
    row->gradient[r] = 1 - row->gradient[r];
    for (uint64_t s = 0; s <= r; ++s)
      row->hessian[r * rank + s] = row->hessian[s * rank + r] = row->squares[s * padded + r];
    if (held == NULL || !held[r])
      worst = fmax(worst, fabs(fmin(row->c[r] / total, row->gradient[r])));
  }
  return worst;
}

/* target[] = the minimum of the damped quadratic model over nonnegative rows. */
static void find_target(struct row *row, uint64_t rank, const bool *held, double damping) {
  for (uint64_t r = 0; r < rank; ++r)
    row->hessian[r * rank + r] += damping;
  for (uint64_t r = 0; r < rank; ++r) {
    row->right[r] = -row->gradient[r];
    for (uint64_t s = 0; s < rank; ++s)
      row->right[r] += row->hessian[r * rank + s] * row->c[s];
  }
  memcpy(row->target, row->c, rank * sizeof(double));
  pd_quadratic_set(&row->quadratic, row->hessian);
  pd_quadratic_solve(&row->quadratic, row->right, held, row->target);
}

/* Moves c towards the target; false when no step makes the objective fall. */
static bool poisson_row_move(struct row *row, uint64_t rank, double *length) {
  double slope = 0, mass = 0, step = 1;
  for (uint64_t r = 0; r < rank; ++r) {
    double d = row->target[r] - row->c[r];
    row->target[r] = d;
    slope += d * row->gradient[r];
    mass += d;
  }
  find_rates(row, rank, row->target, row->along);
  while (poisson_row_change(row, step, mass) > 1e-4 * step * slope)
    if ((step /= 2) < 1e-12) return false;
  for (uint64_t r = 0; r < rank; ++r)
    row->c[r] = fmax(0, row->c[r] + step * row->target[r]);
  *length = step;
  return true;
}

/* The error of the optimality conditions. The gradient is 1 minus a sum of x_j pi_j / rate_j, which
 * at the optimum is at most 1: its terms are rounded once for every column in their rates, thrice
 * besides, and once for every term that is added to them. Twice that, since the row itself is
 * rounded, too. */
static double rounding_of(const struct row *row, uint64_t rank) {
  return 2 * 0x1p-53 * ((double)row->count + (double)rank + 3);
}

/* Returns whether the row meets the optimality conditions, to rounding. */
static bool poisson_row_solve(const struct pd_poisson_rows *rows, struct row *row,
                              const bool *held) {
  uint64_t rank = rows->rank;
  double total = 0, step;
  for (uint64_t j = 0; j < row->count; ++j)
    total += row->x[j];
  double damping = 1e-2 / fmax(total, 1e-300);
  for (uint64_t r = 0; r < rank; ++r)
    if (held == NULL || !held[r]) row->c[r] = total / (double)rank;
  if (row->count == 0) return true;
  for (int k = 0; k < rows->max_iterations; ++k) {
    find_rates(row, rank, row->c, row->dot);
    for (uint64_t j = 0; j < row->count; ++j)
      row->dot[j] = fmax(row->dot[j], LEAST_RATE);
    if (differentiate(row, rank, held, total) <= rounding_of(row, rank)) return true;
    find_target(row, rank, held, damping);
    if (!poisson_row_move(row, rank, &step)) return true; /* what is left is rounding error */
    damping *= step == 1 ? 0.1 : step > 0.2 ? 1 : 10;
  }
  return false;
}

/* ---- all rows ------------------------------------------------------------------------------- */

static bool find_row(const struct job *job, uint64_t i, struct row *row, double *a) {
  uint64_t rank = job->rows->rank;
  const bool *held = job->rows->held == NULL ? NULL : job->rows->held + i * rank;
  double *to = a + i * rank;
  read_row(job, i, row);
  for (uint64_t r = 0; r < rank; ++r)
    row->c[r] = to[r] * job->sum[r];
  bool done = poisson_row_solve(job->rows, row, held);
  for (uint64_t r = 0; r < rank; ++r)
    if (held == NULL || !held[r]) to[r] = job->sum[r] > 0 ? row->c[r] / job->sum[r] : 0;
  return done;
}

/* s = the product of the other modes' column sums, and the weights. */
static polyad_status poisson_row_find_sums(struct job *job) {
  const struct pd_poisson_rows *rows = job->rows;
  PD_TRY(PD_NEW(job->stage->context, rows->rank, &job->sum));
  for (uint64_t r = 0; r < rows->rank; ++r) {
    job->sum[r] = rows->weight[r];
    for (int n = 0; n < rows->tensor->order; ++n) {
      double sum = 0;
      for (uint64_t i = 0; n != rows->mode && i < rows->tensor->dims[n]; ++i)
        sum += rows->factor[n][i * rows->rank + r];
      if (n != rows->mode) job->sum[r] *= sum;
    }
  }
  return POLYAD_OK;
}

/* The nonzeros row by row (counting sort). */
static polyad_status sort_rows(struct job *job) {
  const polyad_tensor *tensor = job->rows->tensor;
  int mode = job->rows->mode;
  uint64_t count = tensor->dims[mode];
  PD_TRY(PD_NEW_ZERO(job->stage->context, pd_add_saturated(count, 2), &job->start));
  PD_TRY(PD_NEW(job->stage->context, tensor->nnz, &job->place));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    ++job->start[pd_tensor_index(tensor, mode, p) + 2];
  for (uint64_t i = 0; i < count; ++i) {
    if (job->start[i + 2] > job->longest) job->longest = job->start[i + 2];
    job->start[i + 2] += job->start[i + 1];
  }
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    job->place[job->start[pd_tensor_index(tensor, mode, p) + 1]++] = p;
  return POLYAD_OK;
}

static polyad_status create_row(const struct job *job, struct row *row) {
  polyad_context *context = job->stage->context;
  uint64_t rank = job->rows->rank, room = pd_add_saturated(job->longest, rank);
  PD_TRY(pd_quadratic_create(context, rank, true, &row->quadratic));
  PD_TRY(PD_NEW(context, pd_mul_saturated(room, rank + 3), &row->pi));
  uint64_t padded = pd_padded((size_t)rank);
  PD_TRY(PD_NEW(context, pd_mul_saturated(rank, rank + 4), &row->hessian));
  PD_TRY(PD_NEW(context, pd_mul_saturated(padded, padded + PD_TILE_ROWS), &row->squares));
  row->tile = row->squares + padded * padded;
  row->x = row->pi + room * rank;
  row->dot = row->x + room;
  row->along = row->dot + room;
  row->gradient = row->hessian + rank * rank;
  row->right = row->gradient + rank;
  row->target = row->right + rank;
  row->c = row->target + rank;
  return POLYAD_OK;
}

/* Rows first to last - 1. */
static uint64_t solve_some(const struct job *job, uint64_t first, uint64_t last, int threads,
                           struct row *each, double *a) {
  uint64_t unfinished = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : unfinished)
  for (int t = 0; t < threads; ++t)
    for (uint64_t i = first + (uint64_t)t; i < last; i += (uint64_t)threads)
      unfinished += !find_row(job, i, &each[t], a);
  return unfinished;
}

static polyad_status solve_all(const struct job *job, int threads, struct row *each, double *a) {
  struct pd_poisson_rows *rows = job->rows;
  uint64_t count = rows->tensor->dims[rows->mode];
  for (int t = 0; t < threads; ++t)
    PD_TRY(create_row(job, &each[t]));
  for (uint64_t i = 0; i < count; i += TICKS) {
    PD_TRY(pd_stage_tick(job->stage));
    rows->unfinished += solve_some(job, i, count - i < TICKS ? count : i + TICKS, threads, each, a);
  }
  return POLYAD_OK;
}

polyad_status pd_poisson_check(polyad_context *context, const polyad_tensor *tensor) {
  for (uint64_t k = 0; k < tensor->nnz; ++k)
    if (pd_tensor_value(tensor, k) < 0)
      return pd_fail(context, POLYAD_NUMERICAL,
                     "nonzero %llu is %g; expected no negative number of a poisson model",
                     (unsigned long long)pd_shown(context, k), pd_tensor_value(tensor, k));
  return POLYAD_OK;
}

polyad_status pd_poisson_rows(struct pd_stage *stage, struct pd_poisson_rows *rows, double *a) {
  polyad_context *context = stage->context;
  struct job job = {.stage = stage, .rows = rows};
  struct row *each = NULL;
  polyad_status status = POLYAD_OK;
  int threads = pd_kernel_threads(context, rows->tensor->nnz, rows->rank);
  rows->unfinished = 0;
  PD_TRY_CLEANUP(poisson_row_find_sums(&job));
  PD_TRY_CLEANUP(sort_rows(&job));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, (uint64_t)threads, &each));
  status = solve_all(&job, threads, each, a);
cleanup:
  for (int t = 0; each != NULL && t < threads; ++t) {
    pd_quadratic_clear(context, &each[t].quadratic);
    PD_FREE(context, each[t].pi, each[t].hessian, each[t].squares);
  }
  PD_FREE(context, each, job.place, job.start, job.sum);
  return status;
}
