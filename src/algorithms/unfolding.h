/* The unfolding X_(n) of a sparse tensor (a row for each index of mode n, a column for each
 * combination of the other indices) and its Gram matrix X_(n) X_(n)^T, whose eigenvectors are the
 * HOSVD's directions of mode n and whose eigenvalues are the squared norms along them. */
#ifndef PD_UNFOLDING_H
#define PD_UNFOLDING_H

#include "core/stage.h"
#include "tensor/tensor.h"

/** A list of the columns that are not zero (the fibers of mode n): fiber f has the entries
 *  fiber[f] up to fiber[f + 1] - 1, in ascending rows. */
struct pd_unfolding {
  polyad_context *context;
  const polyad_tensor *tensor;
  int mode;
  uint64_t *fiber;
  uint64_t fibers;
  void *row; /* of the tensor's index type for this mode */
  int row_bytes;
  double *value;
};

/** Needs memory for the nonzeros once more, and while it sorts for their order. */
polyad_status pd_unfold(polyad_context *context, const polyad_tensor *tensor, int mode,
                        struct pd_unfolding *unfolding);
/** May be called on one that was set to zero. */
void pd_unfolding_clear(struct pd_unfolding *unfolding);

/** The `count` largest eigenvalues of the Gram matrix, largest first, and their eigenvectors
 *  (I_n x count, row major). Modes of up to PD_UNFOLDING_WHOLE rows, and those of which more than a
 *  quarter of the vectors are wanted, are solved exactly from the Gram matrix; others by
 *  pd_symmetric_krylov() to `tolerance` with at most `most_products` products.
 *  @param[out] residual  0 where the solution is exact; else as pd_symmetric_search has it */
polyad_status pd_unfolding_leading(struct pd_stage *stage, const struct pd_unfolding *unfolding,
                                   uint64_t count, double tolerance, int most_products,
                                   double *values, double *vectors, double *residual);

/** Rows up to which a mode is solved exactly. LAPACK's solver cannot be interrupted: 1024 rows took
 *  0.22 s for 10 vectors and 0.8 s for all on one busy core, 2048 rows 1.9 s and 7.8 s. */
enum { PD_UNFOLDING_WHOLE = 1024 };

#endif
