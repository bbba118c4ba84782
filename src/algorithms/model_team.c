/* Models of a team: their normal form, and their way to member 0. */
#include "algorithms/model_team.h"
#include "plan/members.h"
#include "plan/part.h"
#include <string.h>

static uint64_t model_team_row_bytes(const polyad_ktensor *model) {
  return model->rank * pd_type_bytes(model->type);
}

struct model_team_members {
  polyad_context *context;
  polyad_team *team;
};

static polyad_status model_team_gather(void *user, const void *mine, uint64_t bytes, void *all) {
  const struct model_team_members *members = user;
  return pd_team_gather(members->context, members->team, mine, bytes, all);
}

static struct pd_ktensor_share model_team_share(const polyad_plan *plan,
                                                struct model_team_members *members) {
  struct pd_ktensor_share share = {
      .size = members->team->size, .gather = model_team_gather, .members = members};
  for (int n = 0; n < plan->order; ++n)
    share.own[n] = pd_plan_own_rows(plan, n);
  return share;
}

/* The members agree on the weights before they bring the model to a normal form. */
static polyad_status agree_on_weights(polyad_context *context, polyad_team *team,
                                      polyad_ktensor *model) {
  return pd_team_broadcast(context, team, 0, model->weights, model_team_row_bytes(model));
}

polyad_status pd_model_normalize(polyad_context *context, const polyad_plan *plan, polyad_norm norm,
                                 polyad_ktensor *model) {
  struct model_team_members members = {context, pd_plan_team(plan)};
  if (members.team == NULL) return pd_ktensor_normalize_shared(model, norm, NULL);
  struct pd_ktensor_share share = model_team_share(plan, &members);
  PD_TRY(agree_on_weights(context, members.team, model));
  return pd_ktensor_normalize_shared(model, norm, &share);
}

polyad_status pd_model_normal_form(polyad_context *context, const polyad_plan *plan,
                                   const struct pd_ktensor_passes *passes, polyad_ktensor *model,
                                   struct pd_component *order) {
  struct model_team_members members = {context, pd_plan_team(plan)};
  if (members.team == NULL)
    return pd_ktensor_normal_form_shared(context, model, passes, NULL, order);
  struct pd_ktensor_share share = model_team_share(plan, &members);
  PD_TRY(agree_on_weights(context, members.team, model));
  return pd_ktensor_normal_form_shared(context, model, passes, &share, order);
}

polyad_status pd_model_gather(polyad_context *context, const polyad_plan *plan,
                              const polyad_ktensor *model, polyad_ktensor **whole) {
  if (plan->part == NULL) return POLYAD_OK;
  bool first = plan->part->team->rank == 0;
  if (first)
    PD_TRY(polyad_ktensor_create(context, model->order, plan->part->dims, model->rank, model->type,
                                 whole));
  if (first) memcpy((*whole)->weights, model->weights, (size_t)model_team_row_bytes(model));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(pd_part_gather(context, plan->part, n, model_team_row_bytes(model), model->factor[n],
                          first ? (*whole)->factor[n] : NULL));
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
