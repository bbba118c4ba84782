/* Making a plan on one device: what is known of the tensor, the choice of a format, the storage.
 *
 * Where the device builds from a copy of its own, the tensor's arrays are sent first, and the
 * passes over them run beside building. */
#include "formats/sent.h"
#include "linalg/linalg.h"
#include "plan/choose.h"
#include "plan/plan_create.h"
#include "plan/tune.h"
#include "plan/tune_recall.h"
#include <stdio.h>
#include <string.h>

static polyad_status plan_one_store(polyad_context *context, polyad_tensor *tensor, bool take,
                                    const struct pd_request *request, polyad_plan *plan) {
  bool scales = plan->value_exponent != 0 && !pd_tensor_is_elsewhere(tensor);
  if (scales && !take) {
    polyad_tensor *copy;
    PD_TRY(polyad_tensor_convert(context, tensor, tensor->type, &copy));
    polyad_status status = plan_one_store(context, copy, true, request, plan);
    polyad_tensor_destroy(copy);
    return status;
  }
  if (scales) pd_plan_scale_values(tensor, -plan->value_exponent);
  const struct pd_making making = {plan->format, request};
  struct pd_stored stored;
  PD_TRY(pd_storage_make(context, &making, tensor, take, &stored));
  plan->storage = stored.storage;
  plan->on_device = stored.on_device;
  plan->shed = stored.shed;
  plan->format->describe(plan->storage, request->first_mode, plan->variant);
  return POLYAD_OK;
}

/* Whether the passes over the tensor run beside building: on a device that has its own copy of it
 * by then. The host's builders have work for all threads, and may give up the tensor's arrays. */
static bool passes_beside(const struct pd_request *request, const polyad_tensor *tensor) {
  return request->part == NULL && request->device->functions->build != NULL &&
         tensor->nnz >= 1 << 16 && !pd_tensor_is_elsewhere(tensor);
}

uint64_t pd_plan_spare_bytes(const polyad_context *context, const struct pd_device *device,
                             polyad_type type, uint64_t rank, int order, const uint64_t *dims) {
  uint64_t rows = 0, small = 0;
  for (int n = 0; n < order; ++n) {
    rows = pd_add_saturated(rows, dims[n]);
    small = pd_add_saturated(small, pd_mul_saturated(rank, (rank + 1) * sizeof(double)));
  }
  small = pd_add_saturated(small, pd_mul_saturated(rank, (rank + 2) * sizeof(double)));
  small = pd_add_saturated(small, device->linalg->work_bytes(rank, polyad_threads(context)));
  uint64_t stride = pd_factor_stride(device, type, rank);
  uint64_t spares = pd_mul_saturated(rows, stride * pd_type_bytes(type));
  uint64_t ahead = pd_mul_saturated(dims[0], stride * pd_type_bytes(type));
  if (ahead <= PD_PLAN_AHEAD_BYTES) small = pd_add_saturated(small, ahead);
  small =
      pd_add_saturated(small, pd_factor_copy_bytes(device, type, pd_longest(order, dims), rank));
  return pd_add_saturated(spares, small);
}

/* What building takes, or else the storage, a workspace and what CP-ALS keeps. */
static uint64_t predict_device_bytes(const polyad_context *context, const struct pd_traits *traits,
                                     const struct pd_request *request,
                                     const struct pd_candidate *chosen) {
  const struct pd_device *device = request->device;
  if (device->functions->memory_used == NULL) return 0;
  uint64_t spares = pd_plan_spare_bytes(context, device, request->precision, request->rank,
                                        traits->order, traits->dims);
  uint64_t runs = pd_add_saturated(chosen->device_bytes, spares);
  uint64_t builds = pd_storage_device_bytes(chosen->format, traits, request, chosen->storage_bytes);
  return builds > runs ? builds : runs;
}

/* A plan on its way, and what it is made from. */
struct one {
  polyad_context *context;
  polyad_tensor *tensor;
  struct pd_request *request;
  const polyad_plan_options *options;
  polyad_plan *plan;
  bool beside; /* the passes over the tensor run beside building */
  bool there;  /* the tensor lies on the device alone */
  struct pd_facts_beside facts;
  struct pd_traits traits;
  struct pd_candidate *candidates;
  int count, choice;
};

/* What can be known before the choice; where the device builds, its copy of the tensor is sent. */
static polyad_status one_begin(struct one *one) {
  polyad_plan *plan = one->plan;
  if (one->there) {
    pd_plan_take_shape(plan, one->tensor);
    PD_TRY(pd_plan_take_facts_there(plan, one->request));
    one->request->facts_shared = one->request->part != NULL;
    return POLYAD_OK;
  }
  if (!one->beside) return POLYAD_OK;
  PD_TRY(pd_plan_take_norm(plan, one->tensor, one->request));
  pd_facts_begin(plan, one->tensor, &one->facts);
  return plan->value_exponent == 0 ? pd_sent_begin(one->context, one->tensor, one->request)
                                   : POLYAD_OK;
}

