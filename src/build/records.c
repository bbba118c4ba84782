#include "build/records.h"
#include "build/pack.h"
#include <omp.h>
#include <string.h>

enum {
  THREAD_GRAIN = 1 << 14,
  HEAD_BITS_MOST = PD_DIGIT_BITS_MOST, /* as many buckets are written to at once */
  BUCKET_USUAL = 1 << 13,
  BUCKET_LEAST = 1 << 5,    /* of a digit that is all there is to sort by */
  HANDED_AT_ONCE = 1 << 12, /* records that stay in the cache while they are unpacked */
  SPLIT_BITS = 8,           /* of the digits that divide a bucket that is too large */
  SPLIT_DIGITS = 1 << SPLIT_BITS,
  SERIAL_BYTES = 1 << 19, /* a bucket of so many bytes is sorted in the second level of cache */
  DIGIT_BITS_MOST = 11,
  DIGITS_MOST = 1 << DIGIT_BITS_MOST,
  INSERTION_LIMIT = 24,
  BUCKETS_PER_THREAD = 4 /* a larger bucket would leave some threads idle */
};

/* Bits of a key from `bit` on, the highest being bit 0; they lie in one word. */
struct digit {
  int word, shift;
  uint64_t mask;
};

struct sorter {
  const struct pd_layout *layout;
  int words, sort_bits, threads;
  uint64_t serial; /* the most records that one thread sorts with its scratch memory */
  uint64_t *records, *spare, *scratch, *kept;
  uint64_t (*places)[SPLIT_DIGITS]; /* of each thread */
  pd_visit_function visit;
  void *visitor;
};

/* Records of a bucket: they lie at `here`, there is room for them at `there`, and they follow
 * `first` records of the sorted order. `bit` leading bits of their keys are equal. */
struct bucket {
  uint64_t *here, *there;
  uint64_t first, count;
  int bit;
};

static struct digit digit_at(int bit, int bits) {
  return (struct digit){bit / 64, 64 - bit % 64 - bits, pd_low_mask(bits)};
}

/* As many bits from `bit` on, `most` at most, as lie in one word and are sorted by. */
static int bits_from(const struct sorter *sorter, int bit, int most) {
  int bits = sorter->sort_bits - bit, left = 64 - bit % 64;
  bits = bits < left ? bits : left;
  return bits < most ? bits : most;
}

static inline uint64_t digit_of(const uint64_t *record, struct digit digit) {
  return record[digit.word] >> digit.shift & digit.mask;
}

/* ---- moving ------------------------------------------------------------------------------------
 */

static inline __attribute__((always_inline)) void copy_record(const uint64_t *from, uint64_t *to,
                                                              int words) {
  for (int w = 0; w < words; ++w)
    to[w] = from[w];
}

static inline __attribute__((always_inline)) void
records_scatter_sized(const uint64_t *in, uint64_t count, struct digit digit, uint64_t *places,
                      uint64_t *out, int words) {
  for (uint64_t p = 0; p < count; ++p) {
    const uint64_t *record = in + p * (uint64_t)words;
    copy_record(record, out + places[digit_of(record, digit)]++ * (uint64_t)words, words);
  }
}

/* Inlined for the usual numbers of words, so that a copy is one or two moves. */
static void records_scatter(const uint64_t *in, uint64_t count, struct digit digit,
                            uint64_t *places, uint64_t *out, int words) {
  if (words == 1)
    records_scatter_sized(in, count, digit, places, out, 1);
  else if (words == 2)
    records_scatter_sized(in, count, digit, places, out, 2);
  else if (words == 3)
    records_scatter_sized(in, count, digit, places, out, 3);
  else
    records_scatter_sized(in, count, digit, places, out, words);
}

static inline __attribute__((always_inline)) void
scatter_packed_sized(const struct pd_packed *packed, uint64_t count, int shift, uint64_t *places,
                     uint64_t *out, int words) {
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t *to = out + places[packed->word[0][p] >> shift]++ * (uint64_t)words;
    for (int w = 0; w < words; ++w)
      to[w] = packed->word[w][p];
  }
}

