/* Normal equations of one row of a factor: see row_system.h. Their sums are operations on the row's
 * cells (engine/row.h): squares of h, and its products with the values. */
#include "linalg/row_system.h"
#include "core/core.h"
#include "engine/row.h"
#include "linalg/cholesky.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_SWEEPS = 200 };

static uint64_t room_of(uint64_t unknowns) {
  uint64_t padded = pd_padded((size_t)unknowns);
  uint64_t square = pd_mul_saturated(padded, padded), some = pd_mul_saturated(PD_TILE_ROWS, padded);
  uint64_t squares = pd_mul_saturated(3, square);
  return pd_add_saturated(pd_add_saturated(squares, 2 * some), 3 * padded + 2 * PD_TILE_ROWS);
}

uint64_t pd_row_system_bytes(uint64_t unknowns) {
  return pd_mul_saturated(room_of(unknowns), sizeof(double));
}

polyad_status pd_row_system_create(polyad_context *context, size_t unknowns,
                                   struct pd_row_system *system) {
  size_t padded = pd_padded(unknowns);
  *system = (struct pd_row_system){.unknowns = unknowns, .padded = padded};
  PD_TRY(PD_NEW_ZERO(context, room_of(unknowns), &system->room));
  double *at = system->room;
  const struct {
    double **at;
    size_t numbers;
  } parts[] = {{&system->gram, padded * padded},
               {&system->rhs, padded},
               {&system->rows, PD_TILE_ROWS * padded},
               {&system->scaled, PD_TILE_ROWS * padded},
               {&system->matrix, padded * padded},
               {&system->lower, padded * padded},
               {&system->inverse, padded},
               {&system->ridge, padded},
               {&system->values, PD_TILE_ROWS},
               {&system->weights, PD_TILE_ROWS}};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; ++k) {
    *parts[k].at = at;
    at += parts[k].numbers;
  }
  return POLYAD_OK;
}

void pd_row_system_clear(polyad_context *context, struct pd_row_system *system) {
  pd_free(context, system->room);
  *system = (struct pd_row_system){0};
}

void pd_row_system_begin(struct pd_row_system *system) {
  memset(system->gram, 0, pd_row_sums(system) * sizeof(double));
}

void pd_row_system_add(struct pd_row_system *system, int count, bool weighted) {
  struct pd_row_terms terms = {.count = (uint64_t)count,
                               .rank = system->unknowns,
                               .stride = system->padded,
                               .product = system->rows,
                               .value = system->weights};
  pd_row_run(weighted ? &PD_VALUE_SQUARES : &PD_SQUARES, &terms, system->scaled, system->gram);
  for (int j = 0; weighted && j < count; ++j)
    system->values[j] *= system->weights[j];
  terms.value = system->values;
  pd_row_run(&PD_MTTKRP, &terms, NULL, system->rhs);
}

void pd_row_system_add_sums(struct pd_row_system *system, const double *sums) {
  for (size_t k = 0; k < pd_row_sums(system); ++k)
    system->gram[k] += sums[k];
}

/* The matrix with its ridge, without padding; returns the largest of its diagonal. */
static double take_matrix(struct pd_row_system *system, const double *ridge) {
  double most = 0;
  size_t size = system->unknowns;
  for (size_t r = 0; r < size; ++r) {
    for (size_t s = 0; s <= r; ++s) {
      double sum = system->gram[s * system->padded + r];
      system->matrix[r * size + s] = sum;
      system->matrix[s * size + r] = sum;
    }
    system->matrix[r * size + r] += ridge[r];
    most = fmax(most, system->matrix[r * size + r]);
  }
  return most;
}

/* x = (L L^T)^-1 rhs. */
static void row_system_substitute(const struct pd_row_system *system, double *x) {
  size_t size = system->unknowns;
  const double *lower = system->lower;
  for (size_t r = 0; r < size; ++r) {
    double sum = system->rhs[r];
    for (size_t s = 0; s < r; ++s)
      sum -= lower[r * size + s] * x[s];
    x[r] = sum * system->inverse[r];
  }
  for (size_t r = size; r-- > 0;) {
    x[r] *= system->inverse[r];
    for (size_t s = 0; s < r; ++s)
      x[s] -= lower[r * size + s] * x[r];
  }
}

/* A matrix that rounding leaves without full rank gets the least of the numbers rounding, 100
 * rounding, 10^4 rounding, ... times its largest diagonal entry that lets it be factored. */
bool pd_row_system_solve(struct pd_row_system *system, const double *ridge, double *x) {
  size_t size = system->unknowns;
  double most = take_matrix(system, ridge), rounding = pd_cholesky_rounding(size), ratio = 1;
  double added = 0, next = fmax(rounding * most, DBL_MIN);
  memset(x, 0, size * sizeof *x);
  if (!(most > 0)) return false;
  while (!pd_cholesky(size, system->matrix, rounding, system->lower, system->inverse, &ratio)) {
    if (!(next <= most) || isinf(most)) { /* the caller sees it by the objective */
      x[0] = NAN;
      return true;
    }
    for (size_t r = 0; r < size; ++r)
      system->matrix[r * size + r] += next - added;
    added = next;
    next *= 100;
  }
  row_system_substitute(system, x);
  return added > 0;
}

/* The largest change of an unknown in one sweep, as a share of the row's largest entry. */
static double sweep(const struct pd_row_system *system, size_t bounded, double *x) {
  size_t size = system->unknowns;
  double moved = 0, most = 0;
  for (size_t r = 0; r < size; ++r) {
    const double *line = system->matrix + r * size;
    double slope = system->rhs[r];
    for (size_t s = 0; s < size; ++s)
      slope -= line[s] * x[s];
    double next = line[r] > 0 ? x[r] + slope / line[r] : 0;
    if (r < bounded && next < 0) next = 0;
    moved = fmax(moved, fabs(next - x[r]));
    most = fmax(most, fabs(next));
    x[r] = next;
  }
  return most > 0 ? moved / most : moved;
}

void pd_row_system_solve_bounded(struct pd_row_system *system, const double *ridge, size_t bounded,
                                 double *x) {
  (void)take_matrix(system, ridge);
  for (int k = 0; k < MOST_SWEEPS; ++k)
    if (sweep(system, bounded, x) <= 4 * DBL_EPSILON) break;
}
