/* The hash XXH3-64 of large data, computed with the vectors of the current instruction set. The
 * system's libxxhash is compiled for the oldest processor of its kind; the hashes are the same. */
#ifndef PD_WIDE_HASH_H
#define PD_WIDE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { PD_WIDE_HASH_BYTES = 640 };

struct pd_wide_hash;

struct pd_wide_hash_functions {
  void (*begin)(struct pd_wide_hash *hash);
  void (*add)(struct pd_wide_hash *hash, const void *from, size_t bytes);
  uint64_t (*end)(const struct pd_wide_hash *hash);
};

struct pd_wide_hash {
  _Alignas(64) unsigned char state[PD_WIDE_HASH_BYTES];
  const struct pd_wide_hash_functions *functions;
};

void pd_wide_hash_begin(struct pd_wide_hash *hash);
static inline void pd_wide_hash_add(struct pd_wide_hash *hash, const void *from, size_t bytes) {
  hash->functions->add(hash, from, bytes);
}
static inline uint64_t pd_wide_hash_end(const struct pd_wide_hash *hash) {
  return hash->functions->end(hash);
}

#endif
