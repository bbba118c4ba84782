/* How well a model predicts the entries of a tensor: errors, and how it ranks entries above 0 among
 * entries that are 0. Groups of entries that differ in one mode alone (say, the items of one user
 * and context) are ranked each by itself. */
#include "algorithms/model_values.h"
#include "tensor/ktensor_scale.h"
#include <math.h>
#include <polyad/completion.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 1 << 12 };

struct item {
  const polyad_tensor *tensor;
  uint64_t place;
  int mode; /* in which entries of a group differ */
  double prediction, value;
};

static polyad_status ktensor_predict_check(polyad_context *context, const polyad_ktensor *model,
                                           const polyad_tensor *tensor, int mode, int k) {
  if (tensor->order != model->order)
    return pd_fail(context, POLYAD_MISMATCH, "the tensor has %d modes; expected %d, as the model",
                   tensor->order, model->order);
  PD_TRY(pd_check_mode(context, mode, model->order));
  PD_EXPECT(context, k >= 1, "k %d found; expected at least 1", k);
  for (int n = 0; n < model->order; ++n)
    for (uint64_t q = 0; q < tensor->nnz; ++q)
      if (pd_tensor_index(tensor, n, q) >= model->dims[n])
        return pd_fail(context, POLYAD_MISMATCH,
                       "the tensor has index %llu in mode %d; the model's last is %llu",
                       (unsigned long long)pd_shown(context, pd_tensor_index(tensor, n, q)),
                       pd_shown_mode(context, n),
                       (unsigned long long)pd_shown(context, model->dims[n] - 1));
  return POLYAD_OK;
}

static void find_values_here(polyad_context *context, const struct pd_scaled_model *model,
                             const polyad_tensor *tensor, double *values) {
  int threads = pd_threads_for(context, tensor->nnz, GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t q = 0; q < tensor->nnz; ++q) {
    uint64_t cell[POLYAD_MAX_ORDER];
    for (int n = 0; n < tensor->order; ++n)
      cell[n] = pd_tensor_index(tensor, n, q);
    values[q] = pd_model_value(model, cell);
  }
}

static polyad_status find_values_there(polyad_context *context, const struct pd_device *device,
                                       const struct pd_scaled_model *model,
                                       const polyad_tensor *tensor, double *values) {
  struct pd_double_model wide = {.order = model->order, .rank = model->rank};
  polyad_status status = POLYAD_OK;
  wide.weight = model->coefficient;
  for (int n = 0; n < model->order; ++n) {
    uint64_t count = pd_mul_saturated(model->dims[n], model->rank);
    wide.rows[n] = model->dims[n];
    PD_TRY_CLEANUP(PD_NEW(context, count, &wide.factor[n]));
    for (uint64_t k = 0; k < count; ++k)
      wide.factor[n][k] = pd_load(model->type, model->factor[n], k);
  }
  status = pd_values_on_device(context, device, &wide, tensor, values);
cleanup:
  for (int n = 0; n < model->order; ++n)
    pd_free(context, wide.factor[n]);
  return status;
}

static polyad_status find_values(polyad_context *context, const polyad_ktensor *model,
                                 const polyad_tensor *tensor, double *values,
                                 char name[PD_DEVICE_NAME]) {
  const struct pd_device *device;
  struct pd_scaled_model scaled;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_values_device(context, tensor, &device, name));
  PD_TRY(pd_scale_model(context, model, &scaled));
  if (device == NULL)
    find_values_here(context, &scaled, tensor, values);
  else
    status = find_values_there(context, device, &scaled, tensor, values);
  for (uint64_t q = 0; q < tensor->nnz && scaled.exponent != 0 && status == POLYAD_OK; ++q)
    values[q] = ldexp(values[q], scaled.exponent);
  pd_unscale_model(context, &scaled);
  return status;
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Errors are squared in units of a power of two near the largest, so that none of values such as
 * 1e200 overflows and none of 1e-200 vanishes. */
static void find_errors(const polyad_tensor *tensor, const double *values,
                        polyad_prediction_score *score) {
  double squares = 0, sizes = 0, largest = 0;
  int exponent;
  for (uint64_t q = 0; q < tensor->nnz; ++q)
    largest = fmax(largest, fabs(pd_tensor_value(tensor, q) - values[q]));
  (void)frexp(largest, &exponent);
  for (uint64_t q = 0; q < tensor->nnz; ++q) {
    double x = pd_tensor_value(tensor, q), error = ldexp(x - values[q], -exponent);
    squares += error * error;
    sizes += fabs(error);
    score->positives += x > 0;
    score->negatives += x == 0;
  }
  score->rmse = ldexp(sqrt(squares / (double)tensor->nnz), exponent);
  score->mae = ldexp(sizes / (double)tensor->nnz, exponent);
}

/* ---- ranking -------------------------------------------------------------------------------- */

