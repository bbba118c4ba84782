/* Back from the copy of mode 0 to a tensor. */
#include "formats/modecopy/modecopy_build.h"
#include <string.h>

static void fill(const struct pd_modecopy *storage, void **index) {
  const struct pd_modecopy_copy *copy = &storage->copy[0];
  bool sorted = storage->variant == PD_MODECOPY_SORTED;
  int fields = sorted ? copy->inputs : copy->inputs + 1;
  for (int k = 0; k < fields; ++k) {
    uint32_t *out = index[copy->field[k].mode];
    for (uint64_t p = 0; p < storage->nnz; ++p)
      out[p] = pd_modecopy_index(copy, k, p);
  }
  if (!sorted) return;
  uint32_t *out = index[0];
  const struct pd_ordered *order = &copy->order;
  for (uint64_t row = 0; row < order->rows; ++row)
    for (uint64_t p = order->row_start[row]; p < order->row_start[row + 1]; ++p)
      out[p] = order->row_id != NULL ? order->row_id[row] : (uint32_t)row;
}

polyad_status pd_modecopy_expand(polyad_context *context, const void *pointer,
                                 polyad_tensor **tensor) {
  const struct pd_modecopy *storage = pointer;
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  size_t value_bytes = pd_type_bytes(storage->type);
  for (int n = 0; n < storage->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, storage->nnz, sizeof(uint32_t), &index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, storage->nnz, value_bytes, &values));
  fill(storage, index);
  memcpy(values, storage->copy[0].values, (size_t)storage->nnz * value_bytes);
  status = pd_tensor_create_take(context, storage->order, storage->dims, storage->nnz,
                                 storage->type, index, &values, POLYAD_DUPLICATES_SUM, tensor);
cleanup:
  for (int n = 0; n < storage->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
