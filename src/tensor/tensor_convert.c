/* Copies of a tensor in another type of values. */
#include "tensor/tensor.h"
#include "tensor/tensor_merge.h"
#include <math.h>
#include <string.h>

enum { THREAD_GRAIN = 1 << 15 };

static polyad_status tensor_convert_copy_values(polyad_context *context, const polyad_tensor *from,
                                                polyad_tensor *to) {
  PD_TRY(pd_alloc(context, from->nnz, pd_type_bytes(to->type), &to->values));
  int threads = pd_threads_for(context, from->nnz, THREAD_GRAIN);
  uint64_t bad = UINT64_MAX, underflows = 0;
#pragma omp parallel for num_threads(threads) schedule(static)                                     \
    reduction(min : bad) reduction(+ : underflows)
  for (uint64_t p = 0; p < from->nnz; ++p) {
    double value = pd_tensor_value(from, p);
    if (to->type == POLYAD_F64) {
      ((double *)to->values)[p] = value;
    } else {
      float narrow = (float)value;
      ((float *)to->values)[p] = narrow;
      underflows += pd_becomes_zero(value);
      if (!isfinite(narrow) && p < bad) bad = p;
    }
  }
  if (bad == UINT64_MAX) {
    pd_warn_of_underflow(context, NULL, 0, underflows);
    return POLYAD_OK;
  }
  char text[PD_COORDINATE_BYTES];
  return pd_fail(context, POLYAD_NUMERICAL,
                 "value %.17g at coordinate %s (counted from 1) does not fit float32; expected at "
                 "most 3.4e38 in magnitude",
                 pd_tensor_value(from, bad), pd_tensor_coordinate_text(text, from, bad));
}

static polyad_status copy_block(polyad_context *context, uint64_t count, size_t size,
                                const void *from, void *to) {
  void *copy;
  PD_TRY(pd_alloc(context, count, size, &copy));
  pd_copy(context, copy, from, count * size);
  memcpy(to, &copy, sizeof copy);
  return POLYAD_OK;
}

polyad_status pd_tensor_copy_names(polyad_context *context, const polyad_tensor *from, int mode,
                                   polyad_tensor *to) {
  const char *name = from->mode_name[mode];
  if (name != NULL) PD_TRY(copy_block(context, strlen(name) + 1, 1, name, &to->mode_name[mode]));
  const struct pd_labels *labels = &from->labels[mode];
  if (labels->count == 0) return POLYAD_OK;
  PD_TRY(copy_block(context, labels->count + 1, sizeof *labels->start, labels->start,
                    &to->labels[mode].start));
  PD_TRY(
      copy_block(context, labels->start[labels->count], 1, labels->text, &to->labels[mode].text));
  to->labels[mode].count = labels->count;
  return POLYAD_OK;
}

static polyad_status copy_mode(polyad_context *context, const polyad_tensor *from, int mode,
                               polyad_tensor *to) {
  PD_TRY(copy_block(context, from->nnz, (size_t)from->index_bytes[mode], from->index[mode],
                    &to->index[mode]));
  return pd_tensor_copy_names(context, from, mode, to);
}

polyad_status polyad_tensor_convert(polyad_context *context, const polyad_tensor *tensor,
                                    polyad_type type, polyad_tensor **converted) {
  PD_ENTER(context);
  if (converted != NULL) *converted = NULL;
  if (tensor == NULL || converted == NULL || (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "type %d; expected POLYAD_F32 or POLYAD_F64, a tensor and a place for its copy",
                   (int)type);
  polyad_tensor *made;
  PD_TRY(PD_NEW(context, 1, &made));
  *made = (polyad_tensor){.context = context,
                          .order = tensor->order,
                          .nnz = tensor->nnz,
                          .type = type,
                          .repeats_merged = tensor->repeats_merged,
                          .zeros_dropped = tensor->zeros_dropped,
                          .zeros = tensor->zeros};
  memcpy(made->dims, tensor->dims, sizeof made->dims);
  memcpy(made->index_bytes, tensor->index_bytes, sizeof made->index_bytes);
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY_CLEANUP(copy_mode(context, tensor, n, made));
  PD_TRY_CLEANUP(tensor_convert_copy_values(context, tensor, made));
  /* Values too small for float32 have become zero. */
  PD_TRY_CLEANUP(pd_tensor_merge(context, made, POLYAD_DUPLICATES_SUM, true));
  *converted = made;
  return POLYAD_OK;

cleanup:
  polyad_tensor_destroy(made);
  return status;
}

polyad_status polyad_tensor_outline(polyad_context *context, const polyad_tensor *tensor,
                                    polyad_tensor **outline) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && outline != NULL, "tensor or outline is NULL");
  *outline = NULL;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = tensor->order;
  input.dims = tensor->dims;
  input.type = input.value_type = tensor->type;
  polyad_tensor *made = NULL;
  PD_TRY(polyad_tensor_create(context, &input, &made));
  for (int n = 0; n < tensor->order; ++n) {
    polyad_status status = pd_tensor_copy_names(context, tensor, n, made);
    if (status != POLYAD_OK) {
      polyad_tensor_destroy(made);
      return status;
    }
  }
  *outline = made;
  return POLYAD_OK;
}
