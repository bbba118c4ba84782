/* Orthonormal bases of tall matrices on the host: what subspace iteration needs besides its
 * operator. Sums are in fixed order for a number of threads. */
#ifndef PD_SUBSPACE_H
#define PD_SUBSPACE_H

#include "core/core.h"

/** A basis q (rows x columns, row major) and its image y of the same shape, which the caller fills.
 *  Needs two such matrices of doubles. */
struct pd_subspace {
  polyad_context *context;
  uint64_t rows;
  size_t columns;
  double *q, *y;
  double
      *values; /* the image's singular values after pd_subspace_orthonormalize(), largest first */
  struct pd_linalg_work *work;
  double *square;   /* columns x columns */
  double *rotation; /* columns x padded */
};

polyad_status pd_subspace_create(polyad_context *context, uint64_t rows, uint64_t columns,
                                 struct pd_subspace *subspace);
/** May be called on one that was set to zero. */
void pd_subspace_destroy(struct pd_subspace *subspace);

/** Replaces q by the left singular vectors of y, strongest first; y's contents are lost.
 *  Directions that are rounding error beside the strongest become zero columns. */
polyad_status pd_subspace_orthonormalize(struct pd_subspace *subspace);

#endif
