#define _GNU_SOURCE /* strtod_l */
#include "io/number.h"
#include <assert.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
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

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads digits into the mantissa; digits past the 19th significant one only move the exponent. */
static const char *take_digits(const char *p, const char *end, bool fraction, struct decimal *d) {
  for (; p < end && is_digit(*p); ++p) {
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
  for (; p < end && is_digit(*p); ++p)
    if (exponent < 100000000) exponent = exponent * 10 + (*p - '0');
  d->exponent += negative ? -exponent : exponent;
  return p == end;
}

static bool parse_grammar(const char *text, const char *end, struct decimal *d) {
  *d = (struct decimal){0};
  const char *p = text;
  if (p < end && (*p == '-' || *p == '+')) d->negative = *p++ == '-';
  const char *whole = p;
  p = take_digits(p, end, false, d);
  bool digits = p > whole;
  if (p < end && *p == '.') {
    const char *fraction = ++p;
    p = take_digits(p, end, true, d);
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
  for (; p < end && is_digit(*p); ++p) {
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

size_t pd_format_index(char text[PD_NUMBER_TEXT], uint64_t value) {
  char reversed[PD_NUMBER_TEXT];
  size_t length = 0;
  do {
    reversed[length++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  for (size_t k = 0; k < length; ++k)
    text[k] = reversed[length - 1 - k];
  return length;
}

/* printf in the "C" locale, whatever the program has chosen. */
static int print(char text[PD_NUMBER_TEXT], int digits, double value) {
  locale_t before = uselocale(plain_locale());
  int length = snprintf(text, PD_NUMBER_TEXT, "%.*g", digits, value);
  (void)uselocale(before);
  return length;
}

size_t pd_format_number(char text[PD_NUMBER_TEXT], double value, bool single) {
  if (fabs(value) < 1e15 && value == floor(value) && !(value == 0 && signbit(value))) {
    size_t sign = value < 0;
    if (sign) text[0] = '-';
    return sign + pd_format_index(text + sign, (uint64_t)fabs(value));
  }
  int least = single ? FLT_DIG : DBL_DIG, most = single ? 9 : 17;
  for (int digits = least; digits < most; ++digits) {
    int length = print(text, digits, value);
    double back;
    if (pd_parse_double(text, text + length, &back) != PD_NUMBER_MALFORMED &&
        (single ? (float)back == (float)value : back == value))
      return (size_t)length;
  }
  return (size_t)print(text, most, value);
}
