/* Sorting the nonzeros of a tensor that is being made. */
#ifndef PD_TENSOR_SORT_H
#define PD_TENSOR_SORT_H

#include "tensor/tensor.h"

/** Sorts nonzeros by coordinate, equal ones staying in order; *strict tells whether they were
 *  sorted already and no two are equal. The peak is 32 bytes a nonzero or 12 more than the
 *  tensor has, whichever is more, unless few indices hold most nonzeros. After a failure the
 *  tensor can only be destroyed. */
polyad_status pd_tensor_sort(polyad_context *context, polyad_tensor *tensor, bool *strict);

#endif
