/* Creating, describing and destroying plans. */
#include "plan/plan.h"
#include "formats/format_text.h"
#include "formats/sent.h"
#include "linalg/linalg.h"
#include "plan/choose.h"
#include "plan/members.h"
#include "plan/pair.h"
#include "plan/part.h"
#include "plan/plan_create.h"
#include "plan/tune.h"
#include "plan/tune_recall.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void polyad_plan_options_init(polyad_plan_options *options) {
  *options = (polyad_plan_options){
      .format = "auto", .variant = "auto", .rank = 16, .precision = POLYAD_F64};
}

static polyad_status plan_check_options(polyad_context *context,
                                        const polyad_plan_options *options) {
  if (options == NULL || options->format == NULL || options->variant == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "plan options, format or variant is NULL; start from "
                   "polyad_plan_options_init()");
  if (options->rank < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "rank 0 found; expected 1 or more");
  if (options->precision != POLYAD_F32 && options->precision != POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "precision %d found; expected POLYAD_F32 or POLYAD_F64",
                   (int)options->precision);
  if (options->compute < POLYAD_COMPUTE_NATIVE || options->compute > POLYAD_COMPUTE_TF32)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "compute type %d found; expected POLYAD_COMPUTE_NATIVE to _TF32",
                   (int)options->compute);
  if (options->zeros != POLYAD_ZEROS_DROP && options->zeros != POLYAD_ZEROS_KEEP)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "zeros %d found; expected POLYAD_ZEROS_DROP or _KEEP", (int)options->zeros);
  if (!(options->second_share >= 0 && options->second_share < 1))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "second_share %g found; expected at least 0 and below 1", options->second_share);
  if (!(options->sweeps >= 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "sweeps %g found; expected at least 0",
                   options->sweeps);
  return POLYAD_OK;
}

/* The variant that the format's text names, else that of the option of its own. */
static polyad_status plan_variant_of(polyad_context *context, const polyad_plan_options *options,
                                     const struct pd_format_text *text, const char **variant) {
  *variant = text->variant[0] == '\0' ? options->variant : text->variant;
  if (strcmp(options->variant, "auto") == 0 || strcmp(options->variant, *variant) == 0)
    return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "variant %.60s is asked for, and format %.200s; expected one variant",
                 options->variant, options->format);
}

/* Leaves out the zeros that the tensor keeps, unless the options want them in the plan. */
static polyad_status settle_zeros(polyad_context *context, const polyad_plan_options *options,
                                  polyad_tensor *tensor) {
  return options->zeros == POLYAD_ZEROS_KEEP ? POLYAD_OK : pd_tensor_drop_zeros(context, tensor);
}

/* Chains and rows of Pi are never measured. */
static bool tunes(const polyad_plan_options *options) {
  return options->tune != 0 &&
         (options->kernel == POLYAD_KERNEL_MTTKRP || options->kernel == POLYAD_KERNEL_PHI);
}

/* Who has formats measured wants the fastest kernel: building counts no more. */
static double sweeps_of(const polyad_plan_options *options) {
  if (tunes(options) || isinf(options->sweeps)) return 0;
  return options->sweeps == 0 ? POLYAD_SWEEPS_USUAL : options->sweeps;
}

/* Runs side by side read the nonzeros once for all their columns: formats are judged by these. */
static void share_passes(const polyad_plan_options *options, struct pd_request *request) {
  uint64_t columns = options->columns < PD_SHARED_COLUMNS ? options->columns : PD_SHARED_COLUMNS;
  if (columns <= request->rank || options->kernel != POLYAD_KERNEL_MTTKRP) return;
  if (request->device->linalg->copy_columns == NULL || request->second != NULL ||
      options->team != NULL)
    return;
  request->sweeps *= (double)request->rank / (double)columns;
  request->rank = columns;
}

