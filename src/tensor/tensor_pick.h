/* Tensors of some of another's entries, chosen one by one or at random. */
#ifndef PD_TENSOR_PICK_H
#define PD_TENSOR_PICK_H

#include "tensor/tensor.h"

/** The entries at these places, ascending, as a tensor of the same dims (without labels). */
polyad_status pd_tensor_pick(polyad_context *context, const polyad_tensor *tensor, uint64_t count,
                             const uint64_t *place, polyad_tensor **part);

/** Deals `count` entries out at random by the context's seed: round(shares[k] * count) to part k,
 *  the rest to part `parts`. place[k] gets part k's numbers, ascending (parts + 1 arrays of
 *  pd_alloc, NULL before), taken[k] how many. */
polyad_status pd_deal(polyad_context *context, uint64_t count, int parts, const double *shares,
                      uint64_t **place, uint64_t *taken);

#endif
