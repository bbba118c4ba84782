/* The part of a generalized CP loss that does not depend on the tensor's values: the sum of f(0, m)
 * over all cells of the grid, and its gradient (engine/loss.h). */
#ifndef PD_ENGINE_GRID_H
#define PD_ENGINE_GRID_H

#include "core/core.h"
#include <polyad/tensor.h>

/** A model: factors[n] is dims[n] x rank, row major, in host memory, the weights in one of them. */
struct pd_grid {
  int order;
  const uint64_t *dims;
  uint64_t rank;
  polyad_type type;
  const void *const *factors;
};

/** sum = the sum of f(0, m) over all cells; gradients[n] gets dims[n] x rank numbers, its
 * derivative in the entries of factor n (NULL: no gradients are wanted). The sum is in closed form
 * where the loss has one, else cell by cell, until polyad_cancel(). Results depend on the number of
 * threads only. */
polyad_status pd_grid_sum(polyad_context *context, int loss, const struct pd_grid *grid,
                          double *sum, double *const *gradients);

#endif
