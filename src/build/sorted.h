/* The nonzeros of a tensor in another order, as a tensor with arrays of its own. Formats that keep
 * whole indices build from it, front to back, and take of its arrays what they keep as it is. */
#ifndef PD_SORTED_H
#define PD_SORTED_H

#include "build/records.h"

/** Sorts the nonzeros by keys that have all bits of all modes; `keys` has no end yet.
 *  @param room    zero before the first of several orders of one tensor
 *  @param sorted  its arrays are there also on failure: pd_tensor_free_arrays() frees those that
 *                 nobody has taken */
polyad_status pd_sorted_create(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_layout *keys, struct pd_room *room,
                               polyad_tensor *sorted);
/** Sorts the nonzeros by all modes: by modes[0] first, then by modes[1], and so on. */
polyad_status pd_sorted_by_modes(polyad_context *context, const polyad_tensor *tensor,
                                 const int *modes, struct pd_room *room, polyad_tensor *sorted);

/** Hands over an array of a sorted tensor. */
static inline void *pd_sorted_take(void **array) {
  void *taken = *array;
  *array = NULL;
  return taken;
}

/** The most bytes that all this takes, room included. */
uint64_t pd_sorted_bytes(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                         int threads);

#endif