polyad_status pd_plan_make_request(polyad_context *context, const polyad_plan_options *options,
                                   struct pd_format_text *text, struct pd_request *request) {
  const char *variant;
  PD_TRY(plan_check_options(context, options));
  PD_TRY(pd_format_text_read(context, options->format, text));
  PD_TRY(plan_variant_of(context, options, text, &variant));
  *request = (struct pd_request){.format = text->format,
                                 .variant = variant,
                                 .rank = options->rank,
                                 .precision = options->precision,
                                 .threads = polyad_threads(context),
                                 .force_index64 = options->force_index64 != 0,
                                 .first_mode = pd_shown_mode(context, 0),
                                 .kernel = options->kernel,
                                 .compute = options->compute,
                                 .sweeps = sweeps_of(options),
                                 .kept = options->tune != 0 ? options->tune_cache : NULL};
  memcpy(request->parameter, text->parameter, sizeof request->parameter);
  PD_TRY(pd_devices_of(context, &request->device, &request->second));
  share_passes(options, request);
  return POLYAD_OK;
}

/* Binary exponents of norms that kernels can take: products of a few such numbers neither overflow
 * nor vanish. */
static int largest_exponent(polyad_type type) { return type == POLYAD_F32 ? 60 : 256; }

int pd_plan_scaling(const polyad_plan *plan) {
  if (!(plan->norm_square_scaled > 0)) return 0;
  int exponent;
  (void)frexp(sqrt(plan->norm_square_scaled), &exponent);
  exponent += plan->norm_exponent;
  return abs(exponent) > largest_exponent(plan->type) ? exponent : 0;
}

enum { LANES = 8 };

/* Sum of the values times `up` and `down`, and whether some are negative. Lanes do not wait for
 * each other, and the order of additions is always the same. */
static inline __attribute__((always_inline)) double
plan_sum_of(const polyad_tensor *tensor, polyad_type type, double up, double down, bool *negative) {
  double lane[LANES] = {0}, sum = 0;
  uint64_t below[LANES] = {0}, whole = tensor->nnz / LANES * LANES;
  for (uint64_t p = 0; p < tensor->nnz; p += LANES) {
    const uint64_t lanes = p < whole ? LANES : tensor->nnz - whole;
    for (uint64_t k = 0; k < lanes; ++k) {
      double value = pd_load(type, tensor->values, p + k);
      lane[k] += value * up * down;
      below[k] |= value < 0;
    }
  }
  for (int k = 0; k < LANES; ++k) {
    sum += lane[k];
    *negative |= below[k] != 0;
  }
  return sum;
}

/* Sum of the values, and the first that is negative. */
static void plan_look_at_values(polyad_plan *plan, const polyad_tensor *tensor) {
  int half = -plan->value_exponent / 2; /* 2^1074 alone is no double */
  double up = ldexp(1, half), down = ldexp(1, -plan->value_exponent - half);
  bool negative = false;
  uint64_t p = 0;
  plan->sum = tensor->type == POLYAD_F64 ? plan_sum_of(tensor, POLYAD_F64, up, down, &negative)
                                         : plan_sum_of(tensor, POLYAD_F32, up, down, &negative);
  if (!negative) return;
  while (pd_tensor_value(tensor, p) >= 0)
    ++p;
  plan->negative.found = true;
  plan->negative.value = pd_tensor_value(tensor, p);
  for (int n = 0; n < tensor->order; ++n)
    plan->negative.index[n] = pd_tensor_index(tensor, n, p);
}

static void plan_take_shape(polyad_plan *plan, const polyad_tensor *tensor) {
  plan->order = tensor->order;
  memcpy(plan->dims, tensor->dims, sizeof plan->dims);
  plan->nnz = tensor->nnz;
  plan->zeros = tensor->zeros_kept > 0 ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
  plan->type = tensor->type;
}

