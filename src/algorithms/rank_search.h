/* The smallest Tucker model found that keeps a share of the tensor's squared norm. */
#ifndef PD_RANK_SEARCH_H
#define PD_RANK_SEARCH_H

#include "plan/plan.h"

/** Orthonormal factors with which a model keeps the share. */
struct pd_rank_search {
  uint64_t ranks[POLYAD_MAX_ORDER];
  double share;                     /* that they keep */
  double *factor[POLYAD_MAX_ORDER]; /* I_n x ranks[n], row major */
};

/** Whether a decomposition of these ranks fits the memory limit. */
typedef bool (*pd_rank_fits)(const void *user, const uint64_t *ranks);

/** Finds ranks and factors that keep at least `energy` of ||X||^2 in few cells of a core:
 *  1. the leading singular vectors of each unfolding, all of them for modes of up to
 *     PD_UNFOLDING_WHOLE rows, as many as the share needs (512 at most) for longer ones;
 *  2. the tensor projected on them, a dense core, of as many vectors as its memory allows;
 *  3. the smallest truncated HOSVD that keeps the share (pd_rank_smallest());
 *  4. smaller cores by higher-order orthogonal iteration (pd_rank_shrink()).
 *  `deadline` is a clock's time after which step 4 ends.
 *  @param[out] search  freed by pd_rank_search_clear()
 *  @return POLYAD_MEMORY_LIMIT when no ranks that fit keep the share: the message names those that
 *  keep most; POLYAD_CANCELLED, POLYAD_UNSUPPORTED, POLYAD_OUT_OF_MEMORY, POLYAD_NUMERICAL */
polyad_status pd_rank_search(polyad_context *context, const polyad_plan *plan, double energy,
                             double deadline, pd_rank_fits fits, const void *user,
                             struct pd_rank_search *search);
/** May be called on one that was set to zero. */
void pd_rank_search_clear(polyad_context *context, struct pd_rank_search *search);

#endif
