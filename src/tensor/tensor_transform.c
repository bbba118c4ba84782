/* Values changed before a decomposition: logarithms, tf-idf, slices scaled to one size.
 *
 * All three leave cells that are not stored at zero, so the tensor stays as sparse as it is; that
 * is why there is no centring. A mode's numbers (weights of terms, sizes of slices) stand in an
 * array with a place for each index, or, where a mode is much longer than the tensor has nonzeros,
 * for each index that occurs. */
#include "core/radix_sort.h"
#include "tensor/tensor.h"
#include "tensor/tensor_merge.h"
#include <math.h>
#include <polyad/transform.h>
#include <string.h>

/* The indices of a mode that have a place. */
struct places {
  const polyad_tensor *tensor;
  int mode;
  uint64_t count;
  uint64_t *used; /* sorted indices that occur; NULL: every index has its place */
};

static polyad_status list_slices(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 struct places *places) {
  *places = (struct places){tensor, mode, tensor->dims[mode], NULL};
  if (places->count / 2 <= tensor->nnz) return POLYAD_OK;
  PD_TRY(PD_NEW(context, tensor->nnz, &places->used));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    places->used[p] = pd_tensor_index(tensor, mode, p);
  PD_TRY(
      pd_sort_u64(context, tensor->nnz, places->used, pd_index_bits(tensor->dims[mode]), NULL, 0));
  places->count = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    if (p == 0 || places->used[p] != places->used[places->count - 1])
      places->used[places->count++] = places->used[p];
  return POLYAD_OK;
}

static uint64_t slice_place(const struct places *places, uint64_t p) {
  uint64_t index = pd_tensor_index(places->tensor, places->mode, p), first = 0;
  if (places->used == NULL) return index;
  for (uint64_t end = places->count; end - first > 1;) {
    uint64_t middle = first + (end - first) / 2;
    if (places->used[middle] <= index)
      first = middle;
    else
      end = middle;
  }
  return first;
}

/* The error of the first nonzero that a step cannot take. */
static polyad_status fail_value(polyad_context *context, polyad_status status,
                                const polyad_tensor *tensor, uint64_t p, const char *what) {
  char text[PD_COORDINATE_BYTES];
  return pd_fail(context, status, "value %.17g at coordinate %s (counted from 1) %s",
                 pd_tensor_value(tensor, p), pd_tensor_coordinate_text(text, tensor, p), what);
}

static polyad_status take_logarithms(polyad_context *context, polyad_tensor *tensor) {
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    double value = pd_tensor_value(tensor, p);
    if (!(value > -1))
      return fail_value(context, POLYAD_INVALID_ARGUMENT, tensor, p,
                        "has no logarithm of 1 + x; expected values above -1");
    pd_store(tensor->type, tensor->values, p, log1p(value));
  }
  return POLYAD_OK;
}

/* A tensor of two modes that has a nonzero for each pair of a term and a document that occur. */
static polyad_status find_pairs(polyad_context *context, const polyad_tensor *tensor,
                                const polyad_transform *step, polyad_tensor **pairs) {
  const int mode[] = {step->mode, step->documents};
  const uint64_t dims[] = {tensor->dims[step->mode], tensor->dims[step->documents]};
  size_t bytes = pd_type_bytes(tensor->type);
  void *index[2] = {NULL, NULL}, *values = NULL;
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < 2; ++k) {
    size_t width = (size_t)tensor->index_bytes[mode[k]];
    PD_TRY_CLEANUP(pd_alloc(context, tensor->nnz, width, &index[k]));
    pd_copy(context, index[k], tensor->index[mode[k]], tensor->nnz * width);
  }
  PD_TRY_CLEANUP(pd_alloc(context, tensor->nnz, bytes, &values));
  pd_copy(context, values, tensor->values, tensor->nnz * bytes);
  /* Values are not negative: the largest of a pair is zero only where all are, which then goes. */
  status = pd_tensor_create_take(context, 2, dims, tensor->nnz, tensor->type, index, &values,
                                 POLYAD_DUPLICATES_MAX, POLYAD_ZEROS_DROP, pairs);
cleanup:
  PD_FREE(context, index[0], index[1], values);
  return status;
}

