/* The hash of a tensor's content: XXH3-64 of its shape and then of its arrays, long ones as the
 * hashes of their blocks (tensor/hash_items.h). The number of threads changes nothing. */
#include "tensor/hash_items.h"
#include "tensor/tensor.h"

enum { BLOCKS_AT_ONCE = 512 };

static void hash_long(struct pd_wide_hash *hash, const polyad_tensor *tensor, const char *items,
                      size_t bytes) {
  uint64_t found[BLOCKS_AT_ONCE], count = tensor->nnz;
  uint64_t blocks = (count + PD_HASH_BLOCK_ITEMS - 1) / PD_HASH_BLOCK_ITEMS;
  int threads = pd_threads_for(tensor->context, count, PD_HASH_BLOCK_ITEMS);
  for (uint64_t first = 0; first < blocks; first += BLOCKS_AT_ONCE) {
    uint64_t these = blocks - first < BLOCKS_AT_ONCE ? blocks - first : BLOCKS_AT_ONCE;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (uint64_t k = 0; k < these; ++k) {
      uint64_t begin = (first + k) * PD_HASH_BLOCK_ITEMS, rest = count - begin;
      found[k] = pd_hash_block(items + begin * bytes,
                               rest < PD_HASH_BLOCK_ITEMS ? rest : PD_HASH_BLOCK_ITEMS, bytes);
    }
    pd_hash_items(hash, found, these, sizeof found[0]);
  }
}

static void hash_array(struct pd_wide_hash *hash, const polyad_tensor *tensor, const void *items,
                       size_t bytes) {
  if (tensor->nnz > PD_HASH_BLOCK_ITEMS)
    hash_long(hash, tensor, items, bytes);
  else
    pd_hash_add_block(hash, tensor->nnz, items, tensor->nnz, bytes);
}

uint64_t polyad_tensor_hash(const polyad_tensor *tensor) {
  struct pd_wide_hash hash;
  pd_wide_hash_begin(&hash);
  uint64_t head[3] = {(uint64_t)tensor->order, tensor->nnz, (uint64_t)tensor->type};
  pd_hash_items(&hash, head, 3, sizeof head[0]);
  pd_hash_items(&hash, tensor->dims, (uint64_t)tensor->order, sizeof tensor->dims[0]);
  for (int n = 0; n < tensor->order; ++n)
    hash_array(&hash, tensor, tensor->index[n], (size_t)tensor->index_bytes[n]);
  hash_array(&hash, tensor, tensor->values, pd_type_bytes(tensor->type));
  return pd_wide_hash_end(&hash);
}
