/* The copies of a side for a GPU. */
#ifndef PD_TWOTREE_COPIES_H
#define PD_TWOTREE_COPIES_H

#include "formats/twotree/twotree_cut.h"

/** Builds the copies of a side, whose `modes` are set, from the tensor (left as it is). */
polyad_status pd_twotree_copies_build(polyad_context *context, polyad_tensor *tensor,
                                      const struct pd_traits *traits,
                                      const struct pd_request *request,
                                      struct pd_twotree_side *side);
/** The same on request->device, from the tensor there. What was allocated is in the side also on
 *  failure. Waits. */
polyad_status pd_twotree_copies_build_there(polyad_context *context, struct pd_build *build,
                                            const polyad_tensor *tensor,
                                            const struct pd_traits *traits,
                                            const struct pd_request *request,
                                            struct pd_twotree_side *side);
/** Slot `bytes_there` of struct polyad_format. */
uint64_t pd_twotree_copies_bytes_there(const struct pd_traits *traits,
                                       const struct pd_request *request, uint64_t storage_bytes);
/** Shows the arrays; `decoded`: of the first side, which decode() reads. */
void pd_twotree_copies_arrays(struct pd_twotree_side *side, bool decoded, struct pd_arrays *arrays);
/** Fails with POLYAD_INTERNAL when an invariant is broken. */
polyad_status pd_twotree_copies_check(polyad_context *context, const struct pd_twotree *twotree,
                                      const struct pd_twotree_side *side);
/** Their bytes before they are built, and what building takes in all. */
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
