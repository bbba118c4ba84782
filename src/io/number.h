/* Exact, locale-independent parsing and formatting of numbers. */
#ifndef PD_NUMBER_H
#define PD_NUMBER_H

#include "core/core.h"

enum pd_number_result {
  PD_NUMBER_OK,
  PD_NUMBER_MALFORMED, /* not a decimal number */
  PD_NUMBER_TOO_LARGE, /* overflows to infinity, or an index past the limit */
  PD_NUMBER_UNDERFLOW, /* a value that rounds to zero though its digits do not say zero */
  PD_NUMBER_TOO_LONG,  /* more than PD_NUMBER_LONGEST bytes */
};

/** Longest number that is read; the longest that a double needs has about 1080 bytes. */
enum { PD_NUMBER_LONGEST = 2048 };

/** Parses all of [text, end) as a decimal number: [+-]digits[.digits][e[+-]digits]. The result is
 *  the double nearest to it. Hexadecimal numbers, "nan" and "inf" are malformed. */
enum pd_number_result pd_parse_double(const char *text, const char *end, double *value);

/** Parses all of [text, end) as an index of at most 2^63 - 1: digits, a plus sign in front, or a
 *  decimal number that is an integer below 2^53 ("1.0e+00", as numpy.savetxt writes). A minus
 *  sign is malformed. */
enum pd_number_result pd_parse_index(const char *text, const char *end, uint64_t *value);

/** The double nearest to mantissa * 10^exponent; `exponent` from -27 to 27. */
double pd_decimal_value(uint64_t mantissa, int exponent);
enum { PD_DECIMAL_EXPONENTS = 27 };

#define PD_NUMBER_TEXT 32
/** Writes the shortest decimal that reads back as the same double, or as the same float when
 *  `single`, in every locale; integers without a point. Returns the length. */
size_t pd_format_number(char text[PD_NUMBER_TEXT], double value, bool single);
/** Writes an integer in decimal. Returns the length. */
size_t pd_format_index(char text[PD_NUMBER_TEXT], uint64_t value);

#endif
