/* Merging of repeated coordinates and dropping or counting of zeros, after sorting. */
#ifndef PD_TENSOR_MERGE_H
#define PD_TENSOR_MERGE_H

#include "tensor/tensor.h"

/** Merges equal neighbours of a sorted tensor in the order in which they stand, then drops zeros
 * or, as tensor->zeros says, keeps them; counts both. `strict`: no two neighbours are equal. */
polyad_status pd_tensor_merge(polyad_context *context, polyad_tensor *tensor,
                              polyad_duplicates duplicates, bool strict);

/** Values at one coordinate, in the order in which they stand, on their way to be one value. */
struct pd_merging {
  double value;
  uint64_t count;
};

static inline void pd_merging_add(struct pd_merging *merging, polyad_duplicates duplicates,
                                  double value) {
  const double so_far = merging->value;
  if (merging->count++ == 0 || duplicates == POLYAD_DUPLICATES_LAST)
    merging->value = value;
  else if (duplicates == POLYAD_DUPLICATES_MAX)
    merging->value = value > so_far ? value : so_far;
  else if (duplicates == POLYAD_DUPLICATES_MIN)
    merging->value = value < so_far ? value : so_far;
  else if (duplicates != POLYAD_DUPLICATES_FIRST)
    merging->value = so_far + value;
}

/** The value that they become, in the precision of the type. */
double pd_merging_end(const struct pd_merging *merging, polyad_duplicates duplicates,
                      polyad_type type);
/** Fails where the policy does not allow these values to be merged, or `value`, which they became,
 *  is not finite. */
polyad_status pd_merging_check(polyad_context *context, const struct pd_merging *merging,
                               double value, polyad_duplicates duplicates, polyad_type type,
                               int order, const uint64_t *coordinate);

/** Writes "(1, 5, 3)", the 1-based coordinate of a nonzero, into `out` and returns it. */
#define PD_COORDINATE_BYTES (POLYAD_MAX_ORDER * 22 + 3)
const char *pd_coordinate_text(char out[PD_COORDINATE_BYTES], int order,
                               const uint64_t *coordinate);
const char *pd_tensor_coordinate_text(char out[PD_COORDINATE_BYTES], const polyad_tensor *tensor,
                                      uint64_t p);

#endif