static int by_prediction(const void *left, const void *right) {
  const struct item *a = left, *b = right;
  if (a->prediction != b->prediction) return a->prediction > b->prediction ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static int compare_groups(const struct item *a, const struct item *b) {
  for (int n = 0; n < a->tensor->order; ++n) {
    if (n == a->mode) continue;
    uint64_t i = pd_tensor_index(a->tensor, n, a->place);
    uint64_t j = pd_tensor_index(b->tensor, n, b->place);
    if (i != j) return i < j ? -1 : 1;
  }
  return 0;
}

static int by_group(const void *left, const void *right) {
  int sign = compare_groups(left, right);
  return sign != 0 ? sign : by_prediction(left, right);
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a > b ? -1 : a < b;
}

/* Items sorted by prediction: the share of pairs of a positive and a negative in which the positive
 * stands first. Of equal predictions half the pairs count. */
static double find_auc(const struct item *item, uint64_t count) {
  double negatives_before = 0, pairs = 0, positives = 0;
  for (uint64_t k = 0; k < count;) {
    double up = 0, down = 0;
    uint64_t end = k;
    for (; end < count && item[end].prediction == item[k].prediction; ++end) {
      up += item[end].value > 0;
      down += item[end].value == 0;
    }
    pairs += up * (negatives_before + down / 2);
    negatives_before += down;
    positives += up;
    k = end;
  }
  return 1 - pairs / (positives * negatives_before);
}

static double discounted(double gain, uint64_t place) {
  return gain > 0 ? gain / log2((double)place + 2) : 0;
}

/* The gain of the first k places. Items of equal predictions share theirs: the mean over all their
 * orders, as their order is arbitrary. */
static double find_gain(const struct item *item, uint64_t count, int k) {
  double found = 0;
  for (uint64_t p = 0, end; p < count && p < (uint64_t)k; p = end) {
    double gains = 0, places = 0;
    for (end = p; end < count && item[end].prediction == item[p].prediction; ++end) {
      gains += fmax(item[end].value, 0);
      if (end < (uint64_t)k) places += discounted(1, end);
    }
    found += gains * places / (double)(end - p);
  }
  return found;
}

static double find_ndcg(const struct item *item, uint64_t count, int k, double *sorted) {
  double best = 0;
  for (uint64_t p = 0; p < count; ++p)
    sorted[p] = item[p].value;
  qsort(sorted, (size_t)count, sizeof *sorted, by_value);
  for (uint64_t p = 0; p < count && p < (uint64_t)k; ++p)
    best += discounted(sorted[p], p);
  return find_gain(item, count, k) / best;
}

/* How many of a group's positives have fewer than k negatives above them. */
static double count_hits(const struct item *item, uint64_t count, int k) {
  double above = 0, hits = 0;
  for (uint64_t p = 0; p < count;) {
    double up = 0, down = 0;
    uint64_t end = p;
    for (; end < count && item[end].prediction == item[p].prediction; ++end) {
      up += item[end].value > 0;
      down += item[end].value == 0;
    }
    if (above + down / 2 < k) hits += up;
    above += down;
    p = end;
  }
  return hits;
}

static void rank_groups(const struct item *item, uint64_t count, double *sorted,
                        polyad_prediction_score *score) {
  double hits = 0, gains = 0;
  uint64_t ranked = 0;
  for (uint64_t begin = 0, end; begin < count; begin = end) {
    uint64_t up = 0, down = 0;
    for (end = begin; end < count && compare_groups(&item[begin], &item[end]) == 0; ++end) {
      up += item[end].value > 0;
      down += item[end].value == 0;
    }
    if (up == 0 || down == 0) continue;
    ++score->groups;
    ranked += up;
    hits += count_hits(item + begin, end - begin, score->k);
    gains += find_ndcg(item + begin, end - begin, score->k, sorted);
  }
  if (score->groups == 0) return;
  score->hit_rate = hits / (double)ranked;
  score->ndcg = gains / (double)score->groups;
}

static polyad_status rank(polyad_context *context, const polyad_tensor *tensor,
                          const double *values, int mode, polyad_prediction_score *score) {
  struct item *item = NULL;
  double *sorted = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &item));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &sorted));
  for (uint64_t q = 0; q < tensor->nnz; ++q)
    item[q] = (struct item){tensor, q, mode, values[q], pd_tensor_value(tensor, q)};
  qsort(item, (size_t)tensor->nnz, sizeof *item, by_prediction);
  score->auc = find_auc(item, tensor->nnz);
  qsort(item, (size_t)tensor->nnz, sizeof *item, by_group);
  rank_groups(item, tensor->nnz, sorted, score);
cleanup:
  PD_FREE(context, item, sorted);
  return status;
}

polyad_status polyad_ktensor_predict(polyad_context *context, const polyad_ktensor *model,
                                     const polyad_tensor *tensor, double *values, int mode, int k,
                                     polyad_prediction_score *score) {
  double *mine = NULL;
  char name[PD_DEVICE_NAME];
  polyad_status status = POLYAD_OK;
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL && tensor != NULL, "model or tensor is NULL");
  PD_TRY(ktensor_predict_check(context, model, tensor, mode, k));
  if (values == NULL) {
    PD_TRY(PD_NEW(context, tensor->nnz, &mine));
    values = mine;
  }
  PD_TRY_CLEANUP(find_values(context, model, tensor, values, name));
  if (score == NULL) goto cleanup;
  polyad_prediction_score found = {.count = tensor->nnz,
                                   .rmse = NAN,
                                   .mae = NAN,
                                   .k = k,
                                   .hit_rate = NAN,
                                   .ndcg = NAN,
                                   .auc = NAN};
  memcpy(found.device, name, sizeof found.device);
  if (tensor->nnz > 0) find_errors(tensor, values, &found);
  if (found.positives > 0 && found.negatives > 0)
    PD_TRY_CLEANUP(rank(context, tensor, values, mode, &found));
  *score = found;
cleanup:
  pd_free(context, mine);
  return status;
}
