/* Plans of a caller's arrays on a device: they are checked, sorted and merged there, and formats
 * build from them. The tensor that the rest of planning sees has a shape and no arrays. */
#include "device/device_registry.h"
#include "formats/format_text.h"
#include "formats/sent.h"
#include "plan/part.h"
#include "plan/plan_create.h"
#include "tensor/tensor.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static polyad_status from_device_check(polyad_context *context, const struct pd_request *request,
                                       const polyad_plan_options *options) {
  struct pd_device_list devices;
  const struct pd_device_build *steps = request->device->functions->build;
  PD_TRY(pd_device_list_of(context, &devices));
  if (steps == NULL || steps->open_arrays == NULL)
    return pd_fail(
        context, POLYAD_UNSUPPORTED,
        "device %s cannot make a tensor of arrays in its memory; expected a CUDA GPU, or "
        "arrays of the host and polyad_tensor_create()",
        request->device->name);
  if (devices.count > 1 || options->team != NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "arrays on a device make a plan of that device alone; %s found",
                   options->team != NULL ? "a team" : "several devices");
  return POLYAD_OK;
}

polyad_status pd_plan_take_facts_there(polyad_plan *plan, const struct pd_request *request) {
  const struct pd_device_build *steps = request->device->functions->build;
  struct pd_build_facts facts;
  PD_TRY(steps->facts(plan->context, pd_sent(request), &facts));
  plan->norm_square_scaled = facts.norm_square_scaled;
  plan->norm_exponent = facts.norm_exponent;
  if (request->part != NULL) PD_TRY(pd_part_share_norm(plan->context, request->part, plan));
  plan->norm = ldexp(sqrt(plan->norm_square_scaled), plan->norm_exponent);
  plan->negative.found = facts.has_negative;
  plan->negative.value = facts.negative;
  memcpy(plan->negative.index, facts.negative_index, sizeof facts.negative_index);
  plan->value_exponent = request->keep_values ? 0 : pd_plan_scaling(plan);
  if (plan->value_exponent != 0) {
    PD_TRY(steps->scale(plan->context, pd_sent(request), -plan->value_exponent));
    PD_TRY(steps->facts(plan->context, pd_sent(request), &facts));
  }
  plan->sum = facts.sum;
  plan->tensor_hash = 0; /* of arrays in their order: not known */
  return request->part != NULL ? pd_part_share_facts(plan->context, request->part, plan)
                               : POLYAD_OK;
}

/* All was zero: there is nothing to build from. */
static polyad_status create_empty(polyad_context *context, int order, const uint64_t *dims,
                                  const polyad_plan_options *options, polyad_plan **plan) {
  polyad_tensor *tensor;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  input.type = options->precision;
  PD_TRY(polyad_tensor_create(context, &input, &tensor));
  polyad_status status = polyad_plan_create_take(context, &tensor, options, plan);
  polyad_tensor_destroy(tensor);
  return status;
}

/* Of what lies in request->sent, which is freed. */
static polyad_status create_sent(polyad_context *context, const polyad_tensor_input *input,
                                 const struct pd_build_facts *facts,
                                 const polyad_plan_options *options, struct pd_request *request,
                                 polyad_plan **plan) {
  bool keeps = input->zeros == POLYAD_ZEROS_KEEP;
  polyad_tensor shape = {.context = context,
                         .order = input->order,
                         .nnz = facts->nnz,
                         .type = input->type,
                         .zeros = input->zeros,
                         .zeros_kept = keeps ? facts->zeros : 0};
  memcpy(shape.dims, facts->dims, sizeof shape.dims);
  for (int n = 0; n < shape.order; ++n)
    shape.index_bytes[n] = pd_index_bytes(shape.dims[n]);
  pd_log(context, POLYAD_LOG_INFO,
         "%" PRIu64 " nonzeros in arrays on %s: %" PRIu64 " repeats merged, %" PRIu64 " zeros %s",
         input->nnz, request->device->name, facts->repeats_merged, facts->zeros,
         keeps ? "kept" : "dropped");
  return pd_plan_create_one(context, &shape, false, request, options, plan);
}

static polyad_status create_of_arrays(polyad_context *context, const polyad_tensor_input *input,
                                      const polyad_plan_options *options,
                                      struct pd_request *request, polyad_plan **plan) {
  const struct pd_device_build *steps = request->device->functions->build;
  struct pd_build *arrays = NULL;
  struct pd_build_facts facts;
  PD_TRY(steps->open_arrays(context, request->device, input, &arrays));
  polyad_status status = steps->facts(context, arrays, &facts);
  request->sent = &arrays;
  if (status == POLYAD_OK && facts.nnz > 0)
    status = create_sent(context, input, &facts, options, request, plan);
  else
    pd_sent_end(context, request);
  request->sent = NULL;
  if (status == POLYAD_OK && facts.nnz == 0)
    status = create_empty(context, input->order, facts.dims, options, plan);
  return status;
}

static polyad_status create_from_device(polyad_context *context, const polyad_tensor_input *input,
                                        const polyad_plan_options *options, polyad_plan **plan) {
  struct pd_format_text text;
  struct pd_request request;
  polyad_tensor_input wanted;
  PD_EXPECT(context, input != NULL && plan != NULL, "input or plan is NULL");
  *plan = NULL;
  PD_TRY(pd_tensor_input_check(context, input));
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  PD_TRY(from_device_check(context, &request, options));
  if (input->nnz == 0) return create_empty(context, input->order, input->dims, options, plan);
  wanted = *input;
  wanted.type = request.precision;
  if (options->zeros == POLYAD_ZEROS_DROP) wanted.zeros = POLYAD_ZEROS_DROP;
  return create_of_arrays(context, &wanted, options, &request, plan);
}

polyad_status polyad_plan_create_from_device(polyad_context *context,
                                             const polyad_tensor_input *input,
                                             const polyad_plan_options *options,
                                             polyad_plan **plan) {
  PD_ENTER(context);
  polyad_status status = create_from_device(context, input, options, plan);
  pd_memory_shed(context);
  return status;
}
