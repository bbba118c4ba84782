/* Sharing a tensor out between two devices. */
#include "linalg/linalg.h"
#include "plan/pair.h"
#include "plan/plan_create.h"
#include "plan/tune.h"
#include "tensor/tensor_range.h"
#include <math.h>
#include <stdio.h>

enum { RUNS = 3, SAMPLE_LEAST = 1 << 21, SAMPLE_PART = 8 };

/* A smaller share is not worth its transfers' trouble. */
static const double least_share = 0.01;

/* One device with a sample of the tensor. */
struct trial {
  const struct pd_device *device;
  const struct pd_request *request;
  polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_matrix factor[POLYAD_MAX_ORDER + 1]; /* and a result */
  /* Of the first device: factors on their way, and on the second. */
  const struct pd_device *second;
  void *host[POLYAD_MAX_ORDER];
  struct pd_matrix there[POLYAD_MAX_ORDER];
};

static void pair_create_trial_clear(polyad_context *context, struct trial *trial) {
  for (int n = 0; n <= POLYAD_MAX_ORDER; ++n)
    pd_matrix_destroy(context, &trial->factor[n]);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    pd_matrix_destroy(context, &trial->there[n]);
    pd_free(context, trial->host[n]);
  }
  polyad_workspace_destroy(trial->workspace);
  polyad_plan_destroy(trial->plan);
}

/* All modes, one after the other as an algorithm calls them. */
static polyad_status run_kernel(polyad_context *context, struct trial *trial) {
  const struct pd_matrix *factors[POLYAD_MAX_ORDER];
  int order = trial->plan->order;
  for (int n = 0; n < order; ++n)
    factors[n] = &trial->factor[n];
  for (int n = 0; n < order; ++n) {
    struct pd_matrix out = trial->factor[order];
    out.rows = trial->plan->dims[n];
    const struct pd_call call = {.op = trial->request->kernel == POLYAD_KERNEL_PHI ? PD_PHI(1e-10)
                                                                                   : PD_MTTKRP,
                                 .mode = n,
                                 .factors = factors,
                                 .out = &out};
    PD_TRY(pd_plan_run(context, trial->plan, trial->workspace, &call));
    pd_matrix_touch(&trial->factor[n]);
  }
  return trial->device->functions->synchronize(context, trial->device);
}

/* What goes to the second device and back from it in every mode: the factor that has changed, and
 * the result. */
static polyad_status run_transfers(polyad_context *context, struct trial *trial) {
  int order = trial->plan->order;
  for (int n = 0; n < order; ++n) {
    PD_TRY(pd_matrix_transfer(context, &trial->factor[n], trial->host[n], &trial->there[n]));
    PD_TRY(pd_matrix_transfer(context, &trial->there[n], trial->host[n], &trial->factor[n]));
  }
  PD_TRY(trial->second->functions->synchronize(context, trial->second));
  return trial->device->functions->synchronize(context, trial->device);
}

static polyad_status fastest(polyad_context *context, struct trial *trial,
                             polyad_status (*run)(polyad_context *, struct trial *),
                             double *seconds) {
  *seconds = INFINITY;
  for (int k = 0; k <= RUNS; ++k) {
    double begin = pd_seconds();
    PD_TRY(run(context, trial));
    double took = pd_seconds() - begin;
    if (k > 0 && took < *seconds) *seconds = took;
  }
  return POLYAD_OK;
}

static polyad_status make_there(polyad_context *context, struct trial *trial) {
  for (int n = 0; n < trial->plan->order; ++n) {
    const struct pd_matrix *factor = &trial->factor[n];
    PD_TRY(pd_alloc_zero(context, pd_mul_saturated(factor->rows, factor->columns),
                         pd_type_bytes(factor->type), &trial->host[n]));
    PD_TRY(pd_matrix_over_host(context, trial->second, factor->type, factor->rows, factor->columns,
                               trial->host[n], &trial->there[n]));
  }
  return POLYAD_OK;
}

