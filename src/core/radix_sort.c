/* A sort by several keys is one or more stable sorts of 64-bit numbers (sort_u64.c), in each of
 * which as many neighbouring keys as fit lie side by side, the last keys being sorted first. */
#include "core/radix_sort.h"
#include "core/bits.h"
#include <assert.h>
#include <string.h>

enum {
  THREAD_GRAIN = 1 << 14,
  PACK_BLOCK = 1024,
  COMPARE_BLOCK = 512,
  MOST_KEYS = 32,
  SAMPLE_RUNS = 64,
  SAMPLE_RUN = 64,
  SAMPLE = SAMPLE_RUNS * SAMPLE_RUN,
  SAMPLE_FROM = 4 * SAMPLE
};

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

/* One key of items begin to begin + count against those before: what of them was equal in all keys
 * so far stays so or not. Loops without branches, which vectorise. */
static bool compare_key(const struct pd_key *key, uint64_t begin, uint64_t count, uint32_t *equal,
                        int *descents) {
  uint32_t down = 0, left = 0;
  if (key->bytes == 4) {
    const uint32_t *now = (const uint32_t *)key->values + begin, *before = now - 1;
    for (uint64_t p = 0; p < count; ++p) {
      down |= equal[p] & (before[p] > now[p] ? UINT32_MAX : 0);
      equal[p] &= before[p] == now[p] ? UINT32_MAX : 0;
      left |= equal[p];
    }
  } else {
    const uint64_t *now = (const uint64_t *)key->values + begin, *before = now - 1;
    for (uint64_t p = 0; p < count; ++p) {
      down |= equal[p] & (before[p] > now[p] ? UINT32_MAX : 0);
      equal[p] &= before[p] == now[p] ? UINT32_MAX : 0;
      left |= equal[p];
    }
  }
  *descents |= down != 0;
  return left != 0;
}

/* Compares each item of a part with the one before, in blocks that stay in the nearest cache. */
static void compare_part(int key_count, const struct pd_key *keys, uint64_t begin, uint64_t end,
                         int *descents, int *ties) {
  uint32_t equal[COMPARE_BLOCK];
  for (uint64_t p = begin; p < end && !*descents; p += COMPARE_BLOCK) {
    uint64_t count = end - p < COMPARE_BLOCK ? end - p : COMPARE_BLOCK;
    bool left = true;
    memset(equal, 0xff, sizeof equal);
    for (int k = 0; k < key_count && left; ++k)
      left = compare_key(&keys[k], p, count, equal, descents);
    *ties |= left;
  }
}

bool pd_is_sorted(const polyad_context *context, uint64_t count, int key_count,
                  const struct pd_key *keys, bool *strict) {
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  int descents = 0, ties = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : descents, ties)
  for (int part = 0; part < threads; ++part) {
    uint64_t begin = pd_part_begin(count, part, threads);
    compare_part(key_count, keys, begin == 0 ? 1 : begin, pd_part_begin(count, part + 1, threads),
                 &descents, &ties);
  }
  *strict = !descents && !ties;
  return !descents;
}

/* ---- what is sorted already -------------------------------------------------------------------
 *
 * Nonzeros of a tensor are sorted by its modes in turn. Another order of the modes then needs only
 * its first few keys sorted: among items that agree in these, a stable sort leaves the others in
 * the order they have. */

/* Items from all over, in runs, so that early and late keys both differ. */
static void take_sample(uint64_t count, const struct pd_key *key, uint64_t *sample) {
  for (uint64_t run = 0; run < SAMPLE_RUNS; ++run) {
    uint64_t first = (count - SAMPLE_RUN) / (SAMPLE_RUNS - 1) * run;
    for (uint64_t p = 0; p < SAMPLE_RUN; ++p)
      sample[run * SAMPLE_RUN + p] = key_at(key, first + p);
  }
}

/* Finds an order of the keys by which a sample is sorted, the first key as late as can be; keys
 * that it does not tell apart come last. False when there is no order. */
static bool order_of_sample(const polyad_context *context, int key_count,
                            const struct pd_key *sample, int *column) {
  struct pd_key sorted[MOST_KEYS];
  bool used[MOST_KEYS] = {false}, distinct = false;
  int known = 0;
  while (known < key_count && !distinct) {
    int k = key_count > 1 ? 1 : 0, tried = 0;
    for (; tried < key_count; ++tried, k = (k + 1) % key_count) { /* the first key last */
      sorted[known] = sample[k];
      if (!used[k] && pd_is_sorted(context, SAMPLE, known + 1, sorted, &distinct)) break;
    }
    if (tried == key_count) return false;
    used[k] = true;
    column[known++] = k;
  }
  int next = known;
  for (int k = 1; k < key_count; ++k)
    if (!used[k]) column[next++] = k;
  if (next < key_count) column[next] = 0;
  return true;
}

/* How many of the leading keys a stable sort must look at when the items are sorted by the keys
 * column[0], column[1], and so on: the keys after the leading ones must come in this order. */
static int leading_keys(int key_count, const int *column) {
  for (int leading = 0; leading < key_count; ++leading) {
    int next = leading;
    bool agrees = true;
    for (int k = 0; k < key_count; ++k)
      if (column[k] >= leading) agrees = agrees && column[k] == next++;
    if (agrees) return leading;
  }
  return key_count;
}

static polyad_status keys_to_sort(polyad_context *context, uint64_t count, int key_count,
                                  const struct pd_key *keys, int *needed) {
  *needed = key_count;
  if (key_count > MOST_KEYS || count < SAMPLE_FROM) return POLYAD_OK;
  struct pd_key sample[MOST_KEYS], present[MOST_KEYS];
  int column[MOST_KEYS];
  uint64_t *values;
  PD_TRY(PD_NEW(context, SAMPLE * (uint64_t)key_count, &values));
  for (int k = 0; k < key_count; ++k) {
    take_sample(count, &keys[k], values + k * SAMPLE);
    sample[k] = (struct pd_key){values + k * SAMPLE, 8, 0};
  }
  bool found = order_of_sample(context, key_count, sample, column), distinct;
  pd_free(context, values);
  if (!found) return POLYAD_OK;
  int place = 0;
  while (column[place] != 0)
    ++place;
  /* The sample may have put the first key too late, behind keys that it ties with nearly always. */
  for (;; --place) {
    int leading = leading_keys(key_count, column);
    for (int k = 0; k < key_count; ++k)
      present[k] = keys[column[k]];
    if (leading < key_count && pd_is_sorted(context, count, key_count, present, &distinct)) {
      *needed = leading;
      return POLYAD_OK;
    }
    if (place == 0) return POLYAD_OK;
    column[place] = column[place - 1];
    column[place - 1] = 0;
  }
}

polyad_status pd_sort_permutation(polyad_context *context, uint64_t count, int key_count,
                                  const struct pd_key *keys, int permutation_bytes,
                                  void *permutation) {
  assert(permutation_bytes == 8 || count <= UINT64_C(1) << 32);
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  identity(count, permutation, permutation_bytes, threads);
  PD_TRY(keys_to_sort(context, count, key_count, keys, &key_count));
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
