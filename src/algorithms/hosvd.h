/* First factors from the tensor itself. */
#ifndef PD_HOSVD_H
#define PD_HOSVD_H

#include "plan/plan.h"

/** Where singular vectors were not found to the tolerance (PD_HOSVD_TOLERANCE) within the most
 *  products (PD_HOSVD_PRODUCTS); mode -1: nowhere. */
struct pd_hosvd_report {
  int mode;
  double residual; /* of X_(n) X_(n)^T v = s^2 v, as a part of the largest s^2 */
};

#define PD_HOSVD_TOLERANCE 1e-8
enum { PD_HOSVD_PRODUCTS = 250 };

/** Overwrites the first min(ranks[n], rank of X_(n)) columns of each factor (I_n x ranks[n], of
 *  `type`, on the host) with the leading left singular vectors of the unfolding X_(n) (De
 *  Lathauwer, De Moor and Vandewalle 2000); columns beyond keep what they hold. They are found as
 *  pd_unfolding_leading() does: exactly for short modes. The sign of each makes its largest entry
 *  positive. Needs memory for the tensor's nonzeros twice, and for the Gram matrix of I_n x I_n
 *  doubles or a basis of I_n x a few more than twice ranks[n] doubles.
 *  @param[out] report  may be NULL
 *  @return POLYAD_UNSUPPORTED when the plan's format cannot give its nonzeros back,
 *  POLYAD_CANCELLED */
polyad_status pd_hosvd(polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
                       polyad_type type, void *const *factors, struct pd_hosvd_report *report);

/** factor (rows x rank, of `type`) = vectors, each with the sign that makes its largest entry
 *  positive. Only the first `count` columns of both. */
void pd_hosvd_store(uint64_t rows, uint64_t count, const double *vectors, uint64_t stride,
                    uint64_t rank, polyad_type type, void *factor);

#endif
