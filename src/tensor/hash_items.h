/* Arrays as they enter a hash that is kept in files: little-endian on every machine. */
#ifndef PD_HASH_ITEMS_H
#define PD_HASH_ITEMS_H

#include "core/wide_hash.h"

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

#endif
