/* Creating, describing and destroying plans. */
#include "plan/plan.h"
#include "formats/format_text.h"
#include "plan/choose.h"
#include "plan/members.h"
#include "plan/part.h"
#include "plan/plan_create.h"
#include <string.h>

/* Leaves out the zeros that the tensor keeps, unless the options want them in the plan. */
static polyad_status settle_zeros(polyad_context *context, const polyad_plan_options *options,
                                  polyad_tensor *tensor) {
  return options->zeros == POLYAD_ZEROS_KEEP ? POLYAD_OK : pd_tensor_drop_zeros(context, tensor);
}

static polyad_status plan_create(polyad_context *context, polyad_tensor *tensor, bool take,
                                 struct pd_request *request, const polyad_plan_options *options,
                                 polyad_plan **plan) {
  struct pd_device_list devices;
  PD_TRY(pd_device_list_of(context, &devices));
  bool several = devices.count > 1;
  if (options->team != NULL && several)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a process of a team computes on one device; %d found", devices.count);
  if (options->team != NULL) return pd_part_plan_create(context, tensor, request, options, plan);
  if (several) return pd_members_plan_create(context, tensor, &devices, request, options, plan);
  return pd_plan_create_one(context, tensor, take, request, options, plan);
}

/* Making a plan leaves memory behind. The members of a team have a plan all together, or none of
 * them has. */
static polyad_status end_of_making(polyad_context *context, const polyad_plan_options *options,
                                   polyad_status status, polyad_plan **plan) {
  pd_memory_shed(context);
  if (options == NULL || options->team == NULL) return status;
  polyad_status all = pd_team_agree(context, options->team, status);
  if (all == POLYAD_OK || plan == NULL) return all;
  polyad_plan_destroy(*plan);
  *plan = NULL;
  return all;
}

static polyad_status plan_create_of(polyad_context *context, const polyad_tensor *tensor,
                                    const polyad_plan_options *options, polyad_plan **plan) {
  PD_EXPECT(context, tensor != NULL && plan != NULL, "tensor or plan is NULL");
  *plan = NULL;
  struct pd_format_text text;
  struct pd_request request;
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  if (tensor->type == request.precision &&
      (tensor->zeros_kept == 0 || options->zeros == POLYAD_ZEROS_KEEP))
    /* `build` leaves the tensor as it is without `take` */
    return plan_create(context, (polyad_tensor *)tensor, false, &request, options, plan);
  polyad_tensor *converted;
  PD_TRY(polyad_tensor_convert(context, tensor, request.precision, &converted));
  polyad_status status = settle_zeros(context, options, converted);
  if (status == POLYAD_OK) status = plan_create(context, converted, true, &request, options, plan);
  polyad_tensor_destroy(converted);
  return status;
}

polyad_status polyad_plan_create(polyad_context *context, const polyad_tensor *tensor,
                                 const polyad_plan_options *options, polyad_plan **plan) {
  PD_ENTER(context);
  polyad_status status = plan_create_of(context, tensor, options, plan);
  return end_of_making(context, options, status, plan);
}

static polyad_status plan_create_taking(polyad_context *context, polyad_tensor **tensor,
                                        const polyad_plan_options *options, polyad_plan **plan) {
  PD_EXPECT(context, tensor != NULL && *tensor != NULL && plan != NULL, "tensor or plan is NULL");
  *plan = NULL;
  polyad_tensor *mine = *tensor;
  *tensor = NULL;
  struct pd_format_text text;
  struct pd_request request;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_plan_make_request(context, options, &text, &request));
  if (mine->type != request.precision) {
    polyad_tensor *converted;
    PD_TRY_CLEANUP(polyad_tensor_convert(context, mine, request.precision, &converted));
    polyad_tensor_destroy(mine);
    mine = converted;
  }
  PD_TRY_CLEANUP(settle_zeros(context, options, mine));
  status = plan_create(context, mine, true, &request, options, plan);
cleanup:
  polyad_tensor_destroy(mine);
  return status;
}

polyad_status polyad_plan_create_take(polyad_context *context, polyad_tensor **tensor,
                                      const polyad_plan_options *options, polyad_plan **plan) {
  PD_ENTER(context);
  polyad_status status = plan_create_taking(context, tensor, options, plan);
  return end_of_making(context, options, status, plan);
}

void polyad_plan_destroy(polyad_plan *plan) {
  if (plan == NULL) return;
  struct pd_stored stored = {plan->storage, plan->on_device, plan->shed};
  pd_stored_clear(plan->context, plan->format, plan->device, &stored);
  pd_part_destroy(plan->context, plan->part);
  pd_members_destroy(plan->members);
  pd_free(plan->context, plan);
}

int polyad_plan_order(const polyad_plan *plan) { return plan->order; }

const uint64_t *polyad_plan_dims(const polyad_plan *plan) {
  return plan->part != NULL ? plan->part->dims : plan->dims;
}

uint64_t polyad_plan_nnz(const polyad_plan *plan) {
  return plan->part != NULL ? plan->part->nnz : plan->nnz;
}

polyad_type polyad_plan_type(const polyad_plan *plan) { return plan->type; }

double polyad_plan_norm(const polyad_plan *plan) { return plan->norm; }

const char *polyad_plan_format(const polyad_plan *plan) { return plan->format->name; }

const char *polyad_plan_variant(const polyad_plan *plan) { return plan->variant; }

const char *polyad_plan_device(const polyad_plan *plan) { return plan->devices; }

uint64_t polyad_plan_device_bytes(const polyad_plan *plan, const char *device) {
  uint64_t bytes = 0;
  for (int k = 0; k < pd_members_count(plan); ++k) {
    const polyad_plan *part = pd_members_plan(plan, k);
    if (strcmp(part->device->name, device) == 0)
      bytes = pd_add_saturated(bytes, part->device_bytes);
  }
  return bytes;
}

uint64_t polyad_plan_bytes(const polyad_plan *plan) {
  uint64_t bytes = 0;
  for (int k = 0; k < pd_members_count(plan); ++k) {
    const polyad_plan *part = pd_members_plan(plan, k);
    bytes += pd_storage_bytes(part->format, part->storage);
  }
  return bytes;
}

const char *polyad_plan_explanation(const polyad_plan *plan) { return plan->explanation; }

polyad_status polyad_format_estimate_bytes(polyad_context *context, const polyad_tensor *tensor,
                                           const polyad_plan_options *options, uint64_t *bytes) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && bytes != NULL, "tensor or bytes is NULL");
  struct pd_format_text text;
  struct pd_request request;
  struct pd_traits traits;
  struct pd_candidate candidates[PD_CANDIDATES_MAX];
  int count, choice = -1;
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  PD_TRY(pd_candidates_traits(context, tensor, &request, &traits));
  pd_candidates_list(context, &traits, &request, candidates, &count);
  for (int c = 0; c < count; ++c) /* a format that does not fit has bytes as well */
    candidates[c].fits = candidates[c].supported;
  PD_TRY(pd_candidates_choose(context, candidates, count, request.sweeps, &choice));
  *bytes = candidates[choice].storage_bytes;
  return POLYAD_OK;
}
