/* Merging of repeated coordinates and dropping or counting of zeros, after sorting. */
#ifndef PD_TENSOR_MERGE_H
#define PD_TENSOR_MERGE_H

#include "tensor/tensor.h"

/** Merges equal neighbours of a sorted tensor in the order in which they stand, then drops zeros
 * or, as tensor->zeros says, keeps them; counts both. `strict`: no two neighbours are equal. */
polyad_status pd_tensor_merge(polyad_context *context, polyad_tensor *tensor,
                              polyad_duplicates duplicates, bool strict);

/** Writes "(1, 5, 3)", the 1-based coordinate of a nonzero, into `out` and returns it. */
#define PD_COORDINATE_BYTES (POLYAD_MAX_ORDER * 22 + 3)
const char *pd_tensor_coordinate_text(char out[PD_COORDINATE_BYTES], const polyad_tensor *tensor,
                                      uint64_t p);

#endif
