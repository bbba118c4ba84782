/* The parser and the printer of numbers against the C library: all of the input is a number as
 * text, and its first eight bytes are a double. */
#include "fuzz_input.h"

#include "io/number.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t digits_of(const char *text) { return strspn(text, "0123456789"); }

/* [+-]digits[.digits][e[+-]digits], written down once more. */
static int is_decimal(const char *text) {
  text += *text == '+' || *text == '-';
  size_t digits = digits_of(text);
  text += digits;
  if (*text == '.') {
    size_t fraction = digits_of(++text);
    digits += fraction;
    text += fraction;
  }
  if (digits == 0) return 0;
  if (*text == '\0') return 1;
  if (*text != 'e' && *text != 'E') return 0;
  ++text;
  text += *text == '+' || *text == '-';
  return digits_of(text) > 0 && text[digits_of(text)] == '\0';
}

/* Whether a digit other than 0 stands before the exponent. */
static int has_value(const char *text) {
  size_t length = strcspn(text, "eE");
  for (size_t k = 0; k < length; ++k)
    if (text[k] >= '1' && text[k] <= '9') return 1;
  return 0;
}

static void try_double(const char *text, size_t length) {
  double value = 0, expected = strtod(text, NULL);
  switch (pd_parse_double(text, text + length, &value)) {
  case PD_NUMBER_OK:
    fuzz_require(is_decimal(text), "a decimal number was read");
    fuzz_require(memcmp(&value, &expected, sizeof value) == 0, "the nearest double");
    fuzz_require(isfinite(value) && (value != 0 || !has_value(text)), "its size was seen");
    break;
  case PD_NUMBER_MALFORMED:
    fuzz_require(!is_decimal(text), "decimal numbers are read");
    break;
  case PD_NUMBER_TOO_LARGE:
    fuzz_require(is_decimal(text) && isinf(expected), "it is too large");
    break;
  case PD_NUMBER_UNDERFLOW:
    fuzz_require(is_decimal(text) && expected == 0 && has_value(text), "it is too small");
    break;
  case PD_NUMBER_TOO_LONG:
    fuzz_require(is_decimal(text) && length > PD_NUMBER_LONGEST, "it is too long");
    break;
  }
}

static int is_index(const char *text) {
  text += *text == '+';
  return digits_of(text) > 0 && text[digits_of(text)] == '\0';
}

static void try_index(const char *text, size_t length) {
  uint64_t value = 0;
  double number;
  errno = 0;
  unsigned long long expected = strtoull(text, NULL, 10);
  int large = errno == ERANGE || expected > INT64_MAX;
  enum pd_number_result result = pd_parse_index(text, text + length, &value);
  if (is_index(text)) {
    fuzz_require(result == (large ? PD_NUMBER_TOO_LARGE : PD_NUMBER_OK), "the limit of an index");
    fuzz_require(large || value == expected, "the index");
  } else if (result == PD_NUMBER_OK) { /* such as 1.0e+00 */
    fuzz_require(pd_parse_double(text, text + length, &number) == PD_NUMBER_OK, "a number");
    fuzz_require(number >= 0 && number < 0x1p53 && (double)value == number, "a whole number");
  }
}

static void try_format(double value) {
  char text[PD_NUMBER_TEXT], plain[PD_NUMBER_TEXT + 1];
  if (!isfinite(value)) return;
  for (int single = 0; single < 2; ++single) {
    double kept = single ? (double)(float)value : value, back = 1;
    if (!isfinite(kept)) continue;
    size_t length = pd_format_number(text, kept, single);
    fuzz_require(length > 0 && length <= PD_NUMBER_TEXT, "a text that fits");
    memcpy(plain, text, length);
    plain[length] = '\0';
    fuzz_require(pd_parse_double(text, text + length, &back) == PD_NUMBER_OK, "it is read again");
    if (single) back = (double)(float)back;
    fuzz_require(memcmp(&back, &kept, sizeof kept) == 0, "the same number");
    back = strtod(plain, NULL);
    if (single) back = (double)(float)back;
    fuzz_require(memcmp(&back, &kept, sizeof kept) == 0, "the same number elsewhere");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  double value;
  char *text = malloc(size + 1);
  fuzz_require(text != NULL, "memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  if (strlen(text) == size) { /* what the C library can read */
    try_double(text, size);
    try_index(text, size);
  }
  fuzz_take(&data, &size, &value, sizeof value);
  try_format(value);
  free(text);
  return 0;
}
