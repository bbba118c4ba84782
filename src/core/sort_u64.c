/* Sorting of 64-bit keys: a first pass by the highest digit, by all threads, leaves buckets that
 * fit the caches; each is then sorted digit by digit from the lowest, by one thread. Buckets too
 * large for that are taken apart again by all threads. A stable order is unique, so the result
 * cannot depend on threads or on how keys fall into buckets. */
#include "core/bits.h"
#include "core/radix_sort.h"
#include <assert.h>
#include <string.h>

enum {
  DIGIT_BITS = 8, /* 256 open write streams fit the first level of cache */
  DIGITS = 1 << DIGIT_BITS,
  THREAD_GRAIN = 1 << 14,
  SERIAL_LIMIT = 1 << 14,
  INSERTION_LIMIT = 32,
  BUCKETS_PER_THREAD = 4 /* a bucket with more than 1 / (4 threads) of all would leave some idle */
};

struct items {
  uint64_t *keys;
  char *payload;
};

struct sorter {
  size_t payload_bytes;
  int threads;
  uint64_t (*places)[DIGITS]; /* of each thread */
};

static struct items items_from(const struct items *items, uint64_t first, size_t payload_bytes) {
  return (struct items){items->keys + first, items->payload + first * payload_bytes};
}

/* Bits in which the keys differ; other bits need no pass. */
static uint64_t differing_bits(const uint64_t *keys, uint64_t count, int threads) {
  uint64_t differ = 0, first = keys[0];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : differ)
  for (uint64_t p = 0; p < count; ++p)
    differ |= keys[p] ^ first;
  return differ;
}

/* Inlined once per payload size, so that the copy is one move. */
static inline __attribute__((always_inline)) void
sort_u64_scatter_sized(const struct items *in, uint64_t count, int shift, uint64_t *places,
                       const struct items *out, size_t payload_bytes) {
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t key = in->keys[p], place = places[key >> shift & (DIGITS - 1)]++;
    out->keys[place] = key;
    if (payload_bytes != 0)
      memcpy(out->payload + place * payload_bytes, in->payload + p * payload_bytes, payload_bytes);
  }
}

static void sort_u64_scatter(const struct items *in, uint64_t count, int shift, uint64_t *places,
                             const struct items *out, size_t payload_bytes) {
  if (payload_bytes == 0) sort_u64_scatter_sized(in, count, shift, places, out, 0);
  if (payload_bytes == 4) sort_u64_scatter_sized(in, count, shift, places, out, 4);
  if (payload_bytes == 8) sort_u64_scatter_sized(in, count, shift, places, out, 8);
}

static void copy_items(const struct items *from, uint64_t count, const struct items *to,
                       size_t payload_bytes) {
  memcpy(to->keys, from->keys, count * sizeof *to->keys);
  if (payload_bytes != 0) memcpy(to->payload, from->payload, count * payload_bytes);
}

/* ---- by one thread ------------------------------------------------------------------------------
 */

static void sort_u64_insertion_sort(const struct items *items, uint64_t count,
                                    size_t payload_bytes) {
  for (uint64_t p = 1; p < count; ++p) {
    uint64_t key = items->keys[p], q = p;
    while (q > 0 && items->keys[q - 1] > key)
      --q;
    if (q == p) continue;
    char moved[8];
    memmove(items->keys + q + 1, items->keys + q, (p - q) * sizeof key);
    items->keys[q] = key;
    if (payload_bytes == 0) continue;
    char *place = items->payload + q * payload_bytes;
    memcpy(moved, items->payload + p * payload_bytes, payload_bytes);
    memmove(place + payload_bytes, place, (p - q) * payload_bytes);
    memcpy(place, moved, payload_bytes);
  }
}

/* Sorts what is in `here`; it ends in `here` or in `there`, as asked for. */
static void sort_u64_sort_serial(struct items here, struct items there, uint64_t count, bool stay,
                                 size_t payload_bytes) {
  bool moved = false;
  if (count <= INSERTION_LIMIT) {
    sort_u64_insertion_sort(&here, count, payload_bytes);
  } else {
    uint64_t differ = differing_bits(here.keys, count, 1);
    while (differ != 0) {
      uint64_t places[DIGITS] = {0}, place = 0;
      int shift = __builtin_ctzll(differ);
      for (uint64_t p = 0; p < count; ++p)
        ++places[here.keys[p] >> shift & (DIGITS - 1)];
      for (int digit = 0; digit < DIGITS; ++digit) {
        uint64_t size = places[digit];
        places[digit] = place;
        place += size;
      }
      sort_u64_scatter(&here, count, shift, places, &there, payload_bytes);
      struct items turned = here;
      here = there;
      there = turned;
      moved = !moved;
      differ &= ~((uint64_t)(DIGITS - 1) << shift);
    }
  }
  if (moved == stay) copy_items(&here, count, &there, payload_bytes);
}

