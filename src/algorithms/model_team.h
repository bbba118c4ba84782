/* The model of a decomposition by a team, whose members have rows of it: it comes together on
 * member 0, and goes back. Where there is no team, the model is what it is, and nothing is done. */
#ifndef PD_MODEL_TEAM_H
#define PD_MODEL_TEAM_H

#include "plan/plan.h"
#include "tensor/ktensor.h"

/** Brings the members' own rows to `whole` on member 0, which is made there where it is NULL, and
 * is NULL on the others. Weights are those of member 0. Alone, `whole` is `model`. */
polyad_status pd_model_gather(polyad_context *context, const polyad_plan *plan,
                              polyad_ktensor *model, polyad_ktensor **whole);
/** Gives every member its rows and the weights of `whole`, which member 0 has. */
polyad_status pd_model_scatter(polyad_context *context, const polyad_plan *plan,
                               const polyad_ktensor *whole, polyad_ktensor *model);
/** The end of a decomposition: the members of a team have succeeded all together, or none has, and
 *  a model is destroyed. */
polyad_status pd_model_agree(polyad_context *context, const polyad_plan *plan, polyad_status status,
                             polyad_ktensor **model);

#endif
