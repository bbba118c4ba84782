/* Tensors of some of another's nonzeros, and two such put together again. */
#ifndef PD_TENSOR_RANGE_H
#define PD_TENSOR_RANGE_H

#include "tensor/tensor.h"

/** A tensor of the same modes (without labels) with the nonzeros from `begin` up to `end` - 1. */
polyad_status pd_tensor_range(polyad_context *context, const polyad_tensor *tensor, uint64_t begin,
                              uint64_t end, polyad_tensor **range);

#endif
