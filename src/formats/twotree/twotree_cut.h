/* Which cut of the modes is best, by the model of the caches that the lists' order is chosen by. */
#ifndef PD_TWOTREE_CUT_H
#define PD_TWOTREE_CUT_H

#include "formats/twotree/twotree_layout.h"

/** Numbers of distinct tuples are taken from the traits, or bounded where these lack them. */
void pd_twotree_cut_choose(const struct pd_traits *traits, const struct pd_request *request,
                           struct pd_twotree_cut *cut);
/** Distinct tuples of a side. */
uint64_t pd_twotree_tuples(const struct pd_traits *traits, const struct pd_twotree_modes *modes);
/** Order, blocks and tiles of a side's pass. Column numbers: the side's other modes, in their
 * order, from 1 on (0: tuples); of a side of one mode: modes of the tensor. */
void pd_twotree_pass_tiling(const struct pd_traits *traits, const struct pd_request *request,
                            const struct pd_twotree_modes *modes, struct pd_tiling *tiling);
/** Order of the list of the side's mode number `which`: by row, then by tuple. Column numbers: 0
 *  tuples, then the side's modes from 1 on. */
void pd_twotree_list_tiling(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                            int which, struct pd_tiling *tiling);

#endif
