/* FROSTT text by AVX-512 with compressions and permutations of bytes (VBMI, VBMI2). */
#include "io/tns_vector_fields.h"

enum { GROUP_BYTES = 128 };
_Static_assert((int)PD_TNS_PADDING >= STEP + GROUP_BYTES, "what is read behind the text");

static inline __m512i ascending_bytes(void) {
  static const char places[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                  32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                  48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  return _mm512_loadu_si512(places);
}

/* Stores the places of the bits of `found`, plus `first`, as 16-bit numbers. */
static inline void store_places_avx512(uint64_t found, uint16_t first, uint16_t *to) {
  __m512i places = _mm512_maskz_compress_epi8(found, ascending_bytes());
  __m512i add = _mm512_set1_epi16((short)first);
  __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(places));
  _mm512_storeu_si512(to, _mm512_add_epi16(low, add));
  if (__builtin_popcountll(found) <= 32) return;
  __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(places, 1));
  _mm512_storeu_si512(to + 32, _mm512_add_epi16(high, add));
}

/* Lists the fields of [text, text + size), size at most WINDOW. */
static void find_fields_avx512(struct fields *fields, size_t size) {
  uint32_t count = 0;
  for (size_t at = 0; at < size; at += STEP) {
    __m512i text = _mm512_loadu_si512(fields->text + at);
    __m512i digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
    uint64_t ends = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
    if (size - at < STEP) ends &= ~UINT64_C(0) >> (STEP - (size - at));
    store_places_avx512(ends, (uint16_t)at, fields->end + count);
    _mm512_storeu_si512(fields->ending.byte + count, _mm512_maskz_compress_epi8(ends, text));
    count += (uint32_t)__builtin_popcountll(ends);
  }
  fields->count = count;
}

/* The flags of the 64 fields from `f` on. */
static inline struct flags field_flags_avx512(const struct fields *fields, uint32_t f) {
  const __m512i most = _mm512_set1_epi16(DIGITS_MOST - 1), two = _mm512_set1_epi16(2);
  struct flags flags = {0};
  for (uint32_t half = 0; half < 64; half += 32) {
    __m512i end = _mm512_loadu_si512(fields->end + f + half);
    __m512i before = _mm512_loadu_si512(&fields->before_first + f + half);
    __m512i spare = _mm512_sub_epi16(_mm512_sub_epi16(end, before), two);
    flags.size |= (uint64_t)_mm512_cmpgt_epu16_mask(spare, most) << half;
  }
  __m512i byte = _mm512_loadu_si512(fields->ending.byte + f);
  flags.blank = _mm512_cmpeq_epi8_mask(byte, _mm512_set1_epi8(' ')) |
                _mm512_cmpeq_epi8_mask(byte, _mm512_set1_epi8('\t'));
  flags.line = _mm512_cmpeq_epi8_mask(byte, _mm512_set1_epi8('\n'));
  return flags;
}

/* Bytes of vectors that are the same for every group. */
struct patterns {
  __m512i field;  /* byte k of lane l is 2 l: where the end of field l stands */
  __m512i offset; /* byte k of a lane is k - 8: how far its digit lies in front of the end */
  __m512i narrow; /* where the numbers lie that are made */
};

static struct patterns make_patterns(void) {
  char field[64], offset[64];
  for (int k = 0; k < 64; ++k) {
    field[k] = (char)(k / 8 * 2);
    offset[k] = (char)(k % 8 - 8);
  }
  return (struct patterns){_mm512_loadu_si512(field), _mm512_loadu_si512(offset),
                           _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 13, 12, 9, 8, 5, 4, 1, 0)};
}

/* The numbers of GROUP fields from `f` on, which together have less than GROUP_BYTES bytes. */
static inline void group_numbers(const struct patterns *patterns, struct fields *fields, uint32_t f,
                                 uint16_t first) {
  const char *text = fields->text + first;
  __m128i from_here = _mm_set1_epi16((short)first);
  __m128i ends = _mm_loadu_si128((const __m128i *)(const void *)(fields->end + f));
  __m128i starts = _mm_loadu_si128((const __m128i *)(const void *)(&fields->before_first + f));
  __m512i end = _mm512_permutexvar_epi8(patterns->field,
                                        _mm512_castsi128_si512(_mm_sub_epi16(ends, from_here)));
  __m512i start = _mm512_permutexvar_epi8(patterns->field,
                                          _mm512_castsi128_si512(_mm_sub_epi16(starts, from_here)));
  __m512i place = _mm512_add_epi8(end, patterns->offset);
  __mmask64 inside = _mm512_cmpgt_epi8_mask(place, start);
  __m512i bytes = _mm512_maskz_permutex2var_epi8(inside, _mm512_loadu_si512(text), place,
                                                 _mm512_loadu_si512(text + STEP));
  bytes = _mm512_and_si512(bytes, _mm512_set1_epi8(15)); /* a digit becomes its value */
  __m512i pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(1 << 8 | 10));
  __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 << 16 | 100));
  __m512i numbers =
      _mm512_madd_epi16(_mm512_packus_epi32(fours, fours), _mm512_set1_epi32(1 << 16 | 10000));
  numbers = _mm512_permutexvar_epi32(patterns->narrow, numbers);
  _mm256_storeu_si256((__m256i *)(void *)(fields->number + f), _mm512_castsi512_si256(numbers));
}

/* One field: the longer ones are not asked for. */
static void single_number(struct fields *fields, uint32_t f) {
  uint16_t first = (uint16_t)((&fields->before_first)[f] + 1);
  uint64_t number = 0;
  (void)pd_fast_digits(fields->text + first, &number);
  fields->number[f] = (uint32_t)number;
}

static void find_numbers_avx512(struct fields *fields) {
  const struct patterns patterns = make_patterns();
  for (uint32_t f = 0; f < fields->count; f += GROUP) {
    uint16_t first = (uint16_t)((&fields->before_first)[f] + 1);
    uint32_t last = f + GROUP <= fields->count ? f + GROUP : fields->count;
    if (fields->end[last - 1] - first < GROUP_BYTES)
      group_numbers(&patterns, fields, f, first);
    else
      for (uint32_t k = f; k < last; ++k)
        single_number(fields, k);
  }
}

#define PD_TNS_VECTOR(name) name##_avx512
#include "io/tns_vector_body.h"
