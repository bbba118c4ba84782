/* Arrays as they enter a hash that is kept in files: little-endian on every machine. */
#ifndef PD_HASH_ITEMS_H
#define PD_HASH_ITEMS_H

#ifndef XXH_STATIC_LINKING_ONLY
#define XXH_STATIC_LINKING_ONLY /* the state may then live on the stack */
#endif
#include <stdint.h>
#include <xxhash.h>

static inline void pd_hash_items(XXH3_state_t *state, const void *items, uint64_t count,
                                 size_t bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  (void)XXH3_64bits_update(state, items, (size_t)count * bytes);
#else
  for (uint64_t p = 0; p < count * bytes; p += bytes)
    for (size_t byte = bytes; byte > 0; --byte)
      (void)XXH3_64bits_update(state, (const unsigned char *)items + p + byte - 1, 1);
#endif
}

#endif
