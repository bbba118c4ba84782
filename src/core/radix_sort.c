#include "core/radix_sort.h"
#include "core/bits.h"
#include <assert.h>
#include <string.h>

/* A stable order is unique, so the result cannot depend on the number of threads: each thread
 * counts the digits of its part, and prefix sums over (digit, part) give each part its places. */

enum {
  DIGIT_BITS = 8, /* 256 open write streams fit the first level of cache and TLB */
  DIGITS = 1 << DIGIT_BITS,
  THREAD_GRAIN = 1 << 14,
  PACK_BLOCK = 1024
};

static int key_width(const struct pd_key *key) {
  return key->limit == 0 ? 8 * key->bytes : pd_bit_length(key->limit - 1);
}

static inline uint64_t key_at(const struct pd_key *key, uint64_t p) {
  return key->bytes == 4 ? ((const uint32_t *)key->values)[p] : ((const uint64_t *)key->values)[p];
}

/* ---- sorting 64-bit keys ------------------------------------------------------------------ */

struct pass {
  const uint64_t *keys;
  uint64_t *keys_out;
  const void *payload;
  void *payload_out;
  uint64_t begin, end; /* the part of one thread */
  int shift;
};

/* Bits in which the keys differ; other bits need no pass. */
static uint64_t differing_bits(uint64_t count, const uint64_t *keys, int threads) {
  uint64_t differ = 0, first = keys[0];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : differ)
  for (uint64_t p = 0; p < count; ++p)
    differ |= keys[p] ^ first;
  return differ;
}

static void count_digits(const struct pass *pass, uint64_t *counts) {
  memset(counts, 0, DIGITS * sizeof *counts);
  for (uint64_t p = pass->begin; p < pass->end; ++p)
    ++counts[(pass->keys[p] >> pass->shift) & (DIGITS - 1)];
}

/* Turns counts[part][digit] into the first place of each (digit, part). */
static void counts_to_places(uint64_t (*counts)[DIGITS], int parts) {
  uint64_t place = 0;
  for (int digit = 0; digit < DIGITS; ++digit)
    for (int part = 0; part < parts; ++part) {
      uint64_t here = counts[part][digit];
      counts[part][digit] = place;
      place += here;
    }
}

/* Inlined once per payload size, so that the copy is one move. */
static inline __attribute__((always_inline)) void
scatter_sized(const struct pass *pass, uint64_t *places, size_t payload_bytes) {
  const char *payload = pass->payload;
  char *payload_out = pass->payload_out;
  for (uint64_t p = pass->begin; p < pass->end; ++p) {
    uint64_t key = pass->keys[p];
    uint64_t place = places[(key >> pass->shift) & (DIGITS - 1)]++;
    pass->keys_out[place] = key;
    if (payload_bytes != 0)
      memcpy(payload_out + place * payload_bytes, payload + p * payload_bytes, payload_bytes);
  }
}

static void scatter(const struct pass *pass, uint64_t *places, size_t payload_bytes) {
  if (payload_bytes == 0) scatter_sized(pass, places, 0);
  if (payload_bytes == 4) scatter_sized(pass, places, 4);
  if (payload_bytes == 8) scatter_sized(pass, places, 8);
}

static void run_pass(const struct pass *whole, uint64_t count, size_t payload_bytes,
                     uint64_t (*counts)[DIGITS], int threads) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    struct pass mine = *whole;
    mine.begin = pd_part_begin(count, part, threads);
    mine.end = pd_part_begin(count, part + 1, threads);
    count_digits(&mine, counts[part]);
  }
  counts_to_places(counts, threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    struct pass mine = *whole;
    mine.begin = pd_part_begin(count, part, threads);
    mine.end = pd_part_begin(count, part + 1, threads);
    scatter(&mine, counts[part], payload_bytes);
  }
}

static void copy_parallel(void *to, const void *from, uint64_t bytes, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t begin = pd_part_begin(bytes, part, threads);
    memcpy((char *)to + begin, (const char *)from + begin,
           pd_part_begin(bytes, part + 1, threads) - begin);
  }
}

polyad_status pd_sort_u64(polyad_context *context, uint64_t count, uint64_t *keys, int key_bits,
                          void *payload, size_t payload_bytes) {
  assert(payload_bytes == 0 || payload_bytes == 4 || payload_bytes == 8);
  if (count < 2) return POLYAD_OK;
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  uint64_t differ = differing_bits(count, keys, threads) & pd_low_mask(key_bits);
  if (differ == 0) return POLYAD_OK;

  polyad_status status = POLYAD_OK;
  uint64_t *spare_keys = NULL;
  void *spare_payload = NULL;
  uint64_t(*counts)[DIGITS] = NULL;
  PD_TRY_CLEANUP(PD_NEW(context, count, &spare_keys));
  if (payload_bytes != 0) PD_TRY_CLEANUP(pd_alloc(context, count, payload_bytes, &spare_payload));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)threads, &counts));

  struct pass pass = {keys, spare_keys, payload, spare_payload, 0, count, 0};
  while (differ != 0) {
    pass.shift = __builtin_ctzll(differ);
    differ &= ~(uint64_t)(DIGITS - 1) << pass.shift;
    run_pass(&pass, count, payload_bytes, counts, threads);
    pass = (struct pass){pass.keys_out,
                         (uint64_t *)(uintptr_t)pass.keys,
                         pass.payload_out,
                         (void *)(uintptr_t)pass.payload,
                         0,
                         count,
                         0};
  }
  if (pass.keys != keys) {
    copy_parallel(keys, pass.keys, count * sizeof *keys, threads);
    if (payload_bytes != 0) copy_parallel(payload, pass.payload, count * payload_bytes, threads);
  }

cleanup:
  pd_free(context, counts);
  pd_free(context, spare_payload);
  pd_free(context, spare_keys);
  return status;
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

polyad_status pd_sort_permutation(polyad_context *context, uint64_t count, int key_count,
                                  const struct pd_key *keys, int permutation_bytes,
                                  void *permutation) {
  assert(permutation_bytes == 8 || count <= UINT64_C(1) << 32);
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  identity(count, permutation, permutation_bytes, threads);
  if (count < 2) return POLYAD_OK;

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
