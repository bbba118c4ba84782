/* The model of a decomposition by a team, whose members have rows of it: they bring it to its
 * normal form together, and it comes together on member 0. Where there is no team, all rows are
 * there. */
#ifndef PD_MODEL_TEAM_H
#define PD_MODEL_TEAM_H

#include "plan/plan.h"
#include "tensor/ktensor.h"
#include <polyad/run.h>

/** polyad_ktensor_normalize() of all rows, with the weights of member 0: the members' own rows
 *  count, and copies of others' change as their owner's do. All have the same weights then. */
polyad_status pd_model_normalize(polyad_context *context, const polyad_plan *plan, polyad_norm norm,
                                 polyad_ktensor *model);
/** polyad_ktensor_normalize() by 2-norms, polyad_ktensor_arrange() and polyad_ktensor_fix_signs()
 *  of all rows, likewise, in two passes over them; with `passes`, of rows that lie elsewhere.
 *  order[r].place is where component r was. */
polyad_status pd_model_normal_form(polyad_context *context, const polyad_plan *plan,
                                   const struct pd_ktensor_passes *passes, polyad_ktensor *model,
                                   struct pd_component *order);
/** Makes a team's whole model on member 0 from the rows that the members own. `whole` stays as it
 *  is on the other members, and where there is no team. */
polyad_status pd_model_gather(polyad_context *context, const polyad_plan *plan,
                              const polyad_ktensor *model, polyad_ktensor **whole);
/** A decomposition with its options on one member's plan: of a team, member 0 gets the model. */
typedef polyad_status (*pd_decompose_function)(polyad_context *context, const polyad_plan *plan,
                                               const void *options, polyad_ktensor **model,
                                               polyad_run_info *info);
/** Does it on all members of this process that share the plan. The members of a team succeed all
 *  together, or none has, and a model is destroyed. `model` and `info` are the caller's. */
polyad_status pd_model_decompose(polyad_context *context, const polyad_plan *plan,
                                 pd_decompose_function decompose, const void *options,
                                 polyad_ktensor **model, polyad_run_info *info);

#endif
