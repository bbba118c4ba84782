/* Which cut of the modes is best, and what the tensors of its sides are like. */
#ifndef PD_TWOTREE_CUT_H
#define PD_TWOTREE_CUT_H

#include "formats/twotree/twotree_layout.h"

/** Numbers of distinct tuples are taken from the traits, or bounded where these lack them. */
void pd_twotree_cut_choose(const struct pd_traits *traits, const struct pd_request *request,
                           struct pd_twotree_cut *cut);
/** Distinct tuples of a side. */
uint64_t pd_twotree_tuples(const struct pd_traits *traits, const struct pd_twotree_modes *modes);
/** More than an estimated count by a few percent, so that building takes no more. */
uint64_t pd_twotree_at_most(uint64_t count, uint64_t nnz);
uint64_t pd_twotree_tuples_at_most(const struct pd_traits *traits,
                                   const struct pd_twotree_modes *modes);
/** Traits of a tensor whose first mode is the number of a side's tuple, and whose others are the
 *  side's other modes: `pass` is the list of its first mode. */
void pd_twotree_pass_traits(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                            uint64_t tuples, struct pd_traits *pass);
/** Traits of a tensor of the tuples: their numbers, then the side's modes. */
void pd_twotree_tuple_traits(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                             uint64_t count, struct pd_traits *tuples);
bool pd_twotree_on_gpu(const struct pd_request *request);
/** Nanoseconds of one thread, or of the GPU, for the MTTKRP of the side's modes. */
double pd_twotree_side_cost(const struct pd_traits *traits, const struct pd_request *request,
                            const struct pd_twotree_modes *modes);
/** Order, blocks and tiles of a side's pass. Column numbers: the side's other modes, in their
 * order, from 1 on (0: tuples); of a side of one mode: modes of the tensor. */
void pd_twotree_pass_tiling(const struct pd_traits *traits, const struct pd_request *request,
                            const struct pd_twotree_modes *modes, struct pd_tiling *tiling);
/** Order of the list of the side's mode number `which`: by row, then by tuple. Column numbers: 0
 *  tuples, then the side's modes from 1 on. */
void pd_twotree_list_tiling(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                            int which, struct pd_tiling *tiling);

#endif