static void scatter_packed(const struct pd_packed *packed, uint64_t count, int shift,
                           uint64_t *places, uint64_t *out, int words) {
  if (words == 1)
    scatter_packed_sized(packed, count, shift, places, out, 1);
  else if (words == 2)
    scatter_packed_sized(packed, count, shift, places, out, 2);
  else if (words == 3)
    scatter_packed_sized(packed, count, shift, places, out, 3);
  else
    scatter_packed_sized(packed, count, shift, places, out, words);
}

/* ---- one bucket, by one thread -----------------------------------------------------------------
 */

/* Whether record a comes before record b by the bits of their keys before `end`, the first `bit` of
 * them being equal. */
static bool records_before(const uint64_t *a, const uint64_t *b, int bit, int end) {
  for (int w = bit / 64; 64 * w < end; ++w) {
    int unused = end - 64 * w < 64 ? 64 - (end - 64 * w) : 0;
    uint64_t mine = a[w] >> unused, other = b[w] >> unused;
    if (mine != other) return mine < other;
  }
  return false;
}

/* Records of one word: by all its bits that are sorted by, those before being equal. */
static void insertion_sort_words(uint64_t *record, uint64_t count, int end) {
  const int unused = 64 - end;
  for (uint64_t p = 1; p < count; ++p) {
    uint64_t q = p, moved = record[p];
    for (; q > 0 && record[q - 1] >> unused > moved >> unused; --q)
      record[q] = record[q - 1];
    record[q] = moved;
  }
}

static void records_insertion_sort(const struct sorter *sorter, const struct bucket *bucket) {
  uint64_t words = (uint64_t)sorter->words, *records = bucket->here;
  uint64_t moved[PD_RECORD_WORDS_MAX];
  if (words == 1) {
    insertion_sort_words(records, bucket->count, sorter->sort_bits);
    return;
  }
  for (uint64_t p = 1; p < bucket->count; ++p) {
    uint64_t q = p;
    memcpy(moved, records + p * words, words * sizeof *moved);
    while (q > 0 &&
           records_before(moved, records + (q - 1) * words, bucket->bit, sorter->sort_bits))
      --q;
    if (q == p) continue;
    memmove(records + (q + 1) * words, records + q * words, (p - q) * words * sizeof *records);
    memcpy(records + q * words, moved, words * sizeof *moved);
  }
}

/* Moves each half's records to the places of their digits. Neighbours often have the same digit,
 * and then each move waits for the place that the one before leaves: two halves in turn wait half
 * as long. */
static inline __attribute__((always_inline)) void scatter_halves(const uint64_t *in, uint64_t count,
                                                                 struct digit digit,
                                                                 uint32_t (*places)[DIGITS_MOST],
                                                                 uint64_t *out, int words) {
  const uint64_t each = (uint64_t)words, half = count / 2;
  const uint64_t *first = in, *second = in + half * each;
  for (uint64_t p = 0; p < half; ++p, first += each, second += each) {
    copy_record(first, out + places[0][digit_of(first, digit)]++ * each, words);
    copy_record(second, out + places[1][digit_of(second, digit)]++ * each, words);
  }
  if (count % 2 != 0) copy_record(second, out + places[1][digit_of(second, digit)] * each, words);
}

