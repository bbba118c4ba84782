/* Long arrays in a hash: their blocks' hashes are found by several threads. The number of threads
 * changes nothing. */
#include "tensor/hash_items.h"
#include "core/core.h"

enum { BLOCKS_AT_ONCE = 512 };

static void hash_blocks(const polyad_context *context, struct pd_wide_hash *hash, const char *items,
                        uint64_t count, size_t bytes) {
  uint64_t found[BLOCKS_AT_ONCE];
  uint64_t blocks = (count + PD_HASH_BLOCK_ITEMS - 1) / PD_HASH_BLOCK_ITEMS;
  int threads = pd_threads_for(context, count, PD_HASH_BLOCK_ITEMS);
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

void pd_hash_array(const polyad_context *context, struct pd_wide_hash *hash, const void *items,
                   uint64_t count, size_t bytes) {
  if (count > PD_HASH_BLOCK_ITEMS)
    hash_blocks(context, hash, items, count, bytes);
  else
    pd_hash_add_block(hash, count, items, count, bytes);
}
