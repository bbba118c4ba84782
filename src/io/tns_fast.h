/* The common form of a line of FROSTT text, parsed fast: plain integers, then a value of at most
 * 19 digits without an exponent. Every other form, and every error, is left to
 * pd_tns_parse_line(); what is taken here must be what that would take. */
#ifndef PD_TNS_FAST_H
#define PD_TNS_FAST_H

#include "io/number.h"
#include "io/tns_line.h"
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/** The number that the first `count` bytes, 1 to 8 digits' values, stand for. */
static inline uint64_t pd_fast_join(uint64_t bytes, int count) {
  bytes <<= 64 - 8 * count;            /* zeros in front */
  bytes = (bytes * 10) + (bytes >> 8); /* pairs */
  bytes = ((bytes & UINT64_C(0x000000ff000000ff)) * (100 + (UINT64_C(1000000) << 32)) +
           ((bytes >> 16) & UINT64_C(0x000000ff000000ff)) * (1 + (UINT64_C(10000) << 32))) >>
          32;
  return bytes & UINT32_MAX;
}

/** Up to 8 digits at `p` as a number; returns how many there are. Eight bytes are read. */
static inline int pd_fast_digits(const char *p, uint64_t *value) {
  uint64_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  bytes ^= UINT64_C(0x3030303030303030); /* a digit becomes its value */
  uint64_t others = ((bytes + UINT64_C(0x7676767676767676)) | bytes) & UINT64_C(0x8080808080808080);
  int count = others == 0 ? 8 : __builtin_ctzll(others) >> 3;
  if (count == 0) return 0;
  *value = pd_fast_join(bytes, count);
  return count;
}
#else
static inline int pd_fast_digits(const char *p, uint64_t *value) {
  int count = 0;
  *value = 0;
  while (count < 8 && p[count] >= '0' && p[count] <= '9')
    *value = *value * 10 + (uint64_t)(p[count++] - '0');
  return count;
}
#endif

/** Digits at `p` appended to `*value`, which has `*count` digits so far: at most 19 in all. Returns
 *  the first byte that is none, or NULL when there are more. */
static inline const char *pd_fast_append(const char *p, uint64_t *value, int *count) {
  static const uint32_t scale[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  uint64_t part = 0;
  for (int digits = 8; digits == 8; p += digits, *count += digits) {
    digits = pd_fast_digits(p, &part);
    if (digits == 0) break;
    if (*count + digits > 19) return NULL;
    *value = *value * scale[digits] + part;
  }
  return p;
}

static inline bool pd_fast_blank(char c) { return c == ' ' || c == '\t'; }

/** An index and the blanks behind it; NULL when it is not of the common form. */
static inline const char *pd_fast_index(const char *p, uint64_t *value) {
  int digits = 0;
  *value = 0;
  p = pd_fast_append(p, value, &digits);
  return p == NULL || digits < 1 || digits > 18 ? NULL : p;
}

/** A value; NULL when it is not of the common form. */
static inline const char *pd_fast_value(const char *p, double *value) {
  bool negative = *p == '-';
  uint64_t mantissa = 0;
  int digits = 0, fraction = 0;
  p = pd_fast_append(p + negative, &mantissa, &digits);
  if (p == NULL) return NULL;
  if (*p == '.') {
    int whole = digits;
    p = pd_fast_append(p + 1, &mantissa, &digits);
    if (p == NULL) return NULL;
    fraction = digits - whole;
  }
  if (digits == 0) return NULL;
  double magnitude = fraction == 0 ? (double)mantissa : pd_decimal_value(mantissa, -fraction);
  *value = negative ? -magnitude : magnitude;
  return p;
}

#if defined(__SSE2__)
#define PD_FAST_WINDOW 64 /* bytes that are looked at together: most lines are shorter */

/** Bit k is set when byte k of the 64 at `p` is no digit. */
static inline uint64_t pd_fast_others(const char *p) {
  const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
  uint64_t digits = 0;
  for (int k = 0; k < PD_FAST_WINDOW / 16; ++k) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * k));
    bytes = _mm_sub_epi8(bytes, zero);
    unsigned part = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, nine), bytes));
    digits |= (uint64_t)part << 16 * k;
  }
  return ~digits;
}

/** The digits from byte `start` up to the first byte that is set in `others`, as a number: 1 to 8
 *  of them, or false. `stop` becomes that byte's place. */
static inline bool pd_fast_field(const char *p, unsigned start, uint64_t others, unsigned *stop,
                                 uint64_t *value) {
  if (others == 0) return false;
  *stop = (unsigned)__builtin_ctzll(others);
  unsigned count = *stop - start;
  if (count - 1 > 7) return false;
  uint64_t bytes;
  memcpy(&bytes, p + start, sizeof bytes);
  *value = pd_fast_join(bytes ^ UINT64_C(0x3030303030303030), (int)count);
  return true;
}
#endif

#endif