static polyad_status measure_or_recall(struct one *one) {
  polyad_context *context = one->context;
  const struct pd_request *request = one->request;
  /* What was measured is kept by the tensor's hash, which takes its arrays. */
  const char *cache = one->there ? NULL : one->options->tune_cache;
  if (cache != NULL &&
      pd_candidates_recall(context, cache, one->tensor, request, one->candidates, one->count))
    return POLYAD_OK;
  PD_TRY(pd_candidates_measure(context, one->tensor, request, one->candidates, one->count));
  if (cache != NULL)
    pd_candidates_remember(context, cache, one->tensor, request, one->candidates, one->count);
  return POLYAD_OK;
}

static polyad_status one_choose(struct one *one) {
  polyad_context *context = one->context;
  struct pd_request *request = one->request;
  PD_TRY(pd_candidates_traits(context, one->tensor, request, &one->traits));
  request->traits = &one->traits; /* for as long as `one` lives */
  pd_candidates_list(context, &one->traits, request, one->candidates, &one->count);
  if (one->there) pd_candidates_built_there(&one->traits, request, one->candidates, one->count);
  if (pd_plan_tunes(one->options)) PD_TRY(measure_or_recall(one));
  if (!request->device->functions->host_memory) /* a lost device seems to have no memory */
    PD_TRY(request->device->functions->synchronize(context, request->device));
  return pd_candidates_choose(context, one->candidates, one->count, request->sweeps, &one->choice);
}

/* What the choice says of the plan, and of the storage that is made next. */
static void one_settle(struct one *one) {
  const struct pd_candidate *chosen = &one->candidates[one->choice];
  struct pd_request *request = one->request;
  polyad_plan *plan = one->plan;
  request->variant = chosen->variant;
  memcpy(request->parameter, chosen->parameter, sizeof request->parameter);
  plan->device = request->device;
  plan->device_bytes = predict_device_bytes(one->context, &one->traits, request, chosen);
  plan->compute = request->compute;
  plan->format = chosen->format;
  plan->kernels = chosen->kernels;
  snprintf(plan->devices, sizeof plan->devices, "%s", plan->device->name);
  memcpy(plan->longest_row, one->traits.slice_max, sizeof plan->longest_row);
}

static polyad_status one_make_storage(struct one *one, bool take) {
  polyad_context *context = one->context;
  polyad_plan *plan = one->plan;
  if (!one->beside && !one->there) PD_TRY(pd_plan_take_facts(plan, one->tensor, one->request));
  if (plan->value_exponent != 0) pd_facts_end(&one->facts); /* values are scaled where they are */
  take = take && !one->facts.runs;
  PD_TRY(plan_one_store(context, one->tensor, take, one->request, plan));
  pd_facts_end(&one->facts);
  return one->request->compute == POLYAD_COMPUTE_NATIVE ? POLYAD_OK
                                                        : pd_plan_take_stored_norm(context, plan);
}

polyad_status pd_plan_create_one(polyad_context *context, polyad_tensor *tensor, bool take,
                                 struct pd_request *request, const polyad_plan_options *options,
                                 polyad_plan **result) {
  polyad_status status = POLYAD_OK;
  struct pd_build *sent = NULL;
  struct one one = {.context = context,
                    .tensor = tensor,
                    .request = request,
                    .options = options,
                    .beside = passes_beside(request, tensor),
                    .there = pd_tensor_is_elsewhere(tensor)};
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &one.plan));
  PD_TRY_CLEANUP(PD_NEW(context, PD_CANDIDATES_MAX, &one.candidates));
  one.plan->context = context;
  if (one.beside) request->sent = &sent;
  PD_TRY_CLEANUP(one_begin(&one));
  PD_TRY_CLEANUP(one_choose(&one));
  one_settle(&one);
  PD_TRY_CLEANUP(one_make_storage(&one, take));
  pd_candidates_explain(one.candidates, one.count, one.choice, one.plan->variant, request,
                        pd_plan_tunes(options), one.plan->explanation);
  pd_log(context, POLYAD_LOG_INFO, "%s", one.plan->explanation);
  *result = one.plan;
  one.plan = NULL;
cleanup:
  pd_facts_end(&one.facts);
  pd_sent_end(context, request);
  request->sent = NULL;
  request->traits = NULL;
  pd_free(context, one.candidates);
  polyad_plan_destroy(one.plan);
  return status;
}
