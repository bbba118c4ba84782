/* What a plan knows of its tensor, whatever the format: norm, hash, sum, the first negative value.
 * Norms far out of the ordinary give a power of two that is taken out of all values. */
#include "plan/part.h"
#include "plan/plan_create.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

polyad_status pd_plan_check_counts(polyad_context *context, const polyad_plan *plan,
                                   const char *method) {
  char place[POLYAD_MAX_ORDER * 22 + 1] = "";
  int length = 0;
  if (!plan->negative.found) return POLYAD_OK;
  for (int n = 0; n < plan->order; ++n)
    length += snprintf(place + length, sizeof place - (size_t)length, "%s%" PRIu64,
                       n > 0 ? ", " : "", pd_shown(context, plan->negative.index[n]));
  return pd_fail(context, POLYAD_NUMERICAL,
                 "the value at (%s) is %g; %s expects counts, of at least 0 (indices from %d; it "
                 "is the first negative value)",
                 place, plan->negative.value, method, pd_shown_mode(context, 0));
}

/* The sum is formed in this many parts whatever the number of threads, each in several lanes that
 * do not wait for each other: the order of additions is always the same. */
enum { PARTS = 256, LANES = 8, THREAD_GRAIN = 1 << 15 };

/* Sum of the values from `first` to `end` times `up` and `down`, and whether some are negative, or
 * neither 0 nor 1. */
static inline __attribute__((always_inline)) double
sum_of_values(const polyad_tensor *tensor, polyad_type type, uint64_t first, uint64_t end,
              const double scale[2], bool *negative, bool *beside_bits) {
  double lane[LANES] = {0}, sum = 0;
  uint64_t below[LANES] = {0}, other[LANES] = {0};
  for (uint64_t p = first; p < end; p += LANES) {
    const uint64_t lanes = end - p < LANES ? end - p : LANES;
    for (uint64_t k = 0; k < lanes; ++k) {
      double value = pd_load(type, tensor->values, p + k);
      lane[k] += value * scale[0] * scale[1];
      below[k] |= value < 0;
      other[k] |= (uint64_t)(value != 0) & (uint64_t)(value != 1);
    }
  }
  for (int k = 0; k < LANES; ++k) {
    sum += lane[k];
    *negative |= below[k] != 0;
    *beside_bits |= other[k] != 0;
  }
  return sum;
}

/* Sum of the values, the first that is negative, and whether there are others than 0 and 1. */
static void look_at_values(polyad_plan *plan, const polyad_tensor *tensor) {
  double scale[2], sum[PARTS];
  pd_two_powers(plan->value_exponent, &scale[0], &scale[1]);
  bool negative[PARTS] = {false}, beside_bits[PARTS] = {false};
  int threads = pd_threads_for(plan->context, tensor->nnz, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    uint64_t first = pd_part_begin(tensor->nnz, part, PARTS);
    uint64_t end = pd_part_begin(tensor->nnz, part + 1, PARTS);
    sum[part] = tensor->type == POLYAD_F64 ? sum_of_values(tensor, POLYAD_F64, first, end, scale,
                                                           &negative[part], &beside_bits[part])
                                           : sum_of_values(tensor, POLYAD_F32, first, end, scale,
                                                           &negative[part], &beside_bits[part]);
  }
  int first_negative = 0;
  while (first_negative < PARTS && !negative[first_negative])
    ++first_negative;
  plan->sum = 0;
  plan->beside_bits = false;
  for (int part = 0; part < PARTS; ++part) {
    plan->sum += sum[part];
    plan->beside_bits |= beside_bits[part];
  }
  if (first_negative == PARTS) return;
  uint64_t p = pd_part_begin(tensor->nnz, first_negative, PARTS);
  while (pd_tensor_value(tensor, p) >= 0)
    ++p;
  plan->negative.found = true;
  plan->negative.value = pd_tensor_value(tensor, p);
  for (int n = 0; n < tensor->order; ++n)
    plan->negative.index[n] = pd_tensor_index(tensor, n, p);
}

void pd_plan_take_shape(polyad_plan *plan, const polyad_tensor *tensor) {
  plan->order = tensor->order;
  memcpy(plan->dims, tensor->dims, sizeof plan->dims);
  plan->nnz = tensor->nnz;
  plan->zeros = tensor->zeros_kept > 0 ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
  plan->type = tensor->type;
}

polyad_status pd_plan_take_norm(polyad_plan *plan, const polyad_tensor *tensor,
                                const struct pd_request *request) {
  pd_plan_take_shape(plan, tensor);
  plan->norm_square_scaled = pd_sum_of_squares(plan->context, tensor->nnz, tensor->type,
                                               tensor->values, &plan->norm_exponent);
  if (request->part != NULL) PD_TRY(pd_part_share_norm(plan->context, request->part, plan));
  plan->norm = ldexp(sqrt(plan->norm_square_scaled), plan->norm_exponent);
  plan->value_exponent = request->keep_values ? 0 : pd_plan_scaling(plan);
  return POLYAD_OK;
}

polyad_status pd_plan_take_facts(polyad_plan *plan, const polyad_tensor *tensor,
                                 const struct pd_request *request) {
  PD_TRY(pd_plan_take_norm(plan, tensor, request));
  if (request->part == NULL) plan->tensor_hash = polyad_tensor_hash(tensor);
  look_at_values(plan, tensor);
  return request->part != NULL ? pd_part_share_facts(plan->context, request->part, plan)
                               : POLYAD_OK;
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

/* ---- facts beside building --------------------------------------------------------------------
 */

static void *look_beside(void *user) {
  struct pd_facts_beside *facts = user;
  facts->plan->tensor_hash = polyad_tensor_hash(facts->tensor);
  look_at_values(facts->plan, facts->tensor);
  return NULL;
}

/* Where a thread cannot be started the passes are done here. */
void pd_facts_begin(polyad_plan *plan, const polyad_tensor *tensor, struct pd_facts_beside *facts) {
  *facts = (struct pd_facts_beside){.plan = plan, .tensor = tensor};
  facts->runs = pthread_create(&facts->thread, NULL, look_beside, facts) == 0;
  if (!facts->runs) (void)look_beside(facts);
}

void pd_facts_end(struct pd_facts_beside *facts) {
  if (facts->runs) (void)pthread_join(facts->thread, NULL);
  facts->runs = false;
}
