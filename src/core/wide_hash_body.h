/* The functions of wide_hash.h for one instruction set; the includer defines TABLE, the name of
 * their table. */
#include "core/wide_hash.h"

#define XXH_INLINE_ALL /* compiled here, as this file's options say */
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= PD_WIDE_HASH_BYTES, "room for the state");

static void wide_hash_begin(struct pd_wide_hash *hash) {
  XXH3_INITSTATE((XXH3_state_t *)(void *)hash->state);
  (void)XXH3_64bits_reset((XXH3_state_t *)(void *)hash->state);
}

static void wide_hash_add(struct pd_wide_hash *hash, const void *from, size_t bytes) {
  (void)XXH3_64bits_update((XXH3_state_t *)(void *)hash->state, from, bytes);
}

static uint64_t wide_hash_end(const struct pd_wide_hash *hash) {
  return XXH3_64bits_digest((const XXH3_state_t *)(const void *)hash->state);
}

const struct pd_wide_hash_functions TABLE = {wide_hash_begin, wide_hash_add, wide_hash_end};