/* ---- by all threads -----------------------------------------------------------------------------
 */

/* Moves items from `here` to `there` by a digit of their keys; begin[d] is then where those with
 * digit d begin, begin[DIGITS] their number. */
static void partition(const struct sorter *sorter, const struct items *here,
                      const struct items *there, uint64_t count, int shift, uint64_t *begin) {
  int threads = sorter->threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t *places = sorter->places[part], end = pd_part_begin(count, part + 1, threads);
    memset(places, 0, DIGITS * sizeof *places);
    for (uint64_t p = pd_part_begin(count, part, threads); p < end; ++p)
      ++places[here->keys[p] >> shift & (DIGITS - 1)];
  }
  uint64_t place = 0;
  for (uint64_t digit = 0; digit < DIGITS; ++digit) {
    begin[digit] = place;
    for (int part = 0; part < threads; ++part) {
      uint64_t size = sorter->places[part][digit];
      sorter->places[part][digit] = place;
      place += size;
    }
  }
  begin[DIGITS] = place;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t first = pd_part_begin(count, part, threads);
    struct items mine = items_from(here, first, sorter->payload_bytes);
    sort_u64_scatter(&mine, pd_part_begin(count, part + 1, threads) - first, shift,
                     sorter->places[part], there, sorter->payload_bytes);
  }
}

static void sort_parallel(const struct sorter *sorter, const struct items *here,
                          const struct items *there, uint64_t count, bool stay) {
  size_t payload_bytes = sorter->payload_bytes;
  uint64_t differ = count < 2 ? 0 : differing_bits(here->keys, count, sorter->threads);
  if (count <= SERIAL_LIMIT || differ == 0) {
    sort_u64_sort_serial(*here, *there, count, stay, payload_bytes);
    return;
  }
  int length = pd_bit_length(differ);
  uint64_t begin[DIGITS + 1];
  partition(sorter, here, there, count, length > DIGIT_BITS ? length - DIGIT_BITS : 0, begin);

  uint64_t large = count / (uint64_t)(sorter->threads * BUCKETS_PER_THREAD);
  if (large < SERIAL_LIMIT) large = SERIAL_LIMIT;
#pragma omp parallel for num_threads(sorter->threads) schedule(dynamic, 1)
  for (uint64_t digit = 0; digit < DIGITS; ++digit) {
    uint64_t size = begin[digit + 1] - begin[digit];
    if (size == 0 || size > large) continue;
    sort_u64_sort_serial(items_from(there, begin[digit], payload_bytes),
                         items_from(here, begin[digit], payload_bytes), size, !stay, payload_bytes);
  }
  for (uint64_t digit = 0; digit < DIGITS; ++digit) {
    uint64_t size = begin[digit + 1] - begin[digit];
    if (size <= large) continue;
    struct items bucket = items_from(there, begin[digit], payload_bytes);
    struct items other = items_from(here, begin[digit], payload_bytes);
    sort_parallel(sorter, &bucket, &other, size, !stay);
  }
}

polyad_status pd_sort_u64(polyad_context *context, uint64_t count, uint64_t *keys, int key_bits,
                          void *payload, size_t payload_bytes) {
  (void)key_bits;
  assert(payload_bytes == 0 || payload_bytes == 4 || payload_bytes == 8);
  assert(count == 0 || key_bits == 64 || keys[0] >> key_bits == 0);
  polyad_status status = POLYAD_OK;
  struct sorter sorter = {payload_bytes, pd_threads_for(context, count, THREAD_GRAIN), NULL};
  struct items items = {keys, payload}, spare = {NULL, NULL};
  if (count < 2) return POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, count, &spare.keys));
  PD_TRY_CLEANUP(pd_alloc(context, count, payload_bytes, (void **)&spare.payload));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)sorter.threads, &sorter.places));
  sort_parallel(&sorter, &items, &spare, count, true);

cleanup:
  PD_FREE(context, sorter.places, spare.payload, spare.keys);
  return status;
}
