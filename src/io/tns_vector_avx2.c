/* FROSTT text by AVX2, with BMI's counts and gathering of bits. */
#include "io/tns_vector_fields.h"

_Static_assert((int)PD_TNS_PADDING >= 2 * STEP + DIGITS_MOST, "what is read behind the text");

/* The places of the bits of a byte, a byte each: bit i lies behind as many as are set below it. */
#define PLACE(b, i)                                                                                \
  ((b) >> (i)&1 ? (uint64_t)(i) << 8 * __builtin_popcount((b) & ((1 << (i)) - 1)) : 0)
#define PLACES(b)                                                                                  \
  (PLACE(b, 1) | PLACE(b, 2) | PLACE(b, 3) | PLACE(b, 4) | PLACE(b, 5) | PLACE(b, 6) | PLACE(b, 7))
#define PLACES_4(b) PLACES(b), PLACES((b) + 1), PLACES((b) + 2), PLACES((b) + 3)
#define PLACES_16(b) PLACES_4(b), PLACES_4((b) + 4), PLACES_4((b) + 8), PLACES_4((b) + 12)
#define PLACES_64(b) PLACES_16(b), PLACES_16((b) + 16), PLACES_16((b) + 32), PLACES_16((b) + 48)

static const uint64_t places_of[256] = {PLACES_64(0), PLACES_64(64), PLACES_64(128),
                                        PLACES_64(192)};

/* Stores the places of the bits of `found`, plus `first`, as 16-bit numbers. Eight are stored at a
 * time: what follows those of a byte's bits is overwritten, or means nothing. */
static inline void store_places_avx2(uint64_t found, uint16_t first, uint16_t *to) {
  __m128i byte = _mm_set1_epi16((short)first);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k, found >>= 8) {
    __m128i places = _mm_loadl_epi64((const __m128i *)(const void *)&places_of[found & 255]);
    places = _mm_add_epi16(_mm_cvtepu8_epi16(places), byte);
    _mm_storeu_si128((__m128i *)(void *)to, places);
    byte = _mm_add_epi16(byte, _mm_set1_epi16(8));
    to += __builtin_popcount((unsigned)(found & 255));
  }
}

/* A bit for the sign of each byte. */
static inline uint64_t sign_bits(__m256i bytes) { return (uint32_t)_mm256_movemask_epi8(bytes); }

/* The bytes of half a step: a bit for each that is no digit, a blank, a line's end. */
struct bytes {
  uint64_t end, blank, line;
};

static inline struct bytes look_at(const char *text) {
  const __m256i zero = _mm256_set1_epi8('0'), nine = _mm256_set1_epi8(9);
  __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)text);
  __m256i digits = _mm256_sub_epi8(bytes, zero);
  __m256i blanks = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' ')),
                                   _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t')));
  return (struct bytes){
      sign_bits(_mm256_cmpeq_epi8(_mm256_min_epu8(digits, nine), digits)) ^ UINT32_MAX,
      sign_bits(blanks), sign_bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n')))};
}

/* Writes bits behind the first `count` of a row. */
static inline void append_bits(uint64_t *row, uint32_t count, uint64_t bits) {
  uint32_t shift = count % 64;
  row += count / 64;
  row[0] = (shift == 0 ? 0 : row[0]) | bits << shift;
  row[1] = bits >> 1 >> (63 - shift);
}

/* Lists the fields of [text, text + size), size at most WINDOW. */
static void find_fields_avx2(struct fields *fields, size_t size) {
  uint32_t count = 0;
  for (size_t at = 0; at < size; at += STEP) {
    struct bytes low = look_at(fields->text + at), high = look_at(fields->text + at + STEP / 2);
    uint64_t ends = low.end | high.end << 32;
    if (size - at < STEP) ends &= ~UINT64_C(0) >> (STEP - (size - at));
    store_places_avx2(ends, (uint16_t)at, fields->end + count);
    append_bits(fields->ending.bits.blank, count, _pext_u64(low.blank | high.blank << 32, ends));
    append_bits(fields->ending.bits.line, count, _pext_u64(low.line | high.line << 32, ends));
    count += (uint32_t)__builtin_popcountll(ends);
  }
  fields->count = count;
  memset(fields->end + count, 0, GROUP * sizeof *fields->end); /* places that may be read */
}

