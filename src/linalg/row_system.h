/* Least squares for one row of a factor, from the cells that are known. A cell of the row gives an
 * equation h . a = y, where h is the elementwise product of the other factors' rows; equations are
 * added up, some at a time, into normal equations
 *
 *   (sum of h h^T + diag(ridge)) a = sum of y h
 *
 * in double precision, which are then solved by Cholesky's method or, with a >= 0, by coordinate
 * descent. Both terms of a weighted equation are multiplied by its weight. */
#ifndef PD_ROW_SYSTEM_H
#define PD_ROW_SYSTEM_H

#include "linalg/factor_kernels.h"
#include <polyad/status.h>
#include <stdbool.h>

struct pd_row_system {
  size_t unknowns, padded;
  double *gram;    /* padded x padded: the sum of h h^T, at least its upper triangle */
  double *rhs;     /* padded: the sum of y h */
  double *rows;    /* PD_TILE_ROWS x padded: room for equations; the padding stays zero */
  double *values;  /* PD_TILE_ROWS: their right-hand sides */
  double *weights; /* PD_TILE_ROWS: of weighted equations, at least 0 */
  double *ridge;   /* unknowns: room for the caller's */
  double *scaled, *matrix, *lower, *inverse;
  double *room; /* all of these */
};

/** Numbers of gram and rhs together, as they lie one after the other from `gram` on: what partial
 *  sums of a row consist of. */
static inline size_t pd_row_sums(const struct pd_row_system *system) {
  return system->padded * system->padded + system->padded;
}

/** Memory for one thread. */
polyad_status pd_row_system_create(polyad_context *context, size_t unknowns,
                                   struct pd_row_system *system);
void pd_row_system_clear(polyad_context *context, struct pd_row_system *system);
/** Bytes of one. */
uint64_t pd_row_system_bytes(uint64_t unknowns);

/** Begins a row: no equations. */
void pd_row_system_begin(struct pd_row_system *system);
/** Adds the first `count` equations of `rows`, `values` and, if they are weighted, `weights`, at
 * most PD_TILE_ROWS. Changes `values`. */
void pd_row_system_add(struct pd_row_system *system, int count, bool weighted);
/** Adds partial sums of another system of the same size: pd_row_sums() numbers. */
void pd_row_system_add_sums(struct pd_row_system *system, const double *sums);

/** Solves for a row. Without equations it is 0.
 *  @param ridge  one number per unknown, at least 0
 *  @param[out] x  unknowns
 *  @return whether the equations were too ill-conditioned to be solved as they are: then the least
 *  that their solution needs has been added to the diagonal */
bool pd_row_system_solve(struct pd_row_system *system, const double *ridge, double *x);

/** Lowers the same objective over rows whose first `bounded` unknowns are at least 0, by coordinate
 *  descent from the x given until nothing moves. Never raises it. */
void pd_row_system_solve_bounded(struct pd_row_system *system, const double *ridge, size_t bounded,
                                 double *x);

#endif
