/* First factors, and ranks, from the tensor itself. */
#ifndef PD_HOSVD_H
#define PD_HOSVD_H

#include "plan/plan.h"

/** Overwrites the first min(ranks[n], rank of X_(n)) columns of each factor (I_n x ranks[n], of
 *  `type`, on the host) with the leading left singular vectors of the unfolding X_(n) (De
 * Lathauwer, De Moor and Vandewalle 2000); columns beyond keep what they hold. Vectors come from
 * block subspace iteration on X_(n) X_(n)^T, applied fiber by fiber, so that no I_n x I_n matrix is
 *  formed; the sign of each makes its largest entry positive. Needs memory for the tensor's
 *  nonzeros twice and for two matrices of I_n x (R + 8) doubles.
 *  @return POLYAD_UNSUPPORTED when the plan's format cannot give its nonzeros back */
polyad_status pd_hosvd(polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
                       polyad_type type, void *const *factors);

/** The fewest vectors of each unfolding that leave out at most (1 - energy) / order of ||X||^2, so
 *  that the truncated HOSVD keeps at least `energy` of it. */
polyad_status pd_hosvd_ranks(polyad_context *context, const polyad_plan *plan, double energy,
                             uint64_t *ranks);

#endif
