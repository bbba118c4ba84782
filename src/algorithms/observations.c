/* Observations and the order of each mode's rows: see observations.h. Mode 0 has the tensor's own
 * order; the device finds the others. */
#include "algorithms/observations.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GRAIN = 1 << 14 };

/* ---- cells ---------------------------------------------------------------------------------- */

static polyad_status observations_check_dims(polyad_context *context, const polyad_tensor *tensor) {
  for (int n = 0; n < tensor->order; ++n)
    if (tensor->dims[n] > UINT64_C(1) << 32)
      return pd_fail(context, POLYAD_UNSUPPORTED,
                     "mode %d has length %" PRIu64
                     "; completion, and rows that a device solves, take modes of up to 2^32",
                     pd_shown_mode(context, n), tensor->dims[n]);
  return POLYAD_OK;
}

static void take_cells(struct pd_observations *o, const polyad_tensor *tensor, int exponent) {
  int threads = pd_threads_for(o->context, o->count, GRAIN);
  for (int n = 0; n < o->order; ++n)
    if (o->count > 0) memcpy(o->cell[n], tensor->index[n], o->count * sizeof *o->cell[n]);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t q = 0; q < o->count; ++q)
    o->value[q] = ldexp(pd_tensor_value(tensor, q), -exponent);
}

static polyad_status refuse_cell(polyad_context *context, const polyad_tensor *tensor, uint64_t q,
                                 const char *what) {
  char place[POLYAD_MAX_ORDER * 22 + 1] = "";
  int length = 0;
  for (int n = 0; n < tensor->order; ++n)
    length += snprintf(place + length, sizeof place - (size_t)length, "%s%" PRIu64,
                       n > 0 ? ", " : "", pd_shown(context, pd_tensor_index(tensor, n, q)));
  return pd_fail(context, POLYAD_MISMATCH, "%s (%s) (indices from %d)", what, place,
                 pd_shown_mode(context, 0));
}

static bool observations_same_cell(const polyad_tensor *a, const polyad_tensor *b, uint64_t q) {
  for (int n = 0; n < a->order; ++n)
    if (pd_tensor_index(a, n, q) != pd_tensor_index(b, n, q)) return false;
  return true;
}

/* Both tensors are sorted, so that the cells must agree one by one. */
polyad_status pd_observations_check_weights(polyad_context *context, const polyad_tensor *tensor,
                                            const polyad_tensor *weights) {
  if (weights->order != tensor->order)
    return pd_fail(context, POLYAD_MISMATCH,
                   "the weights have %d modes; expected %d, as the tensor", weights->order,
                   tensor->order);
  uint64_t common = weights->nnz < tensor->nnz ? weights->nnz : tensor->nnz;
  for (uint64_t q = 0; q < common; ++q) {
    if (!observations_same_cell(tensor, weights, q))
      return refuse_cell(context, tensor, q, "tensor and weights differ in their cells, first at");
    if (!(pd_tensor_value(weights, q) >= 0))
      return refuse_cell(context, tensor, q, "a weight is negative; expected at least 0, at");
  }
  if (weights->nnz == tensor->nnz) return POLYAD_OK;
  return pd_fail(context, POLYAD_MISMATCH,
                 "there are %" PRIu64 " weights; expected %" PRIu64 ", one for each cell (a weight "
                 "of 0 has to be kept, as zeros of a tensor are)",
                 weights->nnz, tensor->nnz);
}

static polyad_status observations_fill(struct pd_observations *o, const polyad_tensor *tensor,
                                       const polyad_tensor *weights, int exponent) {
  polyad_context *context = o->context;
  for (int n = 0; n < o->order; ++n)
    PD_TRY(PD_NEW(context, o->count, &o->cell[n]));
  PD_TRY(PD_NEW(context, o->count, &o->value));
  take_cells(o, tensor, exponent);
  o->weights = (double)o->count;
  if (weights == NULL) return POLYAD_OK;
  PD_TRY(PD_NEW(context, o->count, &o->weight));
  o->weights = 0;
  for (uint64_t q = 0; q < o->count; ++q) {
    o->weight[q] = pd_tensor_value(weights, q);
    o->weights += o->weight[q];
  }
  return POLYAD_OK;
}

