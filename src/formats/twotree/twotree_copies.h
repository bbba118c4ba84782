/* The copies of a side for a GPU: twotree_copies.c makes them on the host, twotree_store_cuda.c
 * there. */
#ifndef PD_TWOTREE_COPIES_H
#define PD_TWOTREE_COPIES_H

#include "formats/twotree/twotree_cut.h"

/** Makes the copies of a side, whose `modes` are set, without arrays and without what depends on
 * the number of its tuples, for a builder on a device to complete. */
polyad_status pd_twotree_copies_begin(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_request *request,
                                      struct pd_twotree_side *side);
/** Builds the copies of a side, whose `modes` are set, from the tensor (left as it is). */
polyad_status pd_twotree_copies_build(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_traits *traits,
                                      const struct pd_request *request,
                                      struct pd_twotree_side *side);
/** Frees the arrays, and all of it. */
void pd_twotree_copies_shed(polyad_context *context, struct pd_twotree_side *side);
void pd_twotree_copies_clear(polyad_context *context, struct pd_twotree_side *side);
/** Fails with POLYAD_INTERNAL when an invariant is broken. */
polyad_status pd_twotree_copies_check(polyad_context *context, const struct pd_twotree *twotree,
                                      const struct pd_twotree_side *side);
uint64_t pd_twotree_copies_bytes(const struct pd_twotree_side *side);
/** The same before they are built, and what building takes in all. */
void pd_twotree_copies_estimate(const struct pd_traits *traits, const struct pd_request *request,
                                const struct pd_twotree_modes *modes, uint64_t *storage,
                                uint64_t *building);
/** The nonzeros of the first side's copy: see the format's decode(). */
void pd_twotree_copies_decode(const struct pd_twotree_side *side, uint64_t first, int count,
                              struct pd_chunk *chunk);

/** Bits of the copies that a side has of its nonzeros, and of its tuples. */
static inline uint64_t pd_twotree_copies_of_nonzeros(const struct pd_twotree_modes *modes) {
  return modes->count == 1 ? UINT64_C(1) << modes->mode[0] : 1;
}
static inline uint64_t pd_twotree_copies_by_tuple(const struct pd_twotree_modes *modes) {
  return (UINT64_C(1) << (modes->count + 1)) - 2;
}

#endif
