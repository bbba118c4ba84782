/* Choosing ranks jointly from what they keep: the fewest cells of the core whose share reaches a
 * target. */
#ifndef PD_RANK_CHOICE_H
#define PD_RANK_CHOICE_H

#include "algorithms/core_iterate.h"

/** Which ranks are allowed. */
struct pd_rank_limits {
  const void *user;
  bool (*fits)(const void *user, const uint64_t *ranks); /* a model of them fits memory */
  uint64_t least[POLYAD_MAX_ORDER]; /* fewer columns of a mode cannot reach the target */
};

/** Replaces the core's entries by the sums of squares of all entries that are not behind them in
 *  any mode: what the truncated HOSVD of each ranks keeps. */
void pd_rank_table(struct pd_core *core);

/** Of all ranks that fit the limits and whose entry of the table reaches the target, those of the
 *  smallest core (of equal ones that which keeps most); false when there are none. */
bool pd_rank_smallest(const struct pd_core *table, const struct pd_rank_limits *limits,
                      double target, uint64_t *ranks);
/** Of all ranks that fit, those with the largest entry; false when there are none. */
bool pd_rank_largest(const struct pd_core *table, const struct pd_rank_limits *limits,
                     uint64_t *ranks, double *share);

/** Shrinks a model's core while its share stays at least `target` by higher-order orthogonal
 *  iteration of smaller ranks. Ranks to try are those of the smallest core that keeps the target
 *  when what each mode's change multiplies the share by (model->shares) is multiplied; such
 *  estimates promise too much the farther away they are, which each failure corrects. When no
 *  estimate reaches the target, those ranks that keep most by it are tried. Ends when no smaller
 *  ranks are left that are not contained in some that failed, or after a multiple of the work that
 *  one decomposition takes without success.
 *  @param[in,out] model  what is found; keeps the target before and after
 *  @param[out] tried  decompositions
 *  @return POLYAD_CANCELLED, POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
polyad_status pd_rank_shrink(struct pd_stage *stage, const struct pd_core *core,
                             const struct pd_rank_limits *limits, double target, double deadline,
                             struct pd_core_model *model, int *tried);

#endif