polyad_status pd_observations_create(polyad_context *context, const polyad_tensor *tensor,
                                     const polyad_tensor *weights, int exponent,
                                     struct pd_observations **out) {
  struct pd_observations *o = NULL;
  *out = NULL;
  PD_TRY(observations_check_dims(context, tensor));
  PD_TRY(PD_NEW_ZERO(context, 1, &o));
  o->context = context;
  o->device = &pd_cpu_device;
  o->order = tensor->order;
  o->count = tensor->nnz;
  memcpy(o->dims, tensor->dims, sizeof o->dims);
  polyad_status status = observations_fill(o, tensor, weights, exponent);
  if (status == POLYAD_OK)
    *out = o;
  else
    pd_observations_destroy(o);
  return status;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* start[i] = how many observations are of rows before i. */
static void count_observations_of_rows(struct pd_observations *o, int mode) {
  const uint32_t *index = o->cell[mode];
  uint64_t *start = o->rows[mode].start;
  for (uint64_t q = 0; q < o->count; ++q)
    ++start[index[q] + UINT64_C(1)];
  for (uint64_t i = 0; i < o->dims[mode]; ++i)
    start[i + 1] += start[i];
}

static polyad_status divide_rows(struct pd_observations *o, int mode,
                                 const struct pd_completion *steps) {
  struct pd_observed_rows *rows = &o->rows[mode];
  uint64_t size = o->count / steps->piece_share, at = 0;
  if (size < steps->piece_least) size = steps->piece_least;
  for (uint64_t i = 0; i < o->dims[mode]; ++i) {
    uint64_t count = pd_observed_count(rows, i);
    if (count <= size) continue;
    ++rows->long_rows;
    rows->pieces += (count + size - 1) / size;
  }
  PD_TRY(PD_NEW(o->context, rows->long_rows, &rows->long_row));
  PD_TRY(PD_NEW(o->context, rows->long_rows + 1, &rows->first_piece));
  PD_TRY(PD_NEW(o->context, rows->pieces, &rows->piece));
  rows->long_rows = 0;
  for (uint64_t i = 0; i < o->dims[mode]; ++i) {
    if (pd_observed_count(rows, i) <= size) continue;
    rows->first_piece[rows->long_rows] = at;
    rows->long_row[rows->long_rows++] = i;
    for (uint64_t p = rows->start[i]; p < rows->start[i + 1]; p += size) {
      uint64_t left = rows->start[i + 1] - p;
      rows->piece[at++] =
          (struct pd_row_piece){.row = i, .first = p, .count = left < size ? left : size};
    }
  }
  rows->first_piece[rows->long_rows] = at;
  return POLYAD_OK;
}

polyad_status pd_observations_find_rows(struct pd_observations *o,
                                        const struct pd_completion *steps) {
  for (int n = 0; n < o->order; ++n)
    PD_TRY(PD_NEW_ZERO(o->context, pd_add_saturated(o->dims[n], 1), &o->rows[n].start));
  int threads = pd_threads_for(o->context, o->count * (uint64_t)o->order, GRAIN);
  if (threads > o->order) threads = o->order;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int n = 0; n < o->order; ++n)
    count_observations_of_rows(o, n);
  for (int n = 0; n < o->order; ++n)
    PD_TRY(divide_rows(o, n, steps));
  return POLYAD_OK;
}

static polyad_status allocate_there(struct pd_observations *o, size_t size, void **array) {
  return o->device->functions->allocate(o->context, o->device, pd_mul_saturated(o->count, size),
                                        array);
}

