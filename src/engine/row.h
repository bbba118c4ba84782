/* Operations on the nonzeros of one row of a mode, for methods that solve for one row after the
 * other: PDNR and PQNR, models of counts, completion. Such a method has the products p of the other
 * factors' rows at hand, all of the row or some at a time, and takes several sums of them; which,
 * says the same value as in a walk through a storage (op.h). Everything is double. */
#ifndef PD_ENGINE_ROW_H
#define PD_ENGINE_ROW_H

#include "engine/op.h"

/** Nonzeros of a row. */
struct pd_row_terms {
  uint64_t count;
  size_t rank, stride;   /* numbers of a product; from one to the next, zeros behind it */
  const double *product; /* count x stride: p */
  const double *value;   /* count: x, where the weight is not PD_ONE */
  const double *model;   /* count: m, for a loss's gain; see pd_row_models() */
};

/** m = b . p for each nonzero; b has `stride` numbers. */
void pd_row_models(const struct pd_row_terms *terms, const double *b, double *model);

/** Adds to `out`: rows have `stride` numbers; squares pd_padded(rank) times as many
 *  (linalg/factor_kernels.h), at least on and above the diagonal; a scalar is one. Runs PD_MTTKRP,
 *  gradients and sums of gains, and all squares, whose weights are at least 0.
 *  @param room  of squares: PD_TILE_ROWS * pd_padded(rank) numbers */
void pd_row_run(const struct pd_op *op, const struct pd_row_terms *terms, double *room,
                double *out);

#endif
