/* Building and checking the sides of format "twotree". */
#ifndef PD_TWOTREE_BUILD_H
#define PD_TWOTREE_BUILD_H

#include "formats/twotree/twotree_cut.h"

/** Builds a side, whose `modes` are set, from the tensor, whose arrays are given up early if `take`
 *  and else left as they are. */
polyad_status pd_twotree_side_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request, struct pd_twotree_side *side);
/** Fails with POLYAD_INTERNAL when an invariant is broken. */
polyad_status pd_twotree_side_check(polyad_context *context, const struct pd_twotree *twotree,
                                    const struct pd_twotree_side *side);
/** Shows the arrays. */
void pd_twotree_side_arrays(struct pd_twotree_side *side, polyad_type type,
                            struct pd_arrays *arrays);
/** Their bytes before the side is built. */
uint64_t pd_twotree_side_estimate(const struct pd_traits *traits, const struct pd_request *request,
                                  const struct pd_twotree_modes *modes);
/** What building takes on top. */
uint64_t pd_twotree_building_bytes(const struct pd_traits *traits,
                                   const struct pd_request *request);

#endif
