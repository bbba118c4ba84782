#define _GNU_SOURCE /* strtod_l */
#include "io/number.h"
#include "io/number_shortest.h"
#include <assert.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Numbers have a point in every locale: the C library is asked in the "C" locale only. */
static locale_t c_locale;
static pthread_once_t locale_made = PTHREAD_ONCE_INIT;

static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t plain_locale(void) {
  pthread_once(&locale_made, make_locale);
  return c_locale;
}

/* What the grammar found. */
struct decimal {
  uint64_t mantissa; /* the first 19 significant digits */
  int dropped;       /* digits after them */
  int64_t exponent;  /* value = mantissa * 10^exponent, when nothing was dropped */
  bool negative, any_nonzero;
};

static bool number_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads digits into the mantissa; digits past the 19th significant one only move the exponent. */
static const char *number_take_digits(const char *p, const char *end, bool fraction,
                                      struct decimal *d) {
  for (; p < end && number_is_digit(*p); ++p) {
    if (d->mantissa < UINT64_C(1000000000000000000)) { /* at most 19 digits afterwards */
      d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
      d->exponent -= fraction;
    } else {
      d->dropped += 1;
      d->exponent += !fraction;
    }
    d->any_nonzero |= *p != '0';
  }
  return p;
}

static bool take_exponent(const char *p, const char *end, struct decimal *d) {
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (p == end) return false;
  int64_t exponent = 0;
  for (; p < end && number_is_digit(*p); ++p)
    if (exponent < 100000000) exponent = exponent * 10 + (*p - '0');
  d->exponent += negative ? -exponent : exponent;
  return p == end;
}

static bool parse_grammar(const char *text, const char *end, struct decimal *d) {
  *d = (struct decimal){0};
  const char *p = text;
  if (p < end && (*p == '-' || *p == '+')) d->negative = *p++ == '-';
  const char *whole = p;
  p = number_take_digits(p, end, false, d);
  bool digits = p > whole;
  if (p < end && *p == '.') {
    const char *fraction = ++p;
    p = number_take_digits(p, end, true, d);
    digits |= p > fraction;
  }
  if (!digits) return false;
  if (p < end && (*p == 'e' || *p == 'E')) return take_exponent(p + 1, end, d);
  return p == end;
}

/* Powers of ten that a double holds exactly. */
static const double exact_power[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

__extension__ typedef unsigned __int128 wide;

/* 5^0 to 5^27: all that 63 bits hold. */
static uint64_t power_of_five(int exponent) {
  uint64_t power = 1, square = 5;
  for (int k = exponent; k > 0; k >>= 1) {
    if (k & 1) power *= square;
    square *= square; /* wraps after the last use only */
  }
  return power;
}

static double power_of_two(int exponent) { return ldexp(1, exponent); }

double pd_decimal_value(uint64_t mantissa, int exponent) {
  assert(exponent >= -PD_DECIMAL_EXPONENTS && exponent <= PD_DECIMAL_EXPONENTS);
  if (mantissa == 0) return 0;
  /* 53 bits times or over an exact power of ten are rounded once: exact (W. D. Clinger, How to
   * read floating point numbers accurately, PLDI 1990). */
  if (mantissa <= UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22)
    return exponent < 0 ? (double)mantissa / exact_power[-exponent]
                        : (double)mantissa * exact_power[exponent];
  /* m 10^k = m 5^k 2^k: the product is exact in 128 bits, and rounded once. */
  if (exponent >= 0)
    return (double)((wide)mantissa * power_of_five(exponent)) * power_of_two(exponent);
  /* A quotient of at least 65 bits, its last bit set when there is a remainder, rounds to 53 bits
   * as the exact one does. */
  int shift = __builtin_clzll(mantissa);
  wide numerator = (wide)(mantissa << shift) << 64;
  uint64_t divisor = power_of_five(-exponent);
  wide quotient = numerator / divisor;
  quotient |= quotient * divisor != numerator;
  return (double)quotient * power_of_two(exponent - 64 - shift);
}

static enum pd_number_result parse_slowly(const char *text, size_t length, bool any_nonzero,
                                          double *value) {
  char copy[PD_NUMBER_LONGEST + 1];
  if (length > PD_NUMBER_LONGEST) return PD_NUMBER_TOO_LONG;
  memcpy(copy, text, length);
  copy[length] = '\0';
  *value = strtod_l(copy, NULL, plain_locale());
  if (isinf(*value)) return PD_NUMBER_TOO_LARGE;
  return *value == 0 && any_nonzero ? PD_NUMBER_UNDERFLOW : PD_NUMBER_OK;
}

enum pd_number_result pd_parse_double(const char *text, const char *end, double *value) {
  struct decimal d;
  if (!parse_grammar(text, end, &d)) return PD_NUMBER_MALFORMED;
  if (d.dropped == 0 && d.exponent >= -PD_DECIMAL_EXPONENTS && d.exponent <= PD_DECIMAL_EXPONENTS) {
    double magnitude = pd_decimal_value(d.mantissa, (int)d.exponent);
    *value = d.negative ? -magnitude : magnitude;
    return PD_NUMBER_OK;
  }
  return parse_slowly(text, (size_t)(end - text), d.any_nonzero, value);
}

enum pd_number_result pd_parse_index(const char *text, const char *end, uint64_t *value) {
  const char *p = text;
  if (p < end && *p == '+') ++p;
  const char *digits = p;
  uint64_t sum = 0;
  bool large = false;
  for (; p < end && number_is_digit(*p); ++p) {
    uint64_t digit = (uint64_t)(*p - '0');
    if (sum > ((uint64_t)INT64_MAX - digit) / 10) large = true;
    if (!large) sum = sum * 10 + digit;
  }
  if (p == end && p > digits) {
    *value = sum;
    return large ? PD_NUMBER_TOO_LARGE : PD_NUMBER_OK;
  }
  double number;
  enum pd_number_result result = pd_parse_double(text, end, &number);
  if (result != PD_NUMBER_OK) return result;
  if (number < 0 || number != floor(number)) return PD_NUMBER_MALFORMED;
  if (number >= 0x1p53) return PD_NUMBER_TOO_LARGE;
  *value = (uint64_t)number;
  return PD_NUMBER_OK;
}

static const char two_digits[201] = "00010203040506070809101112131415161718192021222324"
                                    "25262728293031323334353637383940414243444546474849"
                                    "50515253545556575859606162636465666768697071727374"
                                    "75767778798081828384858687888990919293949596979899";

/* Eight digits of a number below 10^8, in front of `end`: halves, then pairs, then digits are
 * divided side by side, by products with reciprocals that are exact for so small numbers. */
static char *put_eight(char *end, uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t high = value / 10000, fours = high | (value - high * 10000) << 32;
  uint64_t pairs = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
  pairs |= (fours - pairs * 100) << 16;
  uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000f000f000f000f);
  uint64_t digits = tens | (pairs - tens * 10) << 8 | UINT64_C(0x3030303030303030);
  return memcpy(end - 8, &digits, sizeof digits);
#else
  for (int k = 0; k < 4; ++k, value /= 100)
    memcpy(end -= 2, two_digits + value % 100 * 2, 2);
  return end;
#endif
}

