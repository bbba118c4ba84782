/* How a tensor is shared out among devices of several kinds. Each device runs the plan's kernel on
 * a sample of the nonzeros, and the shares are chosen so that all devices are expected to need the
 * same time. Where the fastest device alone would be done sooner, it gets the whole tensor. */
#include "plan/shares.h"
#include "formats/format_text.h"
#include "plan/plan_create.h"
#include "plan/tune.h"
#include "tensor/tensor_range.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RUNS = 3, SAMPLE_LEAST = 1 << 21, SAMPLE_PART = 8 };

/* A device whose share would be smaller is left out: the transfers would cost more than it saves.
 */
static const double least_share = 0.01;

/* ---- one device ------------------------------------------------------------------------------ */

/* The trial of one device: a plan of the sample, and all that running its kernel needs. */
struct trial {
  const struct pd_device *device;
  const struct pd_request *request;
  polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_matrix factor[POLYAD_MAX_ORDER + 1]; /* one per mode, then the kernel's result */
  void *host[POLYAD_MAX_ORDER];                  /* the factors' copies in the host's memory */
};

static void shares_trial_clear(polyad_context *context, struct trial *trial) {
  for (int n = 0; n <= POLYAD_MAX_ORDER; ++n)
    pd_matrix_destroy(context, &trial->factor[n]);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, trial->host[n]);
  polyad_workspace_destroy(trial->workspace);
  polyad_plan_destroy(trial->plan);
}

/* Runs the kernel in all modes, one after the other, as an algorithm does. */
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

/* Copies the factor of every mode from the device's own memory to the host and back. That is the
 * most that an iteration moves: partial rows leave the device, and new rows come back. */
static polyad_status run_transfers(polyad_context *context, struct trial *trial) {
  const struct pd_device *device = trial->device;
  for (int n = 0; n < trial->plan->order; ++n) {
    struct pd_matrix *factor = &trial->factor[n];
    uint64_t bytes = factor->rows * factor->stride * pd_type_bytes(factor->type);
    PD_TRY(device->functions->copy_out(context, device, trial->host[n], factor->data, bytes));
    PD_TRY(device->functions->copy_in(context, device, factor->data, trial->host[n], bytes));
  }
  return device->functions->synchronize(context, device);
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

static polyad_status shares_make_room(polyad_context *context, struct trial *trial) {
  for (int n = 0; n < trial->plan->order; ++n) {
    const struct pd_matrix *factor = &trial->factor[n];
    PD_TRY(pd_alloc_zero(context, pd_mul_saturated(factor->rows, factor->stride),
                         pd_type_bytes(factor->type), &trial->host[n]));
  }
  return POLYAD_OK;
}

/* The seconds that a device takes for the kernel, and for sending and receiving rows. */
struct pace {
  double kernel, transfers;
};

static polyad_status shares_measure(polyad_context *context, const polyad_tensor *sample,
                                    struct pd_request request, const polyad_plan_options *options,
                                    struct pace *pace) {
  struct trial trial = {.device = request.device, .request = &request};
  polyad_status status = POLYAD_OK;
  pace->transfers = 0;
  PD_TRY_CLEANUP(
      pd_plan_create_one(context, (polyad_tensor *)sample, false, &request, options, &trial.plan));
  PD_TRY_CLEANUP(polyad_workspace_create(context, trial.plan, request.rank, &trial.workspace));
  PD_TRY_CLEANUP(pd_ones_create(context, sample, &request, trial.factor));
  PD_TRY_CLEANUP(fastest(context, &trial, run_kernel, &pace->kernel));
  if (!request.device->functions->host_memory) {
    PD_TRY_CLEANUP(shares_make_room(context, &trial));
    PD_TRY_CLEANUP(fastest(context, &trial, run_transfers, &pace->transfers));
  }
cleanup:
  shares_trial_clear(context, &trial);
  return status;
}

/* ---- all devices ----------------------------------------------------------------------------- */

/* Sets the shares with which all devices compute for the same time; then they wait for the rows
 * that travel. Where the fastest device alone would be done before that, it gets the whole tensor.
 */
static void weigh_paces(const struct pace *pace, double whole, struct pd_shares *shares) {
  int count = shares->devices.count, first = 0;
  double transfers = 0, speed = 0;
  for (int k = 0; k < count; ++k) {
    if (pace[k].kernel < pace[first].kernel) first = k;
    if (pace[k].transfers > transfers) transfers = pace[k].transfers;
    speed += 1 / pace[k].kernel;
  }
  bool worth = whole / speed + transfers < whole * pace[first].kernel;
  for (int k = 0; k < count; ++k)
    shares->weight[k] = worth ? 1 / (pace[k].kernel * speed) : k == first;
}

/* Leaves out devices whose shares are below `least`, and divides their shares among the others in
 * proportion. */
static void drop_small(double least, struct pd_shares *shares) {
  double sum = 0;
  int count = 0;
  for (int k = 0; k < shares->devices.count; ++k) {
    if (!(shares->weight[k] >= least)) continue;
    shares->devices.device[count] = shares->devices.device[k];
    shares->weight[count] = shares->weight[k];
    sum += shares->weight[count++];
  }
  shares->devices.count = count;
  for (int k = 0; k < count; ++k)
    shares->weight[k] /= sum;
}

static void tell_shares(polyad_context *context, const struct pace *pace, uint64_t count,
                        const struct pd_shares *shares) {
  for (int k = 0; k < shares->devices.count; ++k)
    pd_log(context, POLYAD_LOG_INFO,
           "%s: the kernel takes %.3g s in all modes for %llu nonzeros, transfers take %.3g s; its "
           "share is %.1f%% of the nonzeros%s",
           shares->devices.device[k]->name, pace[k].kernel, (unsigned long long)count,
           pace[k].transfers, 100 * shares->weight[k],
           shares->weight[k] >= least_share ? "" : ", too little: the others get it");
}

static polyad_status measure_shares(polyad_context *context, const polyad_tensor *tensor,
                                    const polyad_plan_options *options, struct pd_shares *shares) {
  struct pace pace[PD_DEVICES_MOST];
  struct pd_format_text text;
  struct pd_request request;
  polyad_tensor *sample = NULL;
  uint64_t count = tensor->nnz / SAMPLE_PART;
  count = count < SAMPLE_LEAST ? SAMPLE_LEAST : count;
  count = count < tensor->nnz ? count : tensor->nnz;
  uint64_t begin = (tensor->nnz - count) / 2;
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  PD_TRY(pd_tensor_range(context, tensor, begin, begin + count, &sample));
  request.keep_values = true;
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < shares->devices.count && status == POLYAD_OK; ++k) {
    request.device = shares->devices.device[k];
    status = shares_measure(context, sample, request, options, &pace[k]);
  }
  polyad_tensor_destroy(sample);
  PD_TRY(status);
  weigh_paces(pace, (double)tensor->nnz / (double)count, shares);
  tell_shares(context, pace, count, shares);
  drop_small(least_share, shares);
  return POLYAD_OK;
}

polyad_status pd_shares_choose(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_device_list *devices,
                               const polyad_plan_options *options, struct pd_shares *shares) {
  double second = options->second_share;
  *shares = (struct pd_shares){.devices = *devices};
  shares->equal = second == 0 && pd_device_list_is_of_one_kind(devices);
  if (shares->equal) return POLYAD_OK;
  if (second == 0) return measure_shares(context, tensor, options, shares);
  shares->weight[0] = 1 - second;
  shares->weight[1] = second;
  drop_small(tensor->nnz > 0 ? 1 / (double)tensor->nnz : 1, shares);
  return POLYAD_OK;
}