/* Seconds of the kernel on a device, and, where there is a second, of transfers to it. */
static polyad_status pair_create_measure(polyad_context *context, const polyad_tensor *sample,
                                         struct pd_request request,
                                         const polyad_plan_options *options,
                                         const struct pd_device *second, double *kernel,
                                         double *transfers) {
  struct trial trial = {.device = request.device, .request = &request, .second = second};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(
      pd_plan_create_one(context, (polyad_tensor *)sample, false, &request, options, &trial.plan));
  PD_TRY_CLEANUP(polyad_workspace_create(context, trial.plan, request.rank, &trial.workspace));
  PD_TRY_CLEANUP(pd_ones_create(context, sample, &request, trial.factor));
  PD_TRY_CLEANUP(fastest(context, &trial, run_kernel, kernel));
  if (second != NULL) {
    PD_TRY_CLEANUP(make_there(context, &trial));
    PD_TRY_CLEANUP(fastest(context, &trial, run_transfers, transfers));
  }
cleanup:
  pair_create_trial_clear(context, &trial);
  return status;
}

/* Which share of the nonzeros the second device should have, from a measurement of both on some of
 * them: so much that both take the same time, transfers included. 0: it would be of no help. */
static polyad_status measure_share(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request,
                                   const polyad_plan_options *options, double *share) {
  struct pd_request alone = *request;
  polyad_tensor *sample = NULL;
  double seconds[2], transfers;
  uint64_t count = tensor->nnz / SAMPLE_PART;
  count = count < SAMPLE_LEAST ? SAMPLE_LEAST : count;
  count = count < tensor->nnz ? count : tensor->nnz;
  uint64_t begin = (tensor->nnz - count) / 2;
  PD_TRY(pd_tensor_range(context, tensor, begin, begin + count, &sample));
  alone.second = NULL;
  alone.keep_values = true;
  polyad_status status = pair_create_measure(context, sample, alone, options, request->second,
                                             &seconds[0], &transfers);
  alone.device = request->second;
  if (status == POLYAD_OK)
    status = pair_create_measure(context, sample, alone, options, NULL, &seconds[1], &transfers);
  polyad_tensor_destroy(sample);
  PD_TRY(status);
  /* Both take the same time: (1 - share) n t0 = share n t1 + transfers. */
  double whole = (double)tensor->nnz / (double)count;
  *share = (whole * seconds[0] - transfers) / (whole * (seconds[0] + seconds[1]));
  if (!(*share >= least_share)) *share = 0;
  pd_log(context, POLYAD_LOG_INFO,
         "%s takes %.3g s for %llu nonzeros in every mode, %s %.3g s, transfers %.3g s: %s gets "
         "%.1f%% of the nonzeros",
         request->device->name, seconds[0], (unsigned long long)count, request->second->name,
         seconds[1], transfers, request->second->name, 100 * *share);
  return POLYAD_OK;
}

/* A part that does not fit says whose share of the tensor it is. */
static polyad_status refuse_part(polyad_context *context, const struct pd_pair *pair, int k,
                                 const char *device) {
  char text[256];
  snprintf(text, sizeof text, "%s", polyad_last_error(context));
  pd_begin(context);
  return pd_fail(context, POLYAD_MEMORY_LIMIT, "%.1f%% of the nonzeros, for device %s: %s",
                 100 * (k == 0 ? 1 - pair->share : pair->share), device, text);
}

static polyad_status create_parts(polyad_context *context, const polyad_tensor *tensor,
                                  const struct pd_request *request,
                                  const polyad_plan_options *options, struct pd_pair *pair) {
  uint64_t second = (uint64_t)(pair->share * (double)tensor->nnz);
  uint64_t cut = tensor->nnz - (second < tensor->nnz ? second : tensor->nnz);
  for (int k = 0; k < 2; ++k) {
    struct pd_request alone = *request;
    polyad_tensor *part = NULL;
    alone.device = k == 0 ? request->device : request->second;
    alone.second = NULL;
    alone.keep_values = true;
    PD_TRY(pd_tensor_range(context, tensor, k == 0 ? 0 : cut, k == 0 ? cut : tensor->nnz, &part));
    polyad_status status = pd_plan_create_one(context, part, true, &alone, options, &pair->part[k]);
    polyad_tensor_destroy(part);
    if (status == POLYAD_MEMORY_LIMIT) return refuse_part(context, pair, k, alone.device->name);
    PD_TRY(status);
  }
  snprintf(pair->name, sizeof pair->name, "%.30s+%.30s", pair->part[0]->format->name,
           pair->part[1]->format->name);
  return POLYAD_OK;
}

