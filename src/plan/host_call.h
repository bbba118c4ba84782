/* Operations on arrays of the host. */
#ifndef PD_HOST_CALL_H
#define PD_HOST_CALL_H

#include "plan/plan.h"

/** Kernels see values times a power of two, which callers must not: takes it out of `count` numbers
 *  of a result that is linear in the values. */
void pd_plan_unscale(const polyad_plan *plan, void *out, uint64_t count);

#endif
