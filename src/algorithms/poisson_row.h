/* Rows a of a factor of counts: they maximise the sum over the row's nonzeros of x_j log(a . pi_j)
 * minus a . s, for a >= 0, where pi_j is the product of the other modes' rows and s the sum of all
 * such products. Counts k_r that are known to be component r's add k_r log(a_r). */
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
  const double *known;         /* rows x R, or NULL: counts of the row beside the tensor's of which
                                  it is known which component they belong to */
  int max_iterations;          /* of a row */
  uint64_t unfinished;         /* out: rows that did not meet the tolerance */
};

/** That no number of a tensor is negative: counts are not.
 *  @return POLYAD_NUMERICAL */
polyad_status pd_poisson_check(polyad_context *context, const polyad_tensor *tensor);

/** Finds all rows (rows x R), as exactly as rounding lets the optimality conditions be told;
 * entries that are held stay.
 *  @return POLYAD_CANCELLED, POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
polyad_status pd_poisson_rows(struct pd_stage *stage, struct pd_poisson_rows *rows, double *a);

#endif
