#include "core/radix_sort.h"
#include "core/bits.h"
#include <assert.h>
#include <string.h>

enum { THREAD_GRAIN = 1 << 14, PACK_BLOCK = 1024, MOST_KEYS = 32 };

static int key_width(const struct pd_key *key) {
  return key->limit == 0 ? 8 * key->bytes : pd_bit_length(key->limit - 1);
}

static inline uint64_t key_at(const struct pd_key *key, uint64_t p) {
  return key->bytes == 4 ? ((const uint32_t *)key->values)[p] : ((const uint64_t *)key->values)[p];
}

/* ---- permutations ------------------------------------------------------------------------- */

static inline uint64_t permuted(const void *permutation, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)permutation)[p] : ((const uint64_t *)permutation)[p];
}

/* packed[p] = the keys of item permutation[p], side by side, the first in the highest bits. */
static void pack_keys(uint64_t count, int key_count, const struct pd_key *keys,
                      const void *permutation, int permutation_bytes, uint64_t *packed,
                      int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t block = 0; block < (count + PACK_BLOCK - 1) / PACK_BLOCK; ++block) {
    uint64_t begin = block * PACK_BLOCK;
    uint64_t end = count - begin < PACK_BLOCK ? count : begin + PACK_BLOCK;
    for (uint64_t p = begin; p < end; ++p)
      packed[p] = key_at(&keys[0], permuted(permutation, permutation_bytes, p));
    for (int k = 1; k < key_count; ++k) {
      int width = key_width(&keys[k]);
      if (width == 0) continue;
      for (uint64_t p = begin; p < end; ++p)
        packed[p] = (width < 64 ? packed[p] << width : 0) |
                    key_at(&keys[k], permuted(permutation, permutation_bytes, p));
    }
  }
}

static void identity(uint64_t count, void *permutation, int bytes, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p)
    if (bytes == 4)
      ((uint32_t *)permutation)[p] = (uint32_t)p;
    else
      ((uint64_t *)permutation)[p] = p;
}

static int compare_items(int key_count, const struct pd_key *keys, uint64_t p, uint64_t q) {
  for (int k = 0; k < key_count; ++k) {
    uint64_t a = key_at(&keys[k], p), b = key_at(&keys[k], q);
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

bool pd_is_sorted(const polyad_context *context, uint64_t count, int key_count,
                  const struct pd_key *keys, bool *strict) {
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  int descents = 0, ties = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : descents, ties)
  for (int part = 0; part < threads; ++part) {
    uint64_t begin = pd_part_begin(count, part, threads);
    uint64_t end = pd_part_begin(count, part + 1, threads);
    for (uint64_t p = begin == 0 ? 1 : begin; p < end && !descents; ++p) {
      int order = compare_items(key_count, keys, p - 1, p);
      descents |= order > 0;
      ties |= order == 0;
    }
  }
  *strict = !descents && !ties;
  return !descents;
}

/* ---- what is sorted already -------------------------------------------------------------------
 *
 * Nonzeros of a tensor are sorted by its modes in turn. Another order of the modes then needs only
 * its first few keys sorted: among items that agree in these, a stable sort leaves the others in
 * the order they have. */

/* Finds columns by which the items are sorted, first to last; returns how many. *distinct tells
 * whether no two items agree in all of these. */
static int present_order(const polyad_context *context, uint64_t count, int key_count,
                         const struct pd_key *keys, int *column, bool *distinct) {
  struct pd_key sorted[MOST_KEYS];
  bool used[MOST_KEYS] = {false};
  int found = 0;
  *distinct = false;
  while (found < key_count && !*distinct) {
    int k = 0;
    for (; k < key_count; ++k) {
      sorted[found] = keys[k];
      if (!used[k] && pd_is_sorted(context, count, found + 1, sorted, distinct)) break;
    }
    if (k == key_count) break;
    used[k] = true;
    column[found++] = k;
  }
  return found;
}

/* How many of the leading keys a stable sort must look at. */
static int keys_to_sort(const polyad_context *context, uint64_t count, int key_count,
                        const struct pd_key *keys) {
  int column[MOST_KEYS];
  bool distinct;
  if (key_count > MOST_KEYS) return key_count;
  int known = present_order(context, count, key_count, keys, column, &distinct);
  if (known < key_count && !distinct) return key_count;
  for (int leading = 0; leading < key_count; ++leading) {
    int next = leading; /* keys after the leading ones must come as the items stand */
    bool agrees = true;
    for (int k = 0; k < known; ++k)
      if (column[k] >= leading) agrees = agrees && column[k] == next++;
    if (agrees) return leading;
  }
  return key_count;
}

polyad_status pd_sort_permutation(polyad_context *context, uint64_t count, int key_count,
                                  const struct pd_key *keys, int permutation_bytes,
                                  void *permutation) {
  assert(permutation_bytes == 8 || count <= UINT64_C(1) << 32);
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  identity(count, permutation, permutation_bytes, threads);
  key_count = keys_to_sort(context, count, key_count, keys);
  if (count < 2 || key_count == 0) return POLYAD_OK;

  uint64_t *packed;
  PD_TRY(PD_NEW(context, count, &packed));
  polyad_status status = POLYAD_OK;
  /* The least significant keys first, as many at a time as 64 bits hold. */
  for (int last = key_count; last > 0 && status == POLYAD_OK;) {
    int first = last - 1, bits = key_width(&keys[first]);
    while (first > 0 && bits + key_width(&keys[first - 1]) <= 64)
      bits += key_width(&keys[--first]);
    pack_keys(count, last - first, &keys[first], permutation, permutation_bytes, packed, threads);
    status = pd_sort_u64(context, count, packed, bits, permutation, (size_t)permutation_bytes);
    last = first;
  }
  pd_free(context, packed);
  return status;
}

/* ---- gathering ---------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
gather_sized(uint64_t begin, uint64_t end, const void *permutation, int permutation_bytes,
             const char *in, size_t item_bytes, char *out) {
  for (uint64_t p = begin; p < end; ++p)
    memcpy(out + p * item_bytes, in + permuted(permutation, permutation_bytes, p) * item_bytes,
           item_bytes);
}

void pd_gather(const polyad_context *context, uint64_t count, const void *permutation,
               int permutation_bytes, const void *in, size_t item_bytes, void *out) {
  assert(item_bytes == 4 || item_bytes == 8);
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t begin = pd_part_begin(count, part, threads);
    uint64_t end = pd_part_begin(count, part + 1, threads);
    if (permutation_bytes == 4 && item_bytes == 4)
      gather_sized(begin, end, permutation, 4, in, 4, out);
    else if (permutation_bytes == 4)
      gather_sized(begin, end, permutation, 4, in, 8, out);
    else if (item_bytes == 4)
      gather_sized(begin, end, permutation, 8, in, 4, out);
    else
      gather_sized(begin, end, permutation, 8, in, 8, out);
  }
}
