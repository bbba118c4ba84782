/* Sorting the nonzeros of a tensor that is being made. */
#ifndef PD_TENSOR_SORT_H
#define PD_TENSOR_SORT_H

#include "tensor/tensor.h"

/** Sorts nonzeros by coordinate, equal ones staying in order; *strict tells whether no two are
 * equal. Beside the tensor it takes a record of a key and a value for each nonzero, and as much
 * again where few indices hold most nonzeros. After a failure the tensor can only be destroyed. */
polyad_status pd_tensor_sort(polyad_context *context, polyad_tensor *tensor, bool *strict);

#endif
