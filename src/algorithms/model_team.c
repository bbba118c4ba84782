/* Models of a team on their way to member 0 and back. */
#include "algorithms/model_team.h"
#include "plan/part.h"
#include <string.h>

static uint64_t model_team_row_bytes(const polyad_ktensor *model) {
  return model->rank * pd_type_bytes(model->type);
}

polyad_status pd_model_gather(polyad_context *context, const polyad_plan *plan,
                              polyad_ktensor *model, polyad_ktensor **whole) {
  if (plan->part == NULL) {
    *whole = model;
    return POLYAD_OK;
  }
  bool first = plan->part->team->rank == 0;
  if (first && *whole == NULL)
    PD_TRY(polyad_ktensor_create(context, model->order, plan->part->dims, model->rank, model->type,
                                 whole));
  if (first) memcpy((*whole)->weights, model->weights, (size_t)model_team_row_bytes(model));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(pd_part_gather(context, plan->part, n, model_team_row_bytes(model), model->factor[n],
                          first ? (*whole)->factor[n] : NULL));
  return POLYAD_OK;
}

polyad_status pd_model_scatter(polyad_context *context, const polyad_plan *plan,
                               const polyad_ktensor *whole, polyad_ktensor *model) {
  if (plan->part == NULL) return POLYAD_OK;
  if (whole != NULL) memcpy(model->weights, whole->weights, (size_t)model_team_row_bytes(model));
  PD_TRY(
      pd_team_broadcast(context, plan->part->team, 0, model->weights, model_team_row_bytes(model)));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(pd_part_scatter(context, plan->part, n, model_team_row_bytes(model),
                           whole != NULL ? whole->factor[n] : NULL, model->factor[n]));
  return POLYAD_OK;
}

polyad_status pd_model_agree(polyad_context *context, const polyad_plan *plan, polyad_status status,
                             polyad_ktensor **model) {
  if (plan == NULL || pd_plan_team(plan) == NULL) return status;
  polyad_status all = pd_team_agree(context, pd_plan_team(plan), status);
  if (all == POLYAD_OK || model == NULL) return all;
  polyad_ktensor_destroy(*model);
  *model = NULL;
  return all;
}
