/* Rows a of a factor of counts: they maximise the sum over the row's nonzeros of x_j log(a . pi_j)
 * minus a . s, for a >= 0, where pi_j is the product of the other modes' rows and s the sum of all
 * such products. */
#ifndef PD_POISSON_ROW_H
#define PD_POISSON_ROW_H

#include "algorithms/quadratic_row.h"
#include "core/stage.h"
#include "tensor/tensor.h"

/** The rows of one mode of a tensor of counts. */
struct pd_poisson_rows {
  const polyad_tensor *tensor;
  int mode;
  uint64_t rank;
  const double *const *factor; /* of each mode, row major; of `mode`: not read */
  const double *weight;        /* R: of the model */
  const bool *held;            /* rows x R, or NULL */
  double tolerance;            /* of the optimality conditions */
  int max_iterations;          /* of a row */
  uint64_t unfinished;         /* out: rows that did not meet the tolerance */
};

/** Finds all rows (rows x R); entries that are held stay.
 *  @return POLYAD_CANCELLED, POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
polyad_status pd_poisson_rows(struct pd_stage *stage, struct pd_poisson_rows *rows, double *a);

#endif
