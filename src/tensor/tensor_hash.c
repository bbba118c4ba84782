/* The hash that names a tensor in files and caches. */
#include "tensor/hash_items.h"
#include "tensor/tensor.h"

uint64_t polyad_tensor_hash(const polyad_tensor *tensor) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  (void)XXH3_64bits_reset(&state);
  uint64_t head[3] = {(uint64_t)tensor->order, tensor->nnz, (uint64_t)tensor->type};
  pd_hash_items(&state, head, 3, sizeof head[0]);
  pd_hash_items(&state, tensor->dims, (uint64_t)tensor->order, sizeof tensor->dims[0]);
  for (int n = 0; n < tensor->order; ++n)
    pd_hash_items(&state, tensor->index[n], tensor->nnz, (size_t)tensor->index_bytes[n]);
  pd_hash_items(&state, tensor->values, tensor->nnz, pd_type_bytes(tensor->type));
  return XXH3_64bits_digest(&state);
}
