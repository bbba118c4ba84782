/* A tensor from the caller's coordinates and values: checks and copies them. */
#include "core/numbers.h"
#include "tensor/tensor_input.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { THREAD_GRAIN = 1 << 14 };

void polyad_tensor_input_init(polyad_tensor_input *input) {
  *input = (polyad_tensor_input){.value_type = POLYAD_F64, .type = POLYAD_F64};
}

/* An index as the caller gave it; `negative` for those that no unsigned number can hold. */
static inline uint64_t load_index(const char *place, polyad_index_type type, bool *negative) {
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
  switch (type) {
  case POLYAD_I32:
    memcpy(&i32, place, sizeof i32);
    *negative = i32 < 0;
    return (uint64_t)(int64_t)i32;
  case POLYAD_U32:
    memcpy(&u32, place, sizeof u32);
    return u32;
  case POLYAD_I64:
    memcpy(&i64, place, sizeof i64);
    *negative = i64 < 0;
    return (uint64_t)i64;
  default:
    memcpy(&u64, place, sizeof u64);
    return u64;
  }
}

static inline uint64_t tensor_create_index_of(const polyad_tensor_input *input, int mode,
                                              uint64_t p, bool *negative) {
  const char *first = input->index[mode];
  return load_index(first + (int64_t)p * input->index_stride[mode], input->index_type, negative);
}

static inline double tensor_create_value_of(const polyad_tensor_input *input, uint64_t p) {
  if (input->values == NULL) return 1;
  return pd_input_value((const char *)input->values + (int64_t)p * input->value_stride,
                        input->value_type);
}

polyad_status pd_tensor_input_check(polyad_context *context, const polyad_tensor_input *input) {
  PD_EXPECT(context, input->order >= 1 && input->order <= POLYAD_MAX_ORDER,
            "order %d; expected 1 to %d", input->order, POLYAD_MAX_ORDER);
  if (input->dims == NULL && input->nnz == 0)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "no nonzeros and no dims; expected at least one of them");
  if ((unsigned)input->index_type > POLYAD_U64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "index type %d is unknown",
                   (int)input->index_type);
  if ((unsigned)input->value_type > POLYAD_F64 || (unsigned)input->type > POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "value type %d is unknown",
                   (unsigned)input->type > POLYAD_F64 ? (int)input->type : (int)input->value_type);
  if ((unsigned)input->duplicates > POLYAD_DUPLICATES_COUNT)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "duplicates policy %d is unknown",
                   (int)input->duplicates);
  if ((unsigned)input->zeros > POLYAD_ZEROS_KEEP)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "zeros policy %d is unknown",
                   (int)input->zeros);
  for (int n = 0; n < input->order; ++n) {
    if (input->nnz != 0 && input->index[n] == NULL)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT, "mode %d has no indices",
                     pd_shown_mode(context, n));
    if (input->dims != NULL && (input->dims[n] == 0 || input->dims[n] > INT64_MAX))
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "mode %d has length %" PRIu64 "; expected 1 to %" PRId64,
                     pd_shown_mode(context, n), input->dims[n], INT64_MAX);
  }
  return POLYAD_OK;
}

static polyad_status fail_index(polyad_context *context, const polyad_tensor_input *input, int mode,
                                uint64_t p, uint64_t dim) {
  bool negative = false;
  uint64_t index = tensor_create_index_of(input, mode, p, &negative);
  char text[32];
  if (negative)
    snprintf(text, sizeof text, "%" PRId64, (int64_t)index + pd_shown_mode(context, 0));
  else
    snprintf(text, sizeof text, "%" PRIu64, pd_shown(context, index));
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "nonzero %" PRIu64 " has index %s in mode %d; expected %d to %" PRIu64
                 " (all counted from %d)",
                 pd_shown(context, p), text, pd_shown_mode(context, mode),
                 pd_shown_mode(context, 0), pd_shown(context, dim - 1), pd_shown_mode(context, 0));
}

/* Length of a mode from its largest index. */
static polyad_status infer_dim(polyad_context *context, const polyad_tensor_input *input, int mode,
                               uint64_t *dim) {
  int threads = pd_threads_for(context, input->nnz, THREAD_GRAIN);
  uint64_t largest = 0, bad = UINT64_MAX;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max                       \
                                                                         : largest)                \
    reduction(min                                                                                  \
              : bad)
  for (uint64_t p = 0; p < input->nnz; ++p) {
    bool negative = false;
    uint64_t index = tensor_create_index_of(input, mode, p, &negative);
    if (index >= INT64_MAX && p < bad) bad = p;
    if (index > largest) largest = index;
  }
  if (bad != UINT64_MAX) return fail_index(context, input, mode, bad, INT64_MAX);
  *dim = largest + 1;
  return POLYAD_OK;
}

