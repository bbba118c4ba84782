/* How many nonzeros the slices of a tensor have. */
#ifndef PD_TENSOR_SLICES_H
#define PD_TENSOR_SLICES_H

#include "tensor/tensor.h"

/** counts[i] = nonzeros whose index in the mode is i. */
polyad_status pd_tensor_count_indices(polyad_context *context, const polyad_tensor *tensor,
                                      int mode, uint64_t *counts);

/** Sizes of a mode's slices, to be freed with pd_free(): of all, or, where the mode is much longer
 *  than the tensor has nonzeros, of those that are not empty. */
polyad_status pd_tensor_slice_sizes(polyad_context *context, const polyad_tensor *tensor, int mode,
                                    uint64_t **sizes, uint64_t *count);

#endif
