/* The hash that names a tensor in files and caches. */
#define XXH_STATIC_LINKING_ONLY /* the state may then live on the stack */
#include "tensor/tensor.h"
#include <xxhash.h>

/* The canonical form is little-endian, so that a hash in a file means the same everywhere. */
static void add_items(XXH3_state_t *state, const void *items, uint64_t count, size_t bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  (void)XXH3_64bits_update(state, items, (size_t)count * bytes);
#else
  for (uint64_t p = 0; p < count * bytes; p += bytes)
    for (size_t byte = bytes; byte > 0; --byte)
      (void)XXH3_64bits_update(state, (const unsigned char *)items + p + byte - 1, 1);
#endif
}

uint64_t polyad_tensor_hash(const polyad_tensor *tensor) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  (void)XXH3_64bits_reset(&state);
  uint64_t head[3] = {(uint64_t)tensor->order, tensor->nnz, (uint64_t)tensor->type};
  add_items(&state, head, 3, sizeof head[0]);
  add_items(&state, tensor->dims, (uint64_t)tensor->order, sizeof tensor->dims[0]);
  for (int n = 0; n < tensor->order; ++n)
    add_items(&state, tensor->index[n], tensor->nnz, (size_t)tensor->index_bytes[n]);
  add_items(&state, tensor->values, tensor->nnz, pd_type_bytes(tensor->type));
  return XXH3_64bits_digest(&state);
}
