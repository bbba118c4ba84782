/* CP-APR by projected quasi-Newton steps (L-BFGS) on the rows (Hansen, Plantenga and Kolda 2015,
 * algorithm 4). Instead of a Hessian the last few steps and changes of the gradient are kept; two
 * loops over them turn the gradient of the variables that the bound does not hold into a direction.
 */
#include "algorithms/apr_rows.h"
#include <math.h>
#include <string.h>

/* The last pairs of steps and changes of the gradient, in row->extra. */
struct memory {
  size_t rank, size;
  size_t count, newest;
  double *step;         /* size x rank */
  double *change;       /* size x rank */
  double *rho;          /* size: 1 / (step . change) */
  double *alpha;        /* size */
  double *m, *gradient; /* before the last step */
  bool *active;
};

static struct memory apr_pqnr_cut_up(const struct pd_apr *apr, const struct pd_apr_row *row) {
  struct memory memory = {.rank = row->rank, .size = (size_t)apr->options->memory};
  double *next = row->extra;
  memory.step = next;
  memory.change = (next += memory.size * row->rank);
  memory.rho = (next += memory.size * row->rank);
  memory.alpha = (next += memory.size);
  memory.m = (next += memory.size);
  memory.gradient = (next += row->rank);
  memory.active = (bool *)(next + row->rank);
  return memory;
}

static double apr_pqnr_dot(const double *a, const double *b, size_t count) {
  double sum = 0;
  for (size_t r = 0; r < count; ++r)
    sum += a[r] * b[r];
  return sum;
}

static void apr_pqnr_add(double *to, double factor, const double *from, size_t count) {
  for (size_t r = 0; r < count; ++r)
    to[r] += factor * from[r];
}

/* Keeps the last step, unless the curvature along it is not positive. */
static void remember(struct memory *memory, const struct pd_apr_row *row) {
  size_t place = memory->count == 0 ? 0 : (memory->newest + 1) % memory->size;
  double product = 0;
  for (size_t r = 0; r < memory->rank; ++r)
    product += (row->m[r] - memory->m[r]) * (row->gradient[r] - memory->gradient[r]);
  double rho = 1 / product;
  if (!(rho > 0) || isinf(rho)) return;
  for (size_t r = 0; r < memory->rank; ++r) {
    memory->step[place * memory->rank + r] = row->m[r] - memory->m[r];
    memory->change[place * memory->rank + r] = row->gradient[r] - memory->gradient[r];
  }
  memory->rho[place] = rho;
  memory->newest = place;
  if (memory->count < memory->size) memory->count += 1;
}

static void hold_active(const struct memory *memory, double *direction) {
  for (size_t r = 0; r < memory->rank; ++r)
    if (memory->active[r]) direction[r] = 0;
}

/* The two loops of L-BFGS over the free variables. */
static void apr_pqnr_find_direction(const struct pd_apr *apr, struct memory *memory,
                                    struct pd_apr_row *row) {
  const size_t rank = memory->rank;
  double *d = row->direction;
  pd_apr_row_active(row, apr->options->active_tolerance, memory->active);
  for (size_t r = 0; r < rank; ++r)
    d[r] = -row->gradient[r];
  hold_active(memory, d);
  if (memory->count == 0) return;
  size_t k = memory->newest;
  for (size_t i = 0; i < memory->count; ++i, k = (k + memory->size - 1) % memory->size) {
    memory->alpha[k] = memory->rho[k] * apr_pqnr_dot(memory->step + k * rank, d, rank);
    apr_pqnr_add(d, -memory->alpha[k], memory->change + k * rank, rank);
  }
  const double *change = memory->change + memory->newest * rank;
  double scale = 1 / memory->rho[memory->newest] / apr_pqnr_dot(change, change, rank);
  for (size_t r = 0; r < rank; ++r)
    d[r] *= scale;
  for (size_t i = 0; i < memory->count; ++i) {
    k = (k + 1) % memory->size;
    double beta = memory->rho[k] * apr_pqnr_dot(memory->change + k * rank, d, rank);
    apr_pqnr_add(d, memory->alpha[k] - beta, memory->step + k * rank, rank);
  }
  hold_active(memory, d);
}

static void apr_pqnr_keep(struct memory *memory, const struct pd_apr_row *row) {
  memcpy(memory->m, row->m, memory->rank * sizeof(double));
  memcpy(memory->gradient, row->gradient, memory->rank * sizeof(double));
}

/* A step along the gradient first gives L-BFGS something to begin with. */
static void prime(struct memory *memory, struct pd_apr_row *row) {
  (void)pd_apr_row_gradient(row);
  apr_pqnr_keep(memory, row);
  for (size_t r = 0; r < row->rank; ++r)
    row->direction[r] = -row->gradient[r];
  (void)pd_apr_row_search(row);
}

static struct pd_apr_row_result apr_pqnr_solve(const struct pd_apr *apr, struct pd_apr_row *row) {
  struct memory memory = apr_pqnr_cut_up(apr, row);
  struct pd_apr_row_result result = {0};
  prime(&memory, row);
  while (result.inner < (uint64_t)apr->options->max_inner_iterations) {
    double kkt = pd_apr_row_gradient(row);
    if (result.inner++ == 0) result.kkt = kkt;
    if (isnan(kkt)) result.kkt = NAN;
    if (!(kkt >= apr->options->run.tolerance)) break;
    result.changed = true;
    remember(&memory, row);
    apr_pqnr_find_direction(apr, &memory, row);
    apr_pqnr_keep(&memory, row);
    (void)pd_apr_row_search(row);
  }
  return result;
}

polyad_status pd_apr_iterate_pqnr(struct pd_apr *apr) {
  return pd_apr_rows_iterate(apr, apr_pqnr_solve);
}
