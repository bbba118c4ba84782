/* Models of a team on their way to member 0 and back. */
#include "algorithms/model_team.h"
#include "plan/members.h"
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

struct decompose_call {
  pd_decompose_function decompose;
  const void *options;
  polyad_ktensor **model;
  polyad_run_info *info;
};

/* What one member of a team of devices does, or all that there is to do. */
static polyad_status decompose_as_member(polyad_context *context, const polyad_plan *plan,
                                         int member, void *user) {
  const struct decompose_call *call = user;
  polyad_ktensor *none = NULL; /* member 0 has the model */
  polyad_ktensor **model = member == 0 ? call->model : &none;
  pd_begin(context);
  if (model != NULL) *model = NULL;
  polyad_status status =
      call->decompose(context, plan, call->options, model, member == 0 ? call->info : NULL);
  if (plan == NULL || pd_plan_team(plan) == NULL) return status;
  polyad_status all = pd_team_agree(context, pd_plan_team(plan), status);
  if (all == POLYAD_OK || model == NULL) return all;
  polyad_ktensor_destroy(*model);
  *model = NULL;
  return all;
}

polyad_status pd_model_decompose(polyad_context *context, const polyad_plan *plan,
                                 pd_decompose_function decompose, const void *options,
                                 polyad_ktensor **model, polyad_run_info *info) {
  struct decompose_call call = {decompose, options, model, info};
  return pd_members_run(context, plan, decompose_as_member, &call);
}