polyad_status pd_observations_sort(struct pd_observations *o, const struct pd_completion *steps) {
  for (int n = 0; n < o->order; ++n) {
    struct pd_observed_rows *rows = &o->rows[n];
    rows->borrowed = n == 0;
    if (n > 0) PD_TRY(allocate_there(o, sizeof *rows->place, (void **)&rows->place));
    for (int m = 0; m < o->order; ++m) {
      if (m == n) continue;
      if (rows->borrowed)
        rows->index[m] = o->cell[m];
      else
        PD_TRY(allocate_there(o, sizeof *rows->index[m], (void **)&rows->index[m]));
    }
  }
  return steps->sort(o->context, o, pd_threads_for(o->context, o->count, GRAIN));
}

uint64_t pd_observations_bytes(int order, uint64_t count, bool weights) {
  uint64_t modes = (uint64_t)order;
  uint64_t bytes = modes * 4 + 8 + (weights ? 8 : 0) + (modes - 1) * ((modes - 1) * 4 + 8);
  return pd_mul_saturated(bytes, count);
}

/* ---- where they lie ------------------------------------------------------------------------- */

enum { MOST_ARRAYS = POLYAD_MAX_ORDER * (POLYAD_MAX_ORDER + 6) + 2 };

/* Every array that the observations own, and its bytes. */
struct owned {
  int count;
  void **array[MOST_ARRAYS];
  uint64_t bytes[MOST_ARRAYS];
};

static void own(struct owned *list, void *array, uint64_t count, size_t size) {
  list->array[list->count] = array;
  list->bytes[list->count++] = count * size;
}

static void list_owned(struct pd_observations *o, struct owned *list) {
  list->count = 0;
  for (int n = 0; n < o->order; ++n) {
    struct pd_observed_rows *rows = &o->rows[n];
    own(list, &o->cell[n], o->count, sizeof **o->cell);
    own(list, &rows->start, o->dims[n] + 1, sizeof *rows->start);
    own(list, &rows->place, o->count, sizeof *rows->place);
    own(list, &rows->long_row, rows->long_rows, sizeof *rows->long_row);
    own(list, &rows->first_piece, rows->long_rows + 1, sizeof *rows->first_piece);
    own(list, &rows->piece, rows->pieces, sizeof *rows->piece);
    for (int m = 0; m < o->order && !rows->borrowed; ++m)
      own(list, &rows->index[m], o->count, sizeof **rows->index);
  }
  own(list, &o->value, o->count, sizeof *o->value);
  own(list, &o->weight, o->count, sizeof *o->weight);
}

/* After a failure arrays that are left are NULL. */
static polyad_status copy_arrays(struct pd_observations *to) {
  const struct pd_device_functions *device = to->device->functions;
  struct owned list;
  polyad_status status = POLYAD_OK;
  list_owned(to, &list);
  for (int k = 0; k < list.count; ++k) {
    const void *host = *list.array[k];
    *list.array[k] = NULL;
    if (host == NULL || list.bytes[k] == 0 || status != POLYAD_OK) continue;
    status = device->allocate(to->context, to->device, list.bytes[k], list.array[k]);
    if (status == POLYAD_OK)
      status = device->copy_in(to->context, to->device, *list.array[k], host, list.bytes[k]);
  }
  if (status == POLYAD_OK) status = device->synchronize(to->context, to->device);
  return status;
}

polyad_status pd_observations_send(const struct pd_device *device, struct pd_observations **o) {
  struct pd_observations *to = NULL;
  if (device->functions->host_memory) return POLYAD_OK;
  PD_TRY(PD_NEW((*o)->context, 1, &to));
  *to = **o;
  to->device = device;
  polyad_status status = copy_arrays(to);
  pd_observations_destroy(status == POLYAD_OK ? *o : to);
  if (status == POLYAD_OK) *o = to;
  return status;
}

void pd_observations_destroy(struct pd_observations *o) {
  struct owned list;
  if (o == NULL) return;
  list_owned(o, &list);
  for (int k = 0; k < list.count; ++k)
    if (*list.array[k] != NULL)
      o->device->functions->release(o->context, o->device, *list.array[k]);
  pd_free(o->context, o);
}