/* The facts that need no pass from front to back. */
static polyad_status plan_take_norm(polyad_plan *plan, const polyad_tensor *tensor,
                                    const struct pd_request *request) {
  plan_take_shape(plan, tensor);
  plan->norm_square_scaled = pd_sum_of_squares(plan->context, tensor->nnz, tensor->type,
                                               tensor->values, &plan->norm_exponent);
  if (request->part != NULL) PD_TRY(pd_part_share_norm(plan->context, request->part, plan));
  plan->norm = ldexp(sqrt(plan->norm_square_scaled), plan->norm_exponent);
  plan->value_exponent = request->keep_values ? 0 : pd_plan_scaling(plan);
  return POLYAD_OK;
}

polyad_status pd_plan_take_facts(polyad_plan *plan, const polyad_tensor *tensor,
                                 const struct pd_request *request) {
  PD_TRY(plan_take_norm(plan, tensor, request));
  /* Two passes that go from front to back: beside each other they take as long as one. */
  int threads = pd_threads_for(plan->context, tensor->nnz, 1 << 16) > 1 ? 2 : 1;
#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    if (request->part == NULL) plan->tensor_hash = polyad_tensor_hash(tensor);
#pragma omp section
    plan_look_at_values(plan, tensor);
  }
  return request->part != NULL ? pd_part_share_facts(plan->context, request->part, plan)
                               : POLYAD_OK;
}

/* ---- facts beside building --------------------------------------------------------------------
 */

enum { FACTS = 2 };

/* The two passes in threads of their own, while a device builds from the tensor. */
struct facts {
  polyad_plan *plan;
  const polyad_tensor *tensor;
  pthread_t thread[FACTS];
  bool runs[FACTS];
};

static void *facts_hash(void *user) {
  struct facts *facts = user;
  facts->plan->tensor_hash = polyad_tensor_hash(facts->tensor);
  return NULL;
}

static void *facts_look(void *user) {
  struct facts *facts = user;
  plan_look_at_values(facts->plan, facts->tensor);
  return NULL;
}

/* Starts them; where a thread cannot be started its pass is done here. The tensor is to stay as it
 * is until facts_end(). */
static void facts_begin(polyad_plan *plan, const polyad_tensor *tensor, struct facts *facts) {
  void *(*const pass[FACTS])(void *) = {facts_hash, facts_look};
  *facts = (struct facts){.plan = plan, .tensor = tensor};
  for (int k = 0; k < FACTS; ++k) {
    facts->runs[k] = pthread_create(&facts->thread[k], NULL, pass[k], facts) == 0;
    if (!facts->runs[k]) (void)pass[k](facts);
  }
}

static void facts_end(struct facts *facts) {
  for (int k = 0; k < FACTS; ++k) {
    if (facts->runs[k]) (void)pthread_join(facts->thread[k], NULL);
    facts->runs[k] = false;
  }
}

uint64_t pd_plan_sum_depth(const polyad_plan *plan, const polyad_workspace *workspace, int mode) {
  uint64_t longest = plan->longest_row[mode];
  /* The host's kernels add blocks up in double, one after the other: in float64 that counts too. */
  bool one_type = plan->type == POLYAD_F64 && plan->device->functions->host_memory;
  if (plan->kernels->sum_depth == NULL || one_type) return longest;
  return plan->kernels->sum_depth(plan->on_device, workspace->scratch, mode, longest);
}

polyad_status pd_plan_take_stored_norm(polyad_context *context, polyad_plan *plan) {
  polyad_tensor *stored = NULL;
  PD_TRY(pd_plan_expand(context, plan, &stored));
  plan->norm_square_scaled =
      pd_sum_of_squares(context, stored->nnz, stored->type, stored->values, &plan->norm_exponent);
  plan->norm_exponent += plan->value_exponent;
  plan->norm = ldexp(sqrt(plan->norm_square_scaled), plan->norm_exponent);
  polyad_tensor_destroy(stored);
  return POLYAD_OK;
}