/* Sorts by one digit; true when the records have moved to `there`. */
static inline __attribute__((always_inline)) bool sort_digit_sized(const uint64_t *here,
                                                                   uint64_t *there, uint64_t count,
                                                                   struct digit digit, int words) {
  uint32_t places[2][DIGITS_MOST], place = 0;
  const uint64_t each = (uint64_t)words, half = count / 2;
  const uint64_t *second = here + half * each;
  for (int k = 0; k < 2; ++k)
    memset(places[k], 0, (digit.mask + 1) * sizeof places[k][0]);
  for (uint64_t p = 0; p < half; ++p) {
    ++places[0][digit_of(here + p * each, digit)];
    ++places[1][digit_of(second + p * each, digit)];
  }
  if (count % 2 != 0) ++places[1][digit_of(second + half * each, digit)];
  for (uint64_t d = 0; d <= digit.mask; ++d) {
    uint32_t one = places[0][d], both = one + places[1][d];
    if (both == count) return false;
    places[0][d] = place;
    places[1][d] = place + one;
    place += both;
  }
  scatter_halves(here, count, digit, places, there, words);
  return true;
}

static bool sort_digit(const uint64_t *here, uint64_t *there, uint64_t count, int words,
                       struct digit digit) {
  if (words == 1) return sort_digit_sized(here, there, count, digit, 1);
  if (words == 2) return sort_digit_sized(here, there, count, digit, 2);
  return sort_digit_sized(here, there, count, digit, words);
}

/* Sorts a bucket from its last digit to its first; returns where the records are then. */
static uint64_t *records_sort_serial(const struct sorter *sorter, const struct bucket *bucket) {
  uint64_t *here = bucket->here, *there = bucket->there;
  if (bucket->count <= INSERTION_LIMIT) {
    records_insertion_sort(sorter, bucket);
    return here;
  }
  /* No more digits than records: clearing the counts would take longer than moving them. */
  int most = pd_bit_length(bucket->count) - 1;
  if (most > DIGIT_BITS_MOST) most = DIGIT_BITS_MOST;
  for (int end = sorter->sort_bits; end > bucket->bit;) {
    int word = (end - 1) / 64, begin = 64 * word > bucket->bit ? 64 * word : bucket->bit;
    int digits = (end - begin + most - 1) / most, bits = (end - begin + digits - 1) / digits;
    if (sort_digit(here, there, bucket->count, sorter->words, digit_at(end - bits, bits))) {
      uint64_t *turned = here;
      here = there;
      there = turned;
    }
    end -= bits;
  }
  return here;
}

static void hand_on(const struct sorter *sorter, uint64_t first, uint64_t count,
                    const uint64_t *records) {
  uint64_t words = (uint64_t)sorter->words, *place = sorter->records + first * words;
  if (sorter->kept != NULL && records != sorter->kept + first * words)
    memcpy(sorter->kept + first * words, records, count * words * sizeof *records);
  if (sorter->visit != NULL)
    sorter->visit(sorter->visitor, first, count, records);
  else if (records != place)
    memcpy(place, records, count * words * sizeof *records);
}

/* ---- dividing large buckets ---------------------------------------------------------------------
 */

/* Moves the records from `here` to `there` by a digit; begin[d] is then where those with digit d
 * begin, begin[SPLIT_DIGITS] their number. */
static void records_divide(const struct sorter *sorter, const struct bucket *bucket,
                           struct digit digit, int threads, uint64_t (*places)[SPLIT_DIGITS],
                           uint64_t *begin) {
  int words = sorter->words;
  uint64_t place = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t end = pd_part_begin(bucket->count, part + 1, threads);
    memset(places[part], 0, sizeof places[part]);
    for (uint64_t p = pd_part_begin(bucket->count, part, threads); p < end; ++p)
      ++places[part][digit_of(bucket->here + p * (uint64_t)words, digit)];
  }
  for (int d = 0; d < SPLIT_DIGITS; ++d) {
    begin[d] = place;
    for (int part = 0; part < threads; ++part) {
      uint64_t size = places[part][d];
      places[part][d] = place;
      place += size;
    }
  }
  begin[SPLIT_DIGITS] = place;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t first = pd_part_begin(bucket->count, part, threads);
    records_scatter(bucket->here + first * (uint64_t)words,
                    pd_part_begin(bucket->count, part + 1, threads) - first, digit, places[part],
                    bucket->there, words);
  }
}

