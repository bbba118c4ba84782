/* Life and properties of a tensor. */
#include "tensor/tensor.h"

void pd_tensor_free_arrays(polyad_tensor *tensor) {
  for (int n = 0; n < tensor->order; ++n) {
    pd_free(tensor->context, tensor->index[n]);
    tensor->index[n] = NULL;
  }
  pd_free(tensor->context, tensor->values);
  tensor->values = NULL;
}

void polyad_tensor_destroy(polyad_tensor *tensor) {
  if (tensor == NULL) return;
  polyad_context *context = tensor->context;
  pd_tensor_free_arrays(tensor);
  for (int n = 0; n < tensor->order; ++n) {
    PD_FREE(context, tensor->mode_name[n], tensor->labels[n].start, tensor->labels[n].text);
  }
  pd_free(context, tensor);
}

int polyad_tensor_order(const polyad_tensor *tensor) { return tensor->order; }

const uint64_t *polyad_tensor_dims(const polyad_tensor *tensor) { return tensor->dims; }

uint64_t polyad_tensor_nnz(const polyad_tensor *tensor) { return tensor->nnz; }

polyad_type polyad_tensor_type(const polyad_tensor *tensor) { return tensor->type; }

int polyad_tensor_index_bytes(const polyad_tensor *tensor, int mode) {
  return mode < 0 || mode >= tensor->order ? 0 : tensor->index_bytes[mode];
}

const void *polyad_tensor_indices(const polyad_tensor *tensor, int mode) {
  return mode < 0 || mode >= tensor->order ? NULL : tensor->index[mode];
}

const void *polyad_tensor_values(const polyad_tensor *tensor) { return tensor->values; }

uint64_t polyad_tensor_repeats_merged(const polyad_tensor *tensor) {
  return tensor->repeats_merged;
}

uint64_t polyad_tensor_zeros_dropped(const polyad_tensor *tensor) { return tensor->zeros_dropped; }

uint64_t polyad_tensor_zeros_kept(const polyad_tensor *tensor) { return tensor->zeros_kept; }

uint64_t polyad_tensor_bytes(const polyad_tensor *tensor) {
  uint64_t each = pd_type_bytes(tensor->type), labels = 0;
  for (int n = 0; n < tensor->order; ++n) {
    each += (uint64_t)tensor->index_bytes[n];
    const struct pd_labels *mode = &tensor->labels[n];
    if (mode->count != 0) labels += mode->start[mode->count] + 8 * (mode->count + 1);
  }
  return tensor->nnz * each + labels + sizeof *tensor;
}