/* Which of the 16 fields from `end` on, the first being behind `before`, have no digit or too many,
 * as words that are not zero. */
static inline __m256i odd_sizes(const uint16_t *end, const uint16_t *before) {
  __m256i ends = _mm256_loadu_si256((const __m256i *)(const void *)end);
  __m256i starts = _mm256_loadu_si256((const __m256i *)(const void *)before);
  __m256i spare = _mm256_sub_epi16(_mm256_sub_epi16(ends, starts), _mm256_set1_epi16(2));
  __m256i fine = _mm256_cmpeq_epi16(_mm256_subs_epu16(spare, _mm256_set1_epi16(DIGITS_MOST - 1)),
                                    _mm256_setzero_si256());
  return _mm256_xor_si256(fine, _mm256_set1_epi16(-1));
}

/* The flags of the 64 fields from `f` on. */
static inline struct flags field_flags_avx2(const struct fields *fields, uint32_t f) {
  struct flags flags = {.blank = fields->ending.bits.blank[f / 64],
                        .line = fields->ending.bits.line[f / 64]};
  for (uint32_t half = 0; half < 64; half += 32) {
    const uint16_t *end = fields->end + f + half, *before = &fields->before_first + f + half;
    __m256i sizes = _mm256_packs_epi16(odd_sizes(end, before), odd_sizes(end + 16, before + 16));
    sizes = _mm256_permute4x64_epi64(sizes, 0xd8); /* packing goes by halves of vectors */
    flags.size |= sign_bits(sizes) << half;
  }
  return flags;
}

/* Eight bytes at a field's first digit, which is behind `before`. */
static inline long long first_bytes(const char *text, uint16_t before) {
  long long bytes;
  memcpy(&bytes, text + (int16_t)before + 1, sizeof bytes);
  return bytes;
}

/* The numbers of 4 digits that four fields consist of, two for each. */
static inline __m256i fours_of(const char *text, const uint16_t *before, __m128i shifts) {
  __m256i bytes = _mm256_set_epi64x(first_bytes(text, before[3]), first_bytes(text, before[2]),
                                    first_bytes(text, before[1]), first_bytes(text, before[0]));
  /* Zeros move in front of the digits, and what is behind them moves out. */
  bytes = _mm256_sllv_epi64(bytes, _mm256_cvtepu16_epi64(shifts));
  bytes = _mm256_and_si256(bytes, _mm256_set1_epi8(15)); /* a digit becomes its value */
  __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(1 << 8 | 10));
  return _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 100));
}

/* GROUP fields at a time. Those with more digits than 8 become zero: nobody asks for them. */
static void find_numbers_avx2(struct fields *fields) {
  for (uint32_t f = 0; f < fields->count; f += GROUP) {
    const uint16_t *before = &fields->before_first + f;
    __m128i ends = _mm_loadu_si128((const __m128i *)(const void *)(fields->end + f));
    __m128i starts = _mm_loadu_si128((const __m128i *)(const void *)before);
    __m128i spare = _mm_sub_epi16(_mm_set1_epi16(DIGITS_MOST + 1), _mm_sub_epi16(ends, starts));
    __m128i shifts = _mm_slli_epi16(spare, 3);
    __m256i fours =
        _mm256_packus_epi32(fours_of(fields->text, before, shifts),
                            fours_of(fields->text, before + 4, _mm_srli_si128(shifts, 8)));
    __m256i numbers = _mm256_madd_epi16(fours, _mm256_set1_epi32(1 << 16 | 10000));
    numbers = _mm256_permute4x64_epi64(numbers, 0xd8); /* packing goes by halves of vectors */
    _mm256_storeu_si256((__m256i *)(void *)(fields->number + f), numbers);
  }
}

#define PD_TNS_VECTOR(name) name##_avx2
#include "io/tns_vector_body.h"
