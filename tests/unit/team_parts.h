/* Whether two plans of a member are of the same part of a tensor, however it was shared out. */
#ifndef PD_TEST_TEAM_PARTS_H
#define PD_TEST_TEAM_PARTS_H

#include "plan/plan.h"

/** What the two differ in, in words; NULL: rows, nonzeros and facts are the same, sums to rounding.
 */
const char *part_difference(const polyad_plan *a, const polyad_plan *b);
/** The hash of the nonzeros that the plan's storage has; fails where it breaks an invariant. */
polyad_status part_hash(polyad_context *context, const polyad_plan *plan, uint64_t *hash);

#endif
