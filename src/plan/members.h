/* A plan that several devices of this process share: they are the members of a team (plan/part.h),
 * each with a context, a part of the tensor and a thread of its own while a decomposition runs.
 * Member 0 is the caller: its plan is the one that the caller has, and owns the others'. */
#ifndef PD_MEMBERS_H
#define PD_MEMBERS_H

#include "device/device_registry.h"
#include "plan/plan.h"

/** Makes a plan of the context's devices, of which there are several: each gets its part of the
 *  tensor. Where the parts of all but one device would be too small, the plan is of that device
 *  alone. */
polyad_status pd_members_plan_create(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_device_list *devices,
                                     const struct pd_request *request,
                                     const polyad_plan_options *options, polyad_plan **plan);
struct pd_members;
void pd_members_destroy(struct pd_members *members);

/** What member number `member` does in a decomposition; `call` is the same for all. */
typedef polyad_status (*pd_member_function)(polyad_context *context, const polyad_plan *plan,
                                            int member, void *call);
/** Does it on all members, which meet in the calls of their team, and returns member 0's status.
 *  On a plan that no devices share it is done once. Calls on one plan wait for each other. */
polyad_status pd_members_run(polyad_context *context, const polyad_plan *plan,
                             pd_member_function function, void *call);

/** The plan of each member, and their number; a plan of one device is its only member. */
int pd_members_count(const polyad_plan *plan);
const polyad_plan *pd_members_plan(const polyad_plan *plan, int member);

#endif