/* Part d of a bucket that was divided. */
static struct bucket records_part_of(const struct sorter *sorter, const struct bucket *bucket,
                                     int bits, const uint64_t *begin, int d) {
  uint64_t from = begin[d] * (uint64_t)sorter->words;
  return (struct bucket){bucket->there + from, bucket->here + from, bucket->first + begin[d],
                         begin[d + 1] - begin[d], bucket->bit + bits};
}

static void sort_by_one(const struct sorter *sorter, const struct bucket *bucket) {
  if (bucket->count == 0) return;
  if (bucket->bit >= sorter->sort_bits) {
    hand_on(sorter, bucket->first, bucket->count, bucket->here);
    return;
  }
  if (bucket->count <= sorter->serial) {
    hand_on(sorter, bucket->first, bucket->count, records_sort_serial(sorter, bucket));
    return;
  }
  uint64_t places[1][SPLIT_DIGITS], begin[SPLIT_DIGITS + 1];
  int bits = bits_from(sorter, bucket->bit, SPLIT_BITS);
  records_divide(sorter, bucket, digit_at(bucket->bit, bits), 1, places, begin);
  for (int d = 0; d < SPLIT_DIGITS; ++d) {
    struct bucket part = records_part_of(sorter, bucket, bits, begin, d);
    sort_by_one(sorter, &part);
  }
}

/* Hands on records that need no more sorting, by all threads. */
static void hand_on_by_all(const struct sorter *sorter, const struct bucket *bucket) {
  uint64_t blocks = (bucket->count + HANDED_AT_ONCE - 1) / HANDED_AT_ONCE;
#pragma omp parallel for num_threads(sorter->threads) schedule(static)
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t first = block * HANDED_AT_ONCE, count = bucket->count - first;
    if (count > HANDED_AT_ONCE) count = HANDED_AT_ONCE;
    hand_on(sorter, bucket->first + first, count, bucket->here + first * (uint64_t)sorter->words);
  }
}

static void sort_by_all(const struct sorter *sorter, const struct bucket *bucket, uint64_t large) {
  if (bucket->bit >= sorter->sort_bits) {
    hand_on_by_all(sorter, bucket);
    return;
  }
  uint64_t begin[SPLIT_DIGITS + 1];
  int bits = bits_from(sorter, bucket->bit, SPLIT_BITS);
  records_divide(sorter, bucket, digit_at(bucket->bit, bits), sorter->threads, sorter->places,
                 begin);
#pragma omp parallel for num_threads(sorter->threads) schedule(dynamic, 1)
  for (int d = 0; d < SPLIT_DIGITS; ++d) {
    struct bucket part = records_part_of(sorter, bucket, bits, begin, d);
    if (part.count <= large) sort_by_one(sorter, &part);
  }
  for (int d = 0; d < SPLIT_DIGITS; ++d) {
    struct bucket part = records_part_of(sorter, bucket, bits, begin, d);
    if (part.count > large) sort_by_all(sorter, &part, large);
  }
}

/* ---- from the source to buckets -----------------------------------------------------------------
 */

struct head {
  int bits;         /* of the first digit */
  uint64_t buckets; /* 2^bits */
  uint64_t each;    /* places of a thread: pd_apart(buckets) */
  uint64_t *places; /* of each thread */
  uint64_t *begin;  /* buckets + 1: first record of each */
  uint64_t most;    /* records of the largest */
};

/* A digit that is all there is to sort by takes one move of each record; others leave buckets of a
 * size to sort in the cache. */
static int head_bits(const struct sorter *sorter, uint64_t count) {
  int bits = pd_bit_length(count / BUCKET_USUAL);
  if (sorter->sort_bits <= HEAD_BITS_MOST && count >> sorter->sort_bits >= BUCKET_LEAST)
    return sorter->sort_bits;
  bits = bits < HEAD_BITS_MOST ? bits : HEAD_BITS_MOST;
  return bits < sorter->sort_bits ? bits : sorter->sort_bits;
}

