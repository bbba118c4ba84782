/* The factor match score (E. Acar, D. M. Dunlavy, T. G. Kolda, M. Morup, Scalable tensor
 * factorizations for incomplete data, 2011), as the Tensor Toolbox's `score` computes it. */
#include "tensor/ktensor_scale.h"
#include <inttypes.h>
#include <math.h>

static polyad_status check_pair(polyad_context *context, const polyad_ktensor *a,
                                const polyad_ktensor *b) {
  PD_EXPECT(context, a != NULL && b != NULL, "a NULL where a model was expected");
  if (a->order != b->order)
    return pd_fail(context, POLYAD_MISMATCH, "the models have orders %d and %d; expected the same",
                   a->order, b->order);
  for (int n = 0; n < a->order; ++n)
    if (a->dims[n] != b->dims[n])
      return pd_fail(context, POLYAD_MISMATCH,
                     "mode %d has length %" PRIu64 " in one model and %" PRIu64
                     " in the other; expected the same",
                     pd_shown_mode(context, n), a->dims[n], b->dims[n]);
  return POLYAD_OK;
}

/* Sizes of the components of a scaled model. */
struct component_lengths {
  double *columns; /* product of the column norms */
  double *weights; /* times the magnitude of the coefficient */
};

static void find_lengths(const polyad_context *context, const struct pd_scaled_model *model,
                         struct component_lengths *lengths) {
  for (uint64_t first = 0; first < model->rank; first += PD_COLUMN_CHUNK) {
    uint64_t rest = model->rank - first;
    int count = rest < PD_COLUMN_CHUNK ? (int)rest : PD_COLUMN_CHUNK;
    double *columns = lengths->columns + first;
    for (int c = 0; c < count; ++c)
      columns[c] = 1;
    for (int n = 0; n < model->order; ++n) {
      double norm[PD_COLUMN_CHUNK];
      double peak[PD_COLUMN_CHUNK];
      int exponent[PD_COLUMN_CHUNK]; /* zero: a scaled model is tame */
      struct pd_columns view = {context,     (void *)(uintptr_t)model->factor[n],
                                model->type, model->dims[n],
                                model->rank, first,
                                count};
      pd_columns_norm(&view, false, norm, exponent, peak);
      for (int c = 0; c < count; ++c)
        columns[c] *= ldexp(norm[c], exponent[c]);
    }
    for (int c = 0; c < count; ++c)
      lengths->weights[first + (uint64_t)c] =
          columns[c] * fabs(model->coefficient[first + (uint64_t)c]);
  }
}

static double penalty(double weight_a, double weight_b) {
  double larger = weight_a > weight_b ? weight_a : weight_b;
  return larger == 0 ? 1 : 1 - fabs(weight_a - weight_b) / larger;
}

/* Congruences into `gram`, which holds inner products of components. */
static void congruences(const struct pd_scaled_model *a, const struct pd_scaled_model *b,
                        const struct component_lengths *length_a,
                        const struct component_lengths *length_b, int weights, double *gram) {
  int larger = a->exponent > b->exponent ? a->exponent : b->exponent;
  for (uint64_t r = 0; r < a->rank; ++r)
    for (uint64_t s = 0; s < b->rank; ++s) {
      double *cell = &gram[r * b->rank + s], norms = length_a->columns[r] * length_b->columns[s];
      *cell = norms == 0 ? 0 : fabs(*cell) / norms;
      if (*cell > 1) *cell = 1; /* rounding */
      if (weights != 0)
        *cell *= penalty(ldexp(length_a->weights[r], a->exponent - larger),
                         ldexp(length_b->weights[s], b->exponent - larger));
    }
}

/* Pairs the most alike first; among equals the earlier component of b, then of a. A negative
 * entry marks what is taken. */
static double match_greedily(uint64_t rank_a, uint64_t rank_b, double *alike, uint64_t *matching) {
  double total = 0;
  for (uint64_t pair = 0; pair < rank_b; ++pair) {
    double best = -1;
    uint64_t best_a = 0, best_b = 0;
    for (uint64_t s = 0; s < rank_b; ++s)
      for (uint64_t r = 0; r < rank_a; ++r)
        if (alike[r * rank_b + s] > best) {
          best = alike[r * rank_b + s];
          best_a = r;
          best_b = s;
        }
    total += best;
    if (matching != NULL) matching[best_b] = best_a;
    for (uint64_t r = 0; r < rank_a; ++r)
      alike[r * rank_b + best_b] = -1;
    for (uint64_t s = 0; s < rank_b; ++s)
      alike[best_a * rank_b + s] = -1;
  }
  return total / (double)rank_b;
}

polyad_status polyad_ktensor_score(polyad_context *context, const polyad_ktensor *a,
                                   const polyad_ktensor *b, int weights, double *score,
                                   uint64_t *matching) {
  PD_ENTER(context);
  PD_TRY(check_pair(context, a, b));
  PD_EXPECT(context, score != NULL, "no place for the score (NULL)");
  if (a->rank < b->rank) {
    const polyad_ktensor *swapped = a;
    a = b;
    b = swapped;
  }
  polyad_status status = POLYAD_OK;
  struct pd_scaled_model model_a = {0}, model_b = {0};
  double *alike = NULL, *lengths = NULL;
  PD_TRY_CLEANUP(pd_scale_model(context, a, &model_a));
  PD_TRY_CLEANUP(pd_scale_model(context, b, &model_b));
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(a->rank, b->rank), &alike));
  PD_TRY_CLEANUP(PD_NEW(context, 2 * (a->rank + b->rank), &lengths));
  PD_TRY_CLEANUP(pd_model_gram(context, &model_a, &model_b, alike));
  struct component_lengths length_a = {lengths, lengths + a->rank};
  struct component_lengths length_b = {lengths + 2 * a->rank, lengths + 2 * a->rank + b->rank};
  find_lengths(context, &model_a, &length_a);
  find_lengths(context, &model_b, &length_b);
  congruences(&model_a, &model_b, &length_a, &length_b, weights, alike);
  for (uint64_t e = 0; e < a->rank * b->rank; ++e)
    if (isnan(alike[e])) alike[e] = 0;
  *score = match_greedily(a->rank, b->rank, alike, matching);

cleanup:
  PD_FREE(context, lengths, alike);
  pd_unscale_model(context, &model_b);
  pd_unscale_model(context, &model_a);
  return status;
}
