#include "plan/tune.h"
#include "core/numbers.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RUNS = 3 };

/* A storage on its device with all that running it needs. */
struct trial {
  const struct pd_candidate *candidate;
  const struct pd_device *device;
  struct pd_op op;
  const struct pd_walk *walk;
  struct pd_stored stored;
  void *scratch;
};

static void tune_trial_clear(polyad_context *context, struct trial *trial) {
  pd_walk_close(trial->scratch);
  pd_stored_clear(context, trial->candidate->format, trial->device, &trial->stored);
}

static polyad_status trial_make(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_request *request, struct trial *trial) {
  const struct pd_making making = {trial->candidate->format, request};
  /* Without `take` a build leaves the tensor as it is. */
  PD_TRY(pd_storage_make(context, &making, (polyad_tensor *)tensor, false, &trial->stored));
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = request->rank;
  return pd_walk_open(context, trial->walk, trial->device, trial->stored.on_device, ranks,
                      &trial->scratch);
}

/* The fastest of a few runs, all modes one after the other as an algorithm calls them. */
static polyad_status trial_run(polyad_context *context, int order, struct trial *trial,
                               struct pd_matrix *factors, double *seconds) {
  const struct pd_matrix *pointers[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n)
    pointers[n] = &factors[n];
  *seconds = INFINITY;
  for (int run = 0; run < RUNS; ++run) {
    double start = pd_seconds();
    for (int n = 0; n < order; ++n) {
      struct pd_matrix out = factors[order];
      out.rows = factors[n].rows;
      const struct pd_call call = {.op = trial->op, .mode = n, .factors = pointers, .out = &out};
      PD_TRY(trial->walk->run(context, trial->stored.on_device, trial->scratch, &call));
      pd_matrix_touch(&factors[n]);
    }
    PD_TRY(trial->device->functions->synchronize(context, trial->device));
    double took = pd_seconds() - start;
    if (run > 0 && took < *seconds) *seconds = took;
  }
  return POLYAD_OK;
}

static void tune_measure(polyad_context *context, const polyad_tensor *tensor,
                         struct pd_request request, struct pd_matrix *factors, const char *variant,
                         struct pd_candidate *candidate) {
  /* The other kernels take about as long as MTTKRP. */
  const struct pd_op op = request.kernel == POLYAD_KERNEL_PHI ? PD_PHI(1e-10) : PD_MTTKRP;
  struct trial trial = {.candidate = candidate,
                        .device = request.device,
                        .op = op,
                        .walk = pd_walk_of(candidate->kernels, pd_op_bit(&op))};
  double seconds = INFINITY;
  request.variant = variant;
  polyad_status status = trial_make(context, tensor, &request, &trial);
  if (status == POLYAD_OK) status = trial_run(context, tensor->order, &trial, factors, &seconds);
  tune_trial_clear(context, &trial);
  if (status != POLYAD_OK) {
    if (isinf(candidate->seconds))
      snprintf(candidate->reason, PD_REASON_BYTES, "%.200s", polyad_last_error(context));
    pd_begin(context); /* a candidate that cannot run is no error of the call */
  } else if (seconds < candidate->seconds) {
    candidate->seconds = seconds;
    snprintf(candidate->variant, sizeof candidate->variant, "%s", variant);
  }
}

/* Which of a parameter's values is fastest, on this device and tensor. */
static void measure_parameter(polyad_context *context, const polyad_tensor *tensor,
                              struct pd_request request, struct pd_matrix *factors, int which,
                              struct pd_candidate *candidate) {
  const int *trial = candidate->format->parameters[which].trials;
  char variant[PD_REASON_BYTES];
  snprintf(variant, sizeof variant, "%s", candidate->variant);
  memcpy(request.parameter, candidate->parameter, sizeof request.parameter);
  for (; *trial != 0; ++trial) {
    double before = candidate->seconds;
    request.parameter[which] = *trial;
    tune_measure(context, tensor, request, factors, variant, candidate);
    if (candidate->seconds < before) candidate->parameter[which] = *trial;
  }
}

/* Those that are tuned and have no value yet. */
static void measure_parameters(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_request *request, struct pd_matrix *factors,
                               struct pd_candidate *candidate) {
  for (int k = 0; k < candidate->format->parameter_count; ++k)
    if (candidate->format->parameters[k].trials != NULL && candidate->parameter[k] == 0)
      measure_parameter(context, tensor, *request, factors, k, candidate);
}

static void measure_variants(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_request *asked, struct pd_matrix *factors,
                             struct pd_candidate *candidate) {
  struct pd_request completed = *asked;
  const struct pd_request *request = &completed;
  memcpy(completed.parameter, candidate->parameter, sizeof completed.parameter);
  candidate->seconds = INFINITY;
  if (strcmp(request->variant, "auto") != 0) {
    tune_measure(context, tensor, *request, factors, request->variant, candidate);
  } else {
    char variants[PD_REASON_BYTES], *rest = NULL;
    snprintf(variants, sizeof variants, "%s",
             candidate->kernels->variants != NULL ? candidate->kernels->variants
                                                  : candidate->format->variants);
    for (char *v = strtok_r(variants, " ", &rest); v != NULL; v = strtok_r(NULL, " ", &rest))
      if (strncmp(v, "paper", 5) != 0) /* atomic schemes are never chosen by themselves */
        tune_measure(context, tensor, *request, factors, v, candidate);
  }
  if (isinf(candidate->seconds))
    candidate->supported = false;
  else
    measure_parameters(context, tensor, request, factors, candidate);
}

polyad_status pd_ones_create(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_request *request, struct pd_matrix *factors) {
  polyad_status status = POLYAD_OK;
  uint64_t longest = pd_longest(tensor->order, tensor->dims);
  size_t item = pd_type_bytes(request->precision);
  void *ones = NULL;
  uint64_t count;
  if (!pd_mul(longest, request->rank, &count))
    return pd_fail(context, POLYAD_OVERFLOW, "a factor is too large");
  PD_TRY_CLEANUP(pd_alloc(context, count, item, &ones));
  for (uint64_t k = 0; k < count; ++k)
    pd_store(request->precision, ones, k, 1);
  for (int n = 0; n <= tensor->order; ++n) {
    uint64_t rows = n < tensor->order ? tensor->dims[n] : longest;
    PD_TRY_CLEANUP(pd_factor_create(context, request->device, request->precision, rows,
                                    request->rank, &factors[n]));
    PD_TRY_CLEANUP(pd_matrix_from_host(context, &factors[n], ones));
  }
cleanup:
  pd_free(context, ones);
  return status;
}

polyad_status pd_candidates_measure(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_request *request,
                                    struct pd_candidate *candidates, int count) {
  struct pd_matrix factors[POLYAD_MAX_ORDER + 1];
  memset(factors, 0, sizeof factors);
  polyad_status status = pd_ones_create(context, tensor, request, factors);
  for (int c = 0; c < count && status == POLYAD_OK; ++c)
    if (candidates[c].supported && candidates[c].fits)
      measure_variants(context, tensor, request, factors, &candidates[c]);
  for (int n = 0; n <= tensor->order; ++n)
    if (factors[n].data != NULL) pd_matrix_destroy(context, &factors[n]);
  return status;
}