static uint64_t block_count(uint64_t first, uint64_t end) {
  return end - first < PD_PACK_BLOCK ? end - first : PD_PACK_BLOCK;
}

static void records_count_part(const struct pd_record_source *source,
                               const struct pd_layout *layout, int bits, uint64_t first,
                               uint64_t end, uint64_t *places) {
  struct pd_packed packed;
  for (uint64_t count; first < end; first += count) {
    count = block_count(first, end);
    pd_pack_head(source, layout, bits, first, count, &packed);
    for (uint64_t p = 0; p < count; ++p)
      ++places[packed.word[0][p] >> (64 - bits)];
  }
}

static void scatter_part(const struct pd_record_source *source, const struct pd_layout *layout,
                         int bits, uint64_t first, uint64_t end, uint64_t *places, uint64_t *out) {
  struct pd_packed packed;
  for (uint64_t count; first < end; first += count) {
    count = block_count(first, end);
    pd_pack(source, layout, first, count, &packed);
    scatter_packed(&packed, count, 64 - bits, places, out, layout->words);
  }
}

/* Where the records of each bucket begin, and of each thread in it, from how many each has. */
static void place_buckets(int threads, struct head *head) {
  uint64_t place = 0;
  head->most = 0;
  for (uint64_t b = 0; b < head->buckets; ++b) {
    head->begin[b] = place;
    for (int part = 0; part < threads; ++part) {
      uint64_t *at = &head->places[(uint64_t)part * head->each + b], size = *at;
      *at = place;
      place += size;
    }
    if (place - head->begin[b] > head->most) head->most = place - head->begin[b];
  }
  head->begin[head->buckets] = place;
}

/* Packs all nonzeros and moves them to the buckets of their first digit. */
static void fill_buckets(const struct pd_record_source *source, const struct sorter *sorter,
                         struct head *head) {
  uint64_t nnz = source->tensor->nnz;
  int threads = sorter->threads;
  memset(head->places, 0, (uint64_t)threads * head->each * sizeof *head->places);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    records_count_part(source, sorter->layout, head->bits, pd_part_begin(nnz, part, threads),
                       pd_part_begin(nnz, part + 1, threads),
                       head->places + (uint64_t)part * head->each);
  place_buckets(threads, head);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    scatter_part(source, sorter->layout, head->bits, pd_part_begin(nnz, part, threads),
                 pd_part_begin(nnz, part + 1, threads), head->places + (uint64_t)part * head->each,
                 sorter->records);
}

/* Packs nonzeros that are in their order already. */
static void pack_in_order(const struct pd_record_source *source, const struct sorter *sorter) {
  uint64_t nnz = source->tensor->nnz, blocks = (nnz + PD_PACK_BLOCK - 1) / PD_PACK_BLOCK;
  uint64_t words = (uint64_t)sorter->words;
#pragma omp parallel for num_threads(sorter->threads) schedule(static)
  for (uint64_t block = 0; block < blocks; ++block) {
    struct pd_packed packed;
    uint64_t first = block * PD_PACK_BLOCK, count = block_count(first, nnz);
    uint64_t *to = sorter->records + first * words;
    pd_pack(source, sorter->layout, first, count, &packed);
    for (uint64_t w = 0; w < words; ++w)
      for (uint64_t p = 0; p < count; ++p)
        to[p * words + w] = packed.word[w][p];
  }
}

