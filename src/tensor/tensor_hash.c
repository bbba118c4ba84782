/* The hash of a tensor's content: XXH3-64 of its shape and then of its arrays. */
#include "tensor/hash_items.h"
#include "tensor/tensor.h"

uint64_t polyad_tensor_hash(const polyad_tensor *tensor) {
  struct pd_wide_hash hash;
  pd_wide_hash_begin(&hash);
  uint64_t head[3] = {(uint64_t)tensor->order, tensor->nnz, (uint64_t)tensor->type};
  pd_hash_items(&hash, head, 3, sizeof head[0]);
  pd_hash_items(&hash, tensor->dims, (uint64_t)tensor->order, sizeof tensor->dims[0]);
  for (int n = 0; n < tensor->order; ++n)
    pd_hash_array(tensor->context, &hash, tensor->index[n], tensor->nnz,
                  (size_t)tensor->index_bytes[n]);
  pd_hash_array(tensor->context, &hash, tensor->values, tensor->nnz, pd_type_bytes(tensor->type));
  return pd_wide_hash_end(&hash);
}