/* Writes an integer in decimal so that it ends before `end`. Returns where it begins. */
static char *put_digits(char *end, uint64_t value) {
  for (; value >= 100000000; value /= 100000000)
    end = put_eight(end, value % 100000000);
  for (; value >= 100; value /= 100)
    memcpy(end -= 2, two_digits + value % 100 * 2, 2);
  if (value >= 10) return memcpy(end - 2, two_digits + value * 2, 2);
  *--end = (char)('0' + value);
  return end;
}

size_t pd_format_index(char text[PD_NUMBER_TEXT], uint64_t value) {
  char digits[PD_NUMBER_TEXT], *begin = put_digits(digits + sizeof digits, value);
  size_t length = (size_t)(digits + sizeof digits - begin);
  memcpy(text, begin, length);
  return length;
}

/* d.ddde-07 */
static size_t put_scientific(char *text, const char *digits, int count, int exponent) {
  char *at = text;
  *at++ = digits[0];
  if (count > 1) {
    *at++ = '.';
    memcpy(at, digits + 1, (size_t)count - 1);
    at += count - 1;
  }
  *at++ = 'e';
  *at++ = exponent < 0 ? '-' : '+';
  int magnitude = exponent < 0 ? -exponent : exponent;
  if (magnitude >= 100) *at++ = (char)('0' + magnitude / 100);
  memcpy(at, two_digits + magnitude % 100 * 2, 2);
  return (size_t)(at + 2 - text);
}

/* ddd, ddd000, dd.ddd or 0.00ddd; `exponent` is that of the first digit. */
static size_t put_fixed(char *text, const char *digits, int count, int exponent) {
  if (exponent < 0) {
    size_t zeros = (size_t)(-exponent - 1);
    memcpy(text, "0.", 2);
    memset(text + 2, '0', zeros);
    memcpy(text + 2 + zeros, digits, (size_t)count);
    return 2 + zeros + (size_t)count;
  }
  size_t whole = (size_t)exponent + 1, all = (size_t)count;
  if (all <= whole) {
    memcpy(text, digits, all);
    memset(text + all, '0', whole - all);
    return whole;
  }
  memcpy(text, digits, whole);
  text[whole] = '.';
  memcpy(text + whole + 1, digits + whole, all - whole);
  return all + 1;
}

size_t pd_format_number(char text[PD_NUMBER_TEXT], double value, bool single) {
  if (fabs(value) < 1e15 && value == floor(value) && !(value == 0 && signbit(value))) {
    size_t sign = value < 0;
    if (sign) text[0] = '-';
    return sign + pd_format_index(text + sign, (uint64_t)fabs(value));
  }
  size_t sign = signbit(value) != 0;
  if (sign) text[0] = '-';
  if (value == 0 || !isfinite(value)) {
    const char *word = value == 0 ? "0" : isnan(value) ? "nan" : "inf";
    size_t length = strlen(word);
    memcpy(text + sign, word, length);
    return sign + length;
  }
  /* Laid out as printf's %g does with as many digits, but at least those that any decimal keeps. */
  struct pd_decimal decimal = pd_shortest_decimal(value, single);
  char digits[PD_NUMBER_TEXT], *begin = put_digits(digits + sizeof digits, decimal.digits);
  int count = (int)(digits + sizeof digits - begin), least = single ? FLT_DIG : DBL_DIG;
  int exponent = decimal.exponent + count - 1, precision = count < least ? least : count;
  if (exponent < -4 || exponent >= precision)
    return sign + put_scientific(text + sign, begin, count, exponent);
  return sign + put_fixed(text + sign, begin, count, exponent);
}