static void sort_buckets(const struct sorter *sorter, const struct head *head, uint64_t large) {
  uint64_t words = (uint64_t)sorter->words;
#pragma omp parallel num_threads(sorter->threads)
  {
    int thread = omp_get_thread_num();
    uint64_t *scratch = sorter->scratch + (uint64_t)thread * sorter->serial * words;
#pragma omp for schedule(dynamic, 1)
    for (uint64_t b = 0; b < head->buckets; ++b) {
      uint64_t first = head->begin[b], count = head->begin[b + 1] - first;
      struct bucket bucket = {sorter->records + first * words, scratch, first, count, head->bits};
      if (count > sorter->serial && sorter->spare != NULL)
        bucket.there = sorter->spare + first * words;
      if (count <= large) sort_by_one(sorter, &bucket);
    }
  }
  for (uint64_t b = 0; b < head->buckets; ++b) {
    uint64_t first = head->begin[b], count = head->begin[b + 1] - first;
    if (count <= large) continue;
    struct bucket bucket = {sorter->records + first * words, NULL, first, count, head->bits};
    if (sorter->spare != NULL) bucket.there = sorter->spare + first * words;
    sort_by_all(sorter, &bucket, large);
  }
}

/* ---- from kept records --------------------------------------------------------------------------
 */

static bool are_kept(const struct pd_room *room, const struct pd_layout *layout, int sort_bits) {
  return pd_layout_follows(layout, &room->kept) && sort_bits >= pd_layout_unsorted_bits(layout);
}

static struct digit digit_of_mode(const struct pd_layout *layout, int mode) {
  int k = 0;
  while (layout->piece[k].mode != mode)
    ++k;
  const struct pd_piece *piece = &layout->piece[k];
  return (struct digit){piece->word, piece->shift, pd_low_mask(piece->bits)};
}

/* Moves the kept records to the buckets of a digit, which is all there is to sort by. */
static void move_kept(const struct sorter *sorter, uint64_t nnz, struct digit digit,
                      const uint64_t *kept, struct head *head) {
  const uint64_t words = (uint64_t)sorter->words;
  const int threads = sorter->threads;
  memset(head->places, 0, (uint64_t)threads * head->each * sizeof *head->places);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t *places = head->places + (uint64_t)part * head->each;
    uint64_t end = pd_part_begin(nnz, part + 1, threads);
    for (uint64_t p = pd_part_begin(nnz, part, threads); p < end; ++p)
      ++places[digit_of(kept + p * words, digit)];
  }
  place_buckets(threads, head);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t first = pd_part_begin(nnz, part, threads);
    records_scatter(kept + first * words, pd_part_begin(nnz, part + 1, threads) - first, digit,
                    head->places + (uint64_t)part * head->each, sorter->records, sorter->words);
  }
}

/* ---- rooms --------------------------------------------------------------------------------------
 */

static uint64_t serial_records(int words) { return SERIAL_BYTES / (8 * (uint64_t)words); }

polyad_status pd_room_create(polyad_context *context, uint64_t count, int words,
                             struct pd_room *room) {
  *room = (struct pd_room){.words = words, .count = count};
  return pd_alloc(context, count, 8 * (size_t)words, (void **)&room->records);
}

polyad_status pd_room_create_values(polyad_context *context, const polyad_tensor *tensor,
                                    int key_bits, struct pd_room *room) {
  int bits = pd_value_bits(context, tensor);
  PD_TRY(pd_room_create(context, tensor->nnz, pd_record_words(key_bits, bits), room));
  room->value_bits = bits;
  return POLYAD_OK;
}

void pd_room_destroy(polyad_context *context, struct pd_room *room) {
  PD_FREE(context, room->records, room->spare);
  *room = (struct pd_room){0};
}

uint64_t pd_sorting_bytes(uint64_t count, int words, int threads) {
  uint64_t records = pd_mul_saturated(count, 16 * (uint64_t)words);
  uint64_t own = SERIAL_BYTES + (8 << HEAD_BITS_MOST) + 8 * SPLIT_DIGITS;
  return pd_add_saturated(records, (uint64_t)threads * own + (16 << HEAD_BITS_MOST));
}

static polyad_status need_spare(polyad_context *context, struct pd_room *room) {
  if (room->spare != NULL) return POLYAD_OK;
  return pd_alloc(context, room->count, 8 * (size_t)room->words, (void **)&room->spare);
}

/* Lets the sort leave its records in the spare memory, where the room wants them and they are in
 * the order of all keys. */