/* Each value times ln((1 + D) / (1 + d)) + 1, where d of all D documents have its term. */
static polyad_status weigh_terms(polyad_context *context, polyad_tensor *tensor,
                                 const polyad_transform *step) {
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    if (pd_tensor_value(tensor, p) < 0)
      return fail_value(context, POLYAD_INVALID_ARGUMENT, tensor, p,
                        "is no frequency of a term; expected values of at least 0 for tf-idf");
  polyad_tensor *pairs = NULL;
  struct places places = {0};
  double *weight = NULL;
  polyad_status status = find_pairs(context, tensor, step, &pairs);
  if (status == POLYAD_OK) status = list_slices(context, tensor, step->mode, &places);
  if (status == POLYAD_OK) status = PD_NEW_ZERO(context, places.count, &weight);
  if (status == POLYAD_OK) {
    /* The pairs' terms are some of the tensor's, whose places serve both. */
    struct places of_pairs = places;
    of_pairs.tensor = pairs;
    of_pairs.mode = 0;
    for (uint64_t q = 0; q < pairs->nnz; ++q)
      weight[slice_place(&of_pairs, q)] += 1;
    double documents = (double)tensor->dims[step->documents];
    for (uint64_t k = 0; k < places.count; ++k)
      weight[k] = log((1 + documents) / (1 + weight[k])) + 1;
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      pd_store(tensor->type, tensor->values, p,
               pd_tensor_value(tensor, p) * weight[slice_place(&places, p)]);
  }
  PD_FREE(context, weight, places.used);
  polyad_tensor_destroy(pairs);
  return status;
}

/* Each slice of a mode divided by its norm, its sum of magnitudes or its largest magnitude. Sums
 * are relative to the largest magnitude, so that squares neither overflow nor vanish. */
static polyad_status scale_slices(polyad_context *context, polyad_tensor *tensor,
                                  const polyad_transform *step) {
  struct places places;
  double *most = NULL, *sum = NULL;
  polyad_status status = list_slices(context, tensor, step->mode, &places);
  if (status == POLYAD_OK) status = PD_NEW_ZERO(context, places.count, &most);
  if (status == POLYAD_OK) status = PD_NEW_ZERO(context, places.count, &sum);
  if (status == POLYAD_OK) {
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      uint64_t k = slice_place(&places, p);
      most[k] = fmax(most[k], fabs(pd_tensor_value(tensor, p)));
    }
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      uint64_t k = slice_place(&places, p);
      double share = most[k] > 0 ? fabs(pd_tensor_value(tensor, p)) / most[k] : 0;
      sum[k] += step->kind == POLYAD_TRANSFORM_SCALE_NORM ? share * share : share;
    }
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      uint64_t k = slice_place(&places, p);
      double size = step->kind == POLYAD_TRANSFORM_SCALE_NORM  ? sqrt(sum[k])
                    : step->kind == POLYAD_TRANSFORM_SCALE_SUM ? sum[k]
                                                               : 1;
      if (most[k] > 0)
        pd_store(tensor->type, tensor->values, p, pd_tensor_value(tensor, p) / most[k] / size);
    }
  }
  PD_FREE(context, sum, most, places.used);
  return status;
}

static polyad_status tensor_transform_check_mode(polyad_context *context,
                                                 const polyad_tensor *tensor, int mode) {
  if (mode >= 0 && mode < tensor->order) return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT, "a transform of mode %d; expected %d to %d",
                 pd_shown_mode(context, mode), pd_shown_mode(context, 0),
                 pd_shown_mode(context, tensor->order - 1));
}

static polyad_status apply_transform(polyad_context *context, polyad_tensor *tensor,
                                     const polyad_transform *step) {
  if (step->kind == POLYAD_TRANSFORM_LOG1P) return take_logarithms(context, tensor);
  if ((int)step->kind < POLYAD_TRANSFORM_LOG1P || step->kind > POLYAD_TRANSFORM_SCALE_MAX)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "a transform of kind %d; expected one of polyad_transform_kind",
                   (int)step->kind);
  PD_TRY(tensor_transform_check_mode(context, tensor, step->mode));
  if (step->kind != POLYAD_TRANSFORM_TF_IDF) return scale_slices(context, tensor, step);
  PD_TRY(tensor_transform_check_mode(context, tensor, step->documents));
  PD_EXPECT(context, step->documents != step->mode,
            "tf-idf has mode %d both as terms and as documents; expected two modes",
            pd_shown_mode(context, step->mode));
  PD_TRY(weigh_terms(context, tensor, step));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    if (!isfinite(pd_tensor_value(tensor, p)))
      return fail_value(context, POLYAD_NUMERICAL, tensor, p,
                        "does not fit its type after tf-idf; expected smaller values");
  return POLYAD_OK;
}

polyad_status polyad_tensor_transform(polyad_context *context, const polyad_tensor *tensor,
                                      const polyad_transform *steps, int count,
                                      polyad_tensor **transformed) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (transformed != NULL) *transformed = NULL;
  if (tensor == NULL || transformed == NULL || count < 0 || (steps == NULL && count > 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "no tensor, steps or place for the result; expected all three");
  polyad_tensor *made;
  PD_TRY(polyad_tensor_convert(context, tensor, tensor->type, &made));
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < count && status == POLYAD_OK; ++k)
    status = apply_transform(context, made, &steps[k]);
  /* What has become too small for its type is zero, and treated as the tensor's zeros are. */
  if (status == POLYAD_OK) status = pd_tensor_merge(context, made, POLYAD_DUPLICATES_SUM, true);
  if (status != POLYAD_OK) {
    polyad_tensor_destroy(made);
    return status;
  }
  *transformed = made;
  return POLYAD_OK;
}
