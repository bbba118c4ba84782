/* The model of a decomposition by a team, whose members have rows of it: it comes together on
 * member 0, and goes back. Where there is no team, the model is what it is, and nothing is done. */
#ifndef PD_MODEL_TEAM_H
#define PD_MODEL_TEAM_H

#include "plan/plan.h"
#include "tensor/ktensor.h"
#include <polyad/run.h>

/** Brings the members' own rows to `whole` on member 0, which is made there where it is NULL, and
 * is NULL on the others. Weights are those of member 0. Alone, `whole` is `model`. */
polyad_status pd_model_gather(polyad_context *context, const polyad_plan *plan,
                              polyad_ktensor *model, polyad_ktensor **whole);
/** Gives every member its rows and the weights of `whole`, which member 0 has. */
polyad_status pd_model_scatter(polyad_context *context, const polyad_plan *plan,
                               const polyad_ktensor *whole, polyad_ktensor *model);
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
