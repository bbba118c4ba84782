/* Parallel, stable sorting of nonzeros by integer keys. */
#ifndef PD_RADIX_SORT_H
#define PD_RADIX_SORT_H

#include "core/core.h"

/** One key column: 32- or 64-bit unsigned integers, all below `limit` (0: any value). */
struct pd_key {
  const void *values;
  int bytes;      /* 4 or 8 */
  uint64_t limit; /* keys are below it; it bounds the digits that are sorted */
};

/** Finds the permutation that sorts `count` items by keys[0], then keys[1], … (stable:
 *  equal items keep their order). The result is the same for every number of threads.
 *  @param[out] permutation  count numbers: place p of the sorted order holds item
 *  permutation[p]; 32-bit when `permutation_bytes` is 4 (count <= 2^32), else 64-bit */
polyad_status pd_sort_permutation(polyad_context *context, uint64_t count, int key_count,
                                  const struct pd_key *keys, int permutation_bytes,
                                  void *permutation);

/** Whether the items are in order already; *strict tells whether no two are equal. */
bool pd_is_sorted(const polyad_context *context, uint64_t count, int key_count,
                  const struct pd_key *keys, bool *strict);

/** Sorts `count` 64-bit keys in place (unsigned, ascending), carrying `payload` (items of
 *  `payload_bytes` 0, 4 or 8) along; stable. `key_bits`: keys are below 2^key_bits. */
polyad_status pd_sort_u64(polyad_context *context, uint64_t count, uint64_t *keys, int key_bits,
                          void *payload, size_t payload_bytes);

/** out[p] = in[permutation[p]] for items of 4 or 8 bytes. */
void pd_gather(const polyad_context *context, uint64_t count, const void *permutation,
               int permutation_bytes, const void *in, size_t item_bytes, void *out);

#endif