static polyad_status begin_keeping(polyad_context *context, struct sorter *sorter,
                                   struct pd_room *room) {
  if (!room->keeps || sorter->sort_bits < pd_layout_unsorted_bits(sorter->layout)) return POLYAD_OK;
  PD_TRY(need_spare(context, room));
  sorter->kept = room->spare;
  room->kept = *sorter->layout;
  room->keeps = false;
  return POLYAD_OK;
}

static polyad_status sort_in_buckets(polyad_context *context, struct sorter *sorter, uint64_t nnz,
                                     const struct head *head, struct pd_room *room) {
  polyad_status status = POLYAD_OK;
  uint64_t large = nnz / (uint64_t)(sorter->threads * BUCKETS_PER_THREAD);
  if (large < sorter->serial) large = sorter->serial;
  if (head->most > sorter->serial) {
    PD_TRY(need_spare(context, room));
    sorter->spare = room->spare;
    if (sorter->kept == NULL) room->kept.pieces = 0; /* what was there is overwritten */
  }
  uint64_t scratch = head->most < sorter->serial ? head->most : sorter->serial;
  sorter->serial = scratch;
  PD_TRY_CLEANUP(pd_alloc(context, pd_mul_saturated((uint64_t)sorter->threads, scratch),
                          8 * (size_t)sorter->words, (void **)&sorter->scratch));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)sorter->threads, &sorter->places));
  sort_buckets(sorter, head, large);
cleanup:
  PD_FREE(context, sorter->places, sorter->scratch);
  return status;
}

polyad_status pd_records_sort(polyad_context *context, const struct pd_record_source *source,
                              struct pd_layout *layout, int sort_bits, struct pd_room *room,
                              pd_visit_function visit, void *visitor) {
  polyad_status status = POLYAD_OK;
  const uint64_t nnz = source->tensor->nnz;
  struct sorter sorter = {.layout = layout,
                          .words = layout->words,
                          .sort_bits = sort_bits,
                          .threads = pd_threads_for(context, nnz, THREAD_GRAIN),
                          .serial = serial_records(layout->words),
                          .records = room->records,
                          .visit = visit,
                          .visitor = visitor};
  struct head head = {.bits = head_bits(&sorter, nnz)};
  const bool again = are_kept(room, layout, sort_bits);
  const struct digit digit =
      again ? digit_of_mode(&room->kept, layout->piece[0].mode) : (struct digit){.mask = 0};
  if (!again) PD_TRY(begin_keeping(context, &sorter, room));
  if (sort_bits == 0 || nnz < 2) {
    struct bucket all = {.here = room->records, .count = nnz};
    pack_in_order(source, &sorter);
    if (source->packed != NULL) PD_TRY(source->packed(context, source->user));
    sorter.sort_bits = 0;
    hand_on_by_all(&sorter, &all);
    return POLYAD_OK;
  }
  if (again) head.bits = pd_bit_length(digit.mask);
  if (head.bits == 0) head.bits = 1;
  head.buckets = UINT64_C(1) << head.bits;
  head.each = pd_apart(head.buckets);
  PD_TRY_CLEANUP(
      PD_NEW(context, pd_mul_saturated((uint64_t)sorter.threads, head.each), &head.places));
  PD_TRY_CLEANUP(PD_NEW(context, head.buckets + 1, &head.begin));
  if (again) {
    *layout = room->kept;
    move_kept(&sorter, nnz, digit, room->spare, &head);
  } else {
    fill_buckets(source, &sorter, &head);
  }
  if (source->packed != NULL) PD_TRY_CLEANUP(source->packed(context, source->user));
  if (again || sort_bits <= head.bits)
    hand_on_by_all(&sorter, &(struct bucket){.here = room->records, .count = nnz});
  else
    status = sort_in_buckets(context, &sorter, nnz, &head, room);
cleanup:
  PD_FREE(context, head.begin, head.places);
  return status;
}
