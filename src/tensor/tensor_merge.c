#include "tensor/tensor_merge.h"
#include "core/numbers.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { THREAD_GRAIN = 1 << 14 };

/* What one thread did with its part of the nonzeros. */
struct merge_part {
  uint64_t begin, end; /* whole runs of equal coordinates */
  uint64_t kept, merged, zeros;
  uint64_t bad_run, bad_length; /* first run that could not be merged; length 0: none */
};

const char *pd_coordinate_text(char out[PD_COORDINATE_BYTES], int order,
                               const uint64_t *coordinate) {
  int length = 0;
  for (int n = 0; n < order; ++n)
    length += snprintf(out + length, (size_t)(PD_COORDINATE_BYTES - length), "%s%" PRIu64,
                       n == 0 ? "(" : ", ", coordinate[n] + 1);
  snprintf(out + length, (size_t)(PD_COORDINATE_BYTES - length), ")");
  return out;
}

const char *pd_tensor_coordinate_text(char out[PD_COORDINATE_BYTES], const polyad_tensor *tensor,
                                      uint64_t p) {
  uint64_t coordinate[POLYAD_MAX_ORDER];
  pd_tensor_coordinate(tensor, p, coordinate);
  return pd_coordinate_text(out, tensor->order, coordinate);
}

static bool same_coordinate(const polyad_tensor *tensor, uint64_t p, uint64_t q) {
  for (int n = 0; n < tensor->order; ++n)
    if (pd_tensor_index(tensor, n, p) != pd_tensor_index(tensor, n, q)) return false;
  return true;
}

/* First place at or after p where a run begins. */
static uint64_t tensor_merge_run_start(const polyad_tensor *tensor, uint64_t p) {
  while (p > 0 && p < tensor->nnz && same_coordinate(tensor, p - 1, p))
    ++p;
  return p;
}

double pd_merging_end(const struct pd_merging *merging, polyad_duplicates duplicates,
                      polyad_type type) {
  double value = merging->value, count = (double)merging->count;
  if (duplicates == POLYAD_DUPLICATES_COUNT) value = count;
  if (duplicates == POLYAD_DUPLICATES_MEAN && merging->count > 1) value /= count;
  return type == POLYAD_F32 ? (double)(float)value : value;
}

polyad_status pd_merging_check(polyad_context *context, const struct pd_merging *merging,
                               double value, polyad_duplicates duplicates, polyad_type type,
                               int order, const uint64_t *coordinate) {
  char text[PD_COORDINATE_BYTES];
  if (merging->count > 1 && duplicates == POLYAD_DUPLICATES_ERROR)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "coordinate %s (counted from 1) occurs %" PRIu64
                   " times; expected once, or another policy for repeats",
                   pd_coordinate_text(text, order, coordinate), merging->count);
  if (isfinite(value)) return POLYAD_OK;
  return pd_fail(context, POLYAD_NUMERICAL,
                 "the sum of the %" PRIu64 " values at coordinate %s (counted from 1) is too "
                 "large for %s; expected a finite sum",
                 merging->count, pd_coordinate_text(text, order, coordinate),
                 type == POLYAD_F32 ? "float32" : "float64");
}

static struct pd_merging merged_run(const polyad_tensor *tensor, uint64_t begin, uint64_t end,
                                    polyad_duplicates duplicates) {
  struct pd_merging merging = {0};
  for (uint64_t p = begin; p < end; ++p)
    pd_merging_add(&merging, duplicates, pd_tensor_value(tensor, p));
  return merging;
}

static void store_value(polyad_tensor *tensor, uint64_t p, double value) {
  pd_store(tensor->type, tensor->values, p, value);
}

static void copy_coordinate(polyad_tensor *tensor, uint64_t to, uint64_t from) {
  for (int n = 0; n < tensor->order; ++n)
    if (tensor->index_bytes[n] == 4)
      ((uint32_t *)tensor->index[n])[to] = ((uint32_t *)tensor->index[n])[from];
    else
      ((uint64_t *)tensor->index[n])[to] = ((uint64_t *)tensor->index[n])[from];
}