static polyad_status tensor_create_copy_indices(polyad_context *context,
                                                const polyad_tensor_input *input, int mode,
                                                uint64_t dim, void *index) {
  int threads = pd_threads_for(context, input->nnz, THREAD_GRAIN);
  int bytes = pd_index_bytes(dim);
  uint64_t bad = UINT64_MAX;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
  for (uint64_t p = 0; p < input->nnz; ++p) {
    bool negative = false;
    uint64_t i = tensor_create_index_of(input, mode, p, &negative);
    if (i >= dim && p < bad) bad = p;
    pd_id_put(index, bytes, p, i);
  }
  return bad == UINT64_MAX ? POLYAD_OK : fail_index(context, input, mode, bad, dim);
}

void pd_warn_of_underflow(polyad_context *context, const char *path, uint64_t line,
                          uint64_t count) {
  char where[32] = "";
  if (count == 0) return;
  if (path == NULL) path = pd_source(context);
  if (line > 0) snprintf(where, sizeof where, ":%" PRIu64, line);
  pd_log(context, POLYAD_LOG_WARNING,
         "%s%s%sa value is too small for its type and becomes 0 (%" PRIu64 " in all)",
         path != NULL ? path : "", where, path != NULL ? ": " : "", count);
}

static polyad_status tensor_create_copy_values(polyad_context *context,
                                               const polyad_tensor_input *input, void *values) {
  int threads = pd_threads_for(context, input->nnz, THREAD_GRAIN);
  uint64_t bad = UINT64_MAX, underflows = 0;
#pragma omp parallel for num_threads(threads) schedule(static)                                     \
    reduction(min : bad) reduction(+ : underflows)
  for (uint64_t p = 0; p < input->nnz; ++p) {
    double value = tensor_create_value_of(input, p);
    bool fits;
    if (input->type == POLYAD_F32) {
      float narrow = (float)value;
      fits = isfinite(narrow);
      ((float *)values)[p] = narrow;
      underflows += pd_becomes_zero(value);
    } else {
      fits = isfinite(value);
      ((double *)values)[p] = value;
    }
    if (!fits && p < bad) bad = p;
  }
  if (bad == UINT64_MAX) {
    pd_warn_of_underflow(context, NULL, 0, underflows);
    return POLYAD_OK;
  }
  double value = tensor_create_value_of(input, bad);
  if (isfinite(value))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "nonzero %" PRIu64 " (counted from %d) has value %.17g, which does not fit "
                   "float32; expected at most 3.4e38 in magnitude, or float64",
                   pd_shown(context, bad), pd_shown_mode(context, 0), value);
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "nonzero %" PRIu64 " (counted from %d) has value %g; expected a finite number",
                 pd_shown(context, bad), pd_shown_mode(context, 0), value);
}

polyad_status polyad_tensor_create(polyad_context *context, const polyad_tensor_input *input,
                                   polyad_tensor **tensor) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && input != NULL, "input or tensor is NULL");
  *tensor = NULL;
  PD_TRY(pd_tensor_input_check(context, input));

  polyad_status status = POLYAD_OK;
  uint64_t dims[POLYAD_MAX_ORDER];
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  for (int n = 0; n < input->order; ++n) {
    if (input->dims != NULL)
      dims[n] = input->dims[n];
    else
      PD_TRY_CLEANUP(infer_dim(context, input, n, &dims[n]));
  }
  for (int n = 0; n < input->order; ++n) {
    PD_TRY_CLEANUP(pd_alloc(context, input->nnz, (size_t)pd_index_bytes(dims[n]), &index[n]));
    PD_TRY_CLEANUP(tensor_create_copy_indices(context, input, n, dims[n], index[n]));
  }
  PD_TRY_CLEANUP(pd_alloc(context, input->nnz, pd_type_bytes(input->type), &values));
  PD_TRY_CLEANUP(tensor_create_copy_values(context, input, values));
  status = pd_tensor_create_take(context, input->order, dims, input->nnz, input->type, index,
                                 &values, input->duplicates, input->zeros, tensor);

cleanup:
  for (int n = 0; n < input->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
