/* Arrays as they enter a hash that is kept in files: little-endian on every machine. */
#ifndef PD_HASH_ITEMS_H
#define PD_HASH_ITEMS_H

#include "core/wide_hash.h"
#include <polyad/context.h>

static inline void pd_hash_items(struct pd_wide_hash *hash, const void *items, uint64_t count,
                                 size_t bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  pd_wide_hash_add(hash, items, (size_t)count * bytes);
#else
  for (uint64_t p = 0; p < count * bytes; p += bytes)
    for (size_t byte = bytes; byte > 0; --byte)
      pd_wide_hash_add(hash, (const unsigned char *)items + p + byte - 1, 1);
#endif
}

/** An array of more items than this enters the hash of a tensor or a model as the hashes of its
 * blocks of so many items, the last of which may be shorter, so that several threads find them. */
enum { PD_HASH_BLOCK_ITEMS = 1 << 17 };

static inline uint64_t pd_hash_block(const void *items, uint64_t count, size_t bytes) {
  struct pd_wide_hash hash;
  pd_wide_hash_begin(&hash);
  pd_hash_items(&hash, items, count, bytes);
  return pd_wide_hash_end(&hash);
}

/** Adds a whole array, by the context's threads where it is long. */
void pd_hash_array(const polyad_context *context, struct pd_wide_hash *hash, const void *items,
                   uint64_t count, size_t bytes);

/** Adds the next block of an array of `all` items, which may be all there is. */
static inline void pd_hash_add_block(struct pd_wide_hash *hash, uint64_t all, const void *items,
                                     uint64_t count, size_t bytes) {
  if (all <= PD_HASH_BLOCK_ITEMS) {
    pd_hash_items(hash, items, count, bytes);
    return;
  }
  uint64_t found = pd_hash_block(items, count, bytes);
  pd_hash_items(hash, &found, 1, sizeof found);
}

#endif