void pd_plan_scale_values(polyad_tensor *tensor, int exponent) {
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    if (tensor->type == POLYAD_F64)
      ((double *)tensor->values)[p] = ldexp(((double *)tensor->values)[p], exponent);
    else
      ((float *)tensor->values)[p] = ldexpf(((float *)tensor->values)[p], exponent);
  }
}

static polyad_status plan_store(polyad_context *context, polyad_tensor *tensor, bool take,
                                const struct pd_request *request, polyad_plan *plan) {
  bool scales = plan->value_exponent != 0 && !pd_tensor_is_elsewhere(tensor);
  if (scales && !take) {
    polyad_tensor *copy;
    PD_TRY(polyad_tensor_convert(context, tensor, tensor->type, &copy));
    polyad_status status = plan_store(context, copy, true, request, plan);
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

static polyad_status measure_or_recall(polyad_context *context, const polyad_tensor *tensor,
                                       const struct pd_request *request,
                                       const polyad_plan_options *options,
                                       struct pd_candidate *candidates, int count) {
  /* What was measured is kept by the tensor's hash, which takes its arrays. */
  const char *cache = pd_tensor_is_elsewhere(tensor) ? NULL : options->tune_cache;
  if (cache != NULL && pd_candidates_recall(context, cache, tensor, request, candidates, count))
    return POLYAD_OK;
  PD_TRY(pd_candidates_measure(context, tensor, request, candidates, count));
  if (cache != NULL) pd_candidates_remember(context, cache, tensor, request, candidates, count);
  return POLYAD_OK;
}

/* Whether the passes over the tensor run beside building: on a device that has its own copy of it
 * by then. The host's builders have work for all threads, and may give up the tensor's arrays. */
static bool passes_beside(const struct pd_request *request, const polyad_tensor *tensor) {
  return request->part == NULL && request->device->functions->build != NULL &&
         tensor->nnz >= 1 << 16 && !pd_tensor_is_elsewhere(tensor);
}

/* What building takes, or else the storage, a workspace and what CP-ALS keeps: factors and spares,
 * and its small matrices. */
static uint64_t predict_device_bytes(const polyad_context *context, const struct pd_traits *traits,
                                     const struct pd_request *request,
                                     const struct pd_candidate *chosen) {
  const struct pd_device *device = request->device;
  uint64_t rank = request->rank, rows = 0, small = 0;
  if (device->functions->memory_used == NULL) return 0;
  for (int n = 0; n < traits->order; ++n) {
    rows = pd_add_saturated(rows, traits->dims[n]);
    small = pd_add_saturated(small, pd_mul_saturated(rank, (rank + 1) * sizeof(double)));
  }
  small = pd_add_saturated(small, pd_mul_saturated(rank, (rank + 2) * sizeof(double)));
  small = pd_add_saturated(small, device->linalg->work_bytes(rank, polyad_threads(context)));
  uint64_t stride = pd_factor_stride(device, request->precision, rank);
  uint64_t spares = pd_mul_saturated(rows, stride * pd_type_bytes(request->precision));
  small =
      pd_add_saturated(small, pd_factor_copy_bytes(device, request->precision,
                                                   pd_longest(traits->order, traits->dims), rank));
  uint64_t runs = pd_add_saturated(pd_add_saturated(chosen->device_bytes, spares), small);
  uint64_t builds = pd_storage_device_bytes(chosen->format, traits, request, chosen->storage_bytes);
  return builds > runs ? builds : runs;
}

polyad_status pd_plan_create_one(polyad_context *context, polyad_tensor *tensor, bool take,
                                 struct pd_request *request, const polyad_plan_options *options,
                                 polyad_plan **result) {
  polyad_status status = POLYAD_OK;
  polyad_plan *plan = NULL;
  struct pd_traits traits;
  struct pd_candidate *candidates = NULL;
  struct facts facts = {0};
  struct pd_build *sent = NULL;
  bool beside = passes_beside(request, tensor), there = pd_tensor_is_elsewhere(tensor);
  int count, choice;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &plan));
  PD_TRY_CLEANUP(PD_NEW(context, PD_CANDIDATES_MAX, &candidates));
  plan->context = context;
  if (beside) {
    PD_TRY_CLEANUP(plan_take_norm(plan, tensor, request));
    facts_begin(plan, tensor, &facts);
    request->sent = &sent;
    if (plan->value_exponent == 0) PD_TRY_CLEANUP(pd_sent_begin(context, tensor, request));
  }
  if (there) {
    plan_take_shape(plan, tensor);
    PD_TRY_CLEANUP(pd_plan_take_facts_there(plan, request));
  }
  PD_TRY_CLEANUP(pd_candidates_traits(context, tensor, request, &traits));
  request->traits = &traits; /* for as long as this function runs */
  pd_candidates_list(context, &traits, request, candidates, &count);
  if (there) pd_candidates_built_there(&traits, request, candidates, count);
  if (tunes(options))
    PD_TRY_CLEANUP(measure_or_recall(context, tensor, request, options, candidates, count));
  if (!request->device->functions->host_memory) /* a lost device seems to have no memory */
    PD_TRY_CLEANUP(request->device->functions->synchronize(context, request->device));
  PD_TRY_CLEANUP(pd_candidates_choose(context, candidates, count, request->sweeps, &choice));
  request->variant = candidates[choice].variant;
  memcpy(request->parameter, candidates[choice].parameter, sizeof request->parameter);
  plan->device = request->device;
  plan->device_bytes = predict_device_bytes(context, &traits, request, &candidates[choice]);
  plan->compute = request->compute;
  plan->format = candidates[choice].format;
  plan->kernels = candidates[choice].kernels;
  snprintf(plan->devices, sizeof plan->devices, "%s", plan->device->name);
  memcpy(plan->longest_row, traits.slice_max, sizeof plan->longest_row);
  if (!beside && !there) PD_TRY_CLEANUP(pd_plan_take_facts(plan, tensor, request));
  if (plan->value_exponent != 0) facts_end(&facts); /* values are scaled where they are */
  PD_TRY_CLEANUP(
      plan_store(context, tensor, take && !facts.runs[0] && !facts.runs[1], request, plan));
  facts_end(&facts);
  if (request->compute != POLYAD_COMPUTE_NATIVE)
    PD_TRY_CLEANUP(pd_plan_take_stored_norm(context, plan));
  pd_candidates_explain(candidates, count, choice, plan->variant, request, tunes(options),
                        plan->explanation);
  pd_log(context, POLYAD_LOG_INFO, "%s", plan->explanation);
  *result = plan;
  plan = NULL;
cleanup:
  facts_end(&facts);
  pd_sent_end(context, request);
  request->sent = NULL;
  request->traits = NULL;
  pd_free(context, candidates);
  polyad_plan_destroy(plan);
  return status;
}

static polyad_status plan_create(polyad_context *context, polyad_tensor *tensor, bool take,
                                 struct pd_request *request, const polyad_plan_options *options,
                                 polyad_plan **plan) {
  struct pd_device_list devices;
  PD_TRY(pd_device_list_of(context, &devices));
  bool several = pd_device_list_is_team(&devices);
  if (options->team != NULL && several)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "a process of a team computes on one device; %d found", devices.count);
  if (options->team != NULL) return pd_part_plan_create(context, tensor, request, options, plan);
  if (several) return pd_members_plan_create(context, tensor, &devices, options, plan);
  if (request->second != NULL) return pd_pair_create(context, tensor, request, options, plan);
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
  if (tensor == NULL || plan == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "tensor or plan is NULL");
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
  if (tensor == NULL || *tensor == NULL || plan == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "tensor or plan is NULL");
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
  if (tensor == NULL || bytes == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "tensor or bytes is NULL");
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