static void merge_part(polyad_tensor *tensor, polyad_duplicates duplicates,
                       struct merge_part *part) {
  uint64_t to = part->begin, next;
  for (uint64_t p = part->begin; p < part->end; p = next) {
    next = p + 1;
    while (next < part->end && same_coordinate(tensor, p, next))
      ++next;
    part->merged += next - p - 1;
    const struct pd_merging merging = merged_run(tensor, p, next, duplicates);
    double value = pd_merging_end(&merging, duplicates, tensor->type);
    bool refused = next - p > 1 && duplicates == POLYAD_DUPLICATES_ERROR;
    if ((refused || !isfinite(value)) && part->bad_length == 0) {
      part->bad_run = p;
      part->bad_length = next - p;
      return; /* the coordinates stay as they are, for the message */
    }
    if (value == 0) {
      ++part->zeros;
      if (tensor->zeros == POLYAD_ZEROS_DROP) continue;
    }
    if (to != p) copy_coordinate(tensor, to, p);
    store_value(tensor, to++, value);
  }
  part->kept = to - part->begin;
}

static polyad_status check_parts(polyad_context *context, const polyad_tensor *tensor,
                                 polyad_duplicates duplicates, const struct merge_part *parts,
                                 int count) {
  for (int t = 0; t < count; ++t) {
    if (parts[t].bad_length == 0) continue;
    uint64_t coordinate[POLYAD_MAX_ORDER], begin = parts[t].bad_run;
    pd_tensor_coordinate(tensor, begin, coordinate);
    const struct pd_merging merging =
        merged_run(tensor, begin, begin + parts[t].bad_length, duplicates);
    PD_TRY(pd_merging_check(context, &merging, pd_merging_end(&merging, duplicates, tensor->type),
                            duplicates, tensor->type, tensor->order, coordinate));
  }
  return POLYAD_OK;
}

static void close_gaps(void *array, size_t item, const struct merge_part *parts, int count) {
  uint64_t to = parts[0].kept;
  for (int t = 1; t < count; ++t) {
    memmove((char *)array + to * item, (char *)array + parts[t].begin * item, parts[t].kept * item);
    to += parts[t].kept;
  }
}

/* Gives memory back where it is worth a copy. */
static polyad_status shrink(polyad_context *context, polyad_tensor *tensor, uint64_t before) {
  if (before - tensor->nnz <= before / 16) return POLYAD_OK;
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY(pd_realloc(context, tensor->nnz, (size_t)tensor->index_bytes[n], &tensor->index[n]));
  return pd_realloc(context, tensor->nnz, pd_type_bytes(tensor->type), &tensor->values);
}

static uint64_t count_zeros(const polyad_context *context, const polyad_tensor *tensor) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t found = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : found)
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    found += pd_tensor_value(tensor, p) == 0;
  return found;
}

polyad_status pd_tensor_merge(polyad_context *context, polyad_tensor *tensor,
                              polyad_duplicates duplicates, bool strict) {
  bool as_given = strict && duplicates != POLYAD_DUPLICATES_COUNT; /* values of what occurs once */
  uint64_t zeros = as_given ? count_zeros(context, tensor) : 0;
  tensor->zeros_kept = 0;
  if (as_given && (zeros == 0 || tensor->zeros == POLYAD_ZEROS_KEEP)) {
    tensor->zeros_kept = zeros;
    return POLYAD_OK;
  }
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t before = tensor->nnz;
  struct merge_part *parts;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads, &parts));
  for (int t = 0; t < threads; ++t) {
    parts[t].begin = tensor_merge_run_start(tensor, pd_part_begin(before, t, threads));
    if (t > 0) parts[t - 1].end = parts[t].begin;
  }
  parts[threads - 1].end = before;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    merge_part(tensor, duplicates, &parts[t]);

  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(check_parts(context, tensor, duplicates, parts, threads));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int n = -1; n < tensor->order; ++n)
    if (n < 0)
      close_gaps(tensor->values, pd_type_bytes(tensor->type), parts, threads);
    else
      close_gaps(tensor->index[n], (size_t)tensor->index_bytes[n], parts, threads);
  tensor->nnz = 0;
  for (int t = 0; t < threads; ++t) {
    tensor->nnz += parts[t].kept;
    tensor->repeats_merged += parts[t].merged;
    *(tensor->zeros == POLYAD_ZEROS_KEEP ? &tensor->zeros_kept : &tensor->zeros_dropped) +=
        parts[t].zeros;
  }
  status = shrink(context, tensor, before);

cleanup:
  pd_free(context, parts);
  return status;
}

polyad_status pd_tensor_drop_zeros(polyad_context *context, polyad_tensor *tensor) {
  tensor->zeros = POLYAD_ZEROS_DROP;
  return tensor->zeros_kept == 0 ? POLYAD_OK
                                 : pd_tensor_merge(context, tensor, POLYAD_DUPLICATES_SUM, true);
}