/* Each part's explanation gets less than half of the room, so that the second is never crowded
 * out. */
enum { PART_EXPLANATION = PD_EXPLANATION_BYTES / 2 - 160 };

static void pair_create_explain(polyad_plan *plan, const struct pd_pair *pair) {
  int length = snprintf(plan->explanation, sizeof plan->explanation, "%s\n", plan->variant);
  for (int k = 0; k < 2 && length >= 0 && (size_t)length < sizeof plan->explanation; ++k)
    length += snprintf(plan->explanation + length, sizeof plan->explanation - (size_t)length,
                       "%.40s, %llu nonzeros in %llu bytes: %.*s%s", pair->part[k]->device->name,
                       (unsigned long long)pair->part[k]->nnz,
                       (unsigned long long)polyad_plan_bytes(pair->part[k]), PART_EXPLANATION,
                       pair->part[k]->explanation, k == 0 ? "\n" : "");
}

/* The pair as the storage of `plan`, which has the tensor's facts. */
static polyad_status pair_create_store(polyad_context *context, const polyad_tensor *tensor,
                                       double share, const struct pd_request *request,
                                       const polyad_plan_options *options, polyad_plan *plan) {
  struct pd_pair *pair = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &pair));
  pair->format = pd_pair_format;
  pair->format.name = pair->name;
  pair->share = share;
  plan->storage = plan->on_device = pair;
  plan->format = &pair->format;
  plan->kernels = &pd_pair_kernels;
  plan->device = request->device;
  plan->compute = request->compute;
  snprintf(plan->devices, sizeof plan->devices, "%s,%s", request->device->name,
           request->second->name);
  PD_TRY(create_parts(context, tensor, request, options, pair));
  for (int k = 0; k < 2; ++k) {
    pair->readable[k] = pair->part[k]->shed ? NULL : pair->part[k]->storage;
    plan->shed = plan->shed || pair->part[k]->shed;
  }
  pair->format.deterministic =
      pair->part[0]->format->deterministic && pair->part[1]->format->deterministic;
  plan->format->describe(pair, request->first_mode, plan->variant);
  pair_create_explain(plan, pair);
  pd_log(context, POLYAD_LOG_INFO, "%s", plan->explanation);
  return request->compute == POLYAD_COMPUTE_NATIVE ? POLYAD_OK
                                                   : pd_plan_take_stored_norm(context, plan);
}

static polyad_status pair_create_check_request(polyad_context *context,
                                               const struct pd_request *request) {
  if (request->kernel != POLYAD_KERNEL_MTTKRP && request->kernel != POLYAD_KERNEL_PHI)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "devices %s and %s share MTTKRP and Phi only; expected one device",
                   request->device->name, request->second->name);
  if (request->device->linalg->add == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED, "device %s cannot be the first of two",
                   request->device->name);
  return POLYAD_OK;
}

polyad_status pd_pair_create(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_request *request, const polyad_plan_options *options,
                             polyad_plan **result) {
  polyad_tensor *scaled = NULL;
  const polyad_tensor *stored = tensor;
  polyad_plan *plan = NULL;
  polyad_status status = POLYAD_OK;
  double share = options->second_share;
  PD_TRY(pair_create_check_request(context, request));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &plan));
  plan->context = context;
  PD_TRY_CLEANUP(pd_plan_take_facts(plan, tensor, request));
  if (plan->value_exponent != 0) {
    PD_TRY_CLEANUP(polyad_tensor_convert(context, tensor, tensor->type, &scaled));
    pd_plan_scale_values(scaled, -plan->value_exponent);
    stored = scaled;
  }
  if (share == 0) PD_TRY_CLEANUP(measure_share(context, stored, request, options, &share));
  if (share * (double)tensor->nnz < 1) {
    pd_free(context, plan);
    struct pd_request alone = *request;
    plan = NULL;
    alone.second = NULL;
    status = pd_plan_create_one(context, (polyad_tensor *)tensor, false, &alone, options, result);
    goto cleanup;
  }
  PD_TRY_CLEANUP(pair_create_store(context, stored, share, request, options, plan));
  *result = plan;
  plan = NULL;
cleanup:
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(scaled);
  return status;
}
