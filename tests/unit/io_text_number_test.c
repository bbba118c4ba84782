/* Numbers are read to the nearest double, bit for bit what strtod gives in the "C" locale, in any
 * locale; what is written reads back as the same number. */
#include "harness.h"

#include "core/random.h"
#include "io/number.h"
#include "io/tns_fast.h"
#include <float.h>
#include <locale.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STRINGS = 1000000, LONGEST = 128 };

static uint64_t draw(uint64_t *counter, uint64_t below) {
  return pd_random_u64(11, 0, (*counter)++) % below;
}

static size_t digits(char *text, uint64_t *counter, uint64_t most) {
  size_t count = (size_t)draw(counter, most + 1);
  for (size_t k = 0; k < count; ++k)
    text[k] = (char)('0' + draw(counter, 10));
  return count;
}

/* Any decimal number: sign, digits, point, digits, exponent. */
static void any_decimal(char *text, uint64_t *counter) {
  char *p = text;
  if (draw(counter, 4) == 0) *p++ = "+-"[draw(counter, 2)];
  size_t whole = digits(p, counter, 22);
  p += whole;
  if (draw(counter, 4) > 0) {
    *p++ = '.';
    p += digits(p, counter, 22);
  }
  if (whole == 0) *p++ = '7'; /* at least one digit: "7", ".7", "-.1237" */
  if (draw(counter, 3) == 0)
    p += snprintf(p, 8, "%c%d", "eE"[draw(counter, 2)], (int)draw(counter, 660) - 340);
  *p = '\0';
}

static double any_double(uint64_t *counter) {
  for (;;) {
    uint64_t bits = pd_random_u64(12, 0, (*counter)++);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value)) return value;
  }
}

/* As programs print doubles. */
static void printed_double(char *text, uint64_t *counter) {
  double value = any_double(counter);
  if (draw(counter, 2) == 0) value = ldexp(1 + fmod(fabs(value), 1), (int)draw(counter, 40) - 20);
  static const char *const forms[] = {"%.17g", "%.15g", "%.18e", "%.6f", "%g"};
  const char *form = forms[draw(counter, 5)];
  if (strcmp(form, "%.6f") == 0) value = fmod(value, 1e9);
  snprintf(text, LONGEST, form, value);
}

/* Halfway between two doubles, and a little more or less: digits decide the last bit. */
static void halfway(char *text, uint64_t *counter) {
  uint64_t mantissa = (UINT64_C(1) << 53) + draw(counter, UINT64_C(1) << 53);
  int shift = (int)draw(counter, 10);
  uint64_t middle = (2 * mantissa + 1) << shift;
  int off = (int)draw(counter, 3) - 1;
  int points = (int)draw(counter, 3);
  snprintf(text, LONGEST, "%llu%s", (unsigned long long)(middle + (uint64_t)off),
           points == 0   ? ""
           : points == 1 ? ".000000000000001"
                         : "e-11");
}

static void assert_exact(const char *text) {
  size_t length = strlen(text);
  char line[LONGEST + 16];
  double value = NAN, fast = NAN, expected = strtod(text, NULL);
  enum pd_number_result result = pd_parse_double(text, text + length, &value);
  if (isinf(expected)) {
    assert_int_equal(result, PD_NUMBER_TOO_LARGE);
    return;
  }
  assert_true(result == PD_NUMBER_OK || result == PD_NUMBER_UNDERFLOW);
  snprintf(line, sizeof line, "%s\n        ", text);
  const char *end = pd_fast_value(line, &fast);
  if (memcmp(&value, &expected, sizeof value) != 0 ||
      (end != NULL && *end == '\n' && memcmp(&fast, &expected, sizeof fast) != 0)) {
    print_error("'%s': read %a, fast %a, expected %a\n", text, value, fast, expected);
    fail();
  }
}

static void a_million_strings_are_read_exactly(void **state) {
  (void)state;
  uint64_t counter = 0;
  char text[LONGEST];
  for (int k = 0; k < STRINGS; ++k) {
    if (k % 3 == 0)
      any_decimal(text, &counter);
    else if (k % 3 == 1)
      printed_double(text, &counter);
    else
      halfway(text, &counter);
    assert_exact(text);
  }
}

static void scaled_integers_are_exact(void **state) {
  (void)state;
  char text[LONGEST];
  for (int exponent = -PD_DECIMAL_EXPONENTS; exponent <= PD_DECIMAL_EXPONENTS; ++exponent)
    for (uint64_t k = 0; k < 2000; ++k) {
      uint64_t mantissa = pd_random_u64(13, (uint64_t)(exponent + 100), k) >> (k % 64);
      snprintf(text, sizeof text, "%llue%d", (unsigned long long)mantissa, exponent);
      double value = pd_decimal_value(mantissa, exponent), expected = strtod(text, NULL);
      assert_memory_equal(&value, &expected, sizeof value);
    }
}

static void every_count_of_digits_is_taken(void **state) {
  (void)state;
  uint64_t expected = 0;
  char line[40] = "";
  for (int k = 1; k <= 18; ++k) {
    uint64_t value, ignored;
    line[k - 1] = (char)('0' + k % 10);
    expected = expected * 10 + (uint64_t)(k % 10);
    memcpy(line + k, " 9      9", 10);
    const char *end = pd_fast_index(line, &value);
    assert_ptr_equal(end, line + k);
    assert_true(value == expected);
    line[k] = '/'; /* the bytes beside the digits */
    assert_ptr_equal(pd_fast_index(line, &ignored), line + k);
    line[k] = ':';
    assert_ptr_equal(pd_fast_index(line, &ignored), line + k);
    line[k] = (char)0xb1;
    assert_ptr_equal(pd_fast_index(line, &ignored), line + k);
  }
}

static void malformed_numbers_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"",     ".",   "-",   "+",     "e5",  "1e",  "1e+",
                                    "1..2", "--1", "0x1", "1e5.5", "inf", "nan", "1 ",
                                    " 1",   "1,5", "1f",  "+-1",   "1e-", ".e1", "1_0"};
  double value;
  uint64_t index;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    assert_int_equal(pd_parse_double(bad[k], bad[k] + strlen(bad[k]), &value), PD_NUMBER_MALFORMED);
    assert_int_equal(pd_parse_index(bad[k], bad[k] + strlen(bad[k]), &index), PD_NUMBER_MALFORMED);
  }
  char many[PD_NUMBER_LONGEST + 8];
  memset(many, '1', sizeof many);
  assert_int_equal(pd_parse_double(many, many + sizeof many, &value), PD_NUMBER_TOO_LONG);
  assert_int_equal(pd_parse_double(many, many + PD_NUMBER_LONGEST, &value), PD_NUMBER_TOO_LARGE);
}

static void written_numbers_read_back(void **state) {
  (void)state;
  uint64_t counter = 0;
  for (int k = 0; k < STRINGS / 4; ++k) {
    double value = any_double(&counter), back;
    if (k % 4 == 1) value = (double)(int64_t)(value * 1e-290);
    if (k % 4 == 2) value = (double)draw(&counter, 1000000) / 1000;
    if (k % 4 == 3) value = ldexp((double)draw(&counter, UINT64_C(1) << 53), -60);
    char text[PD_NUMBER_TEXT];
    size_t length = pd_format_number(text, value, false);
    assert_true(length < PD_NUMBER_TEXT);
    assert_true(pd_parse_double(text, text + length, &back) != PD_NUMBER_MALFORMED);
    assert_memory_equal(&back, &value, sizeof value);
    float single = (float)value;
    if (!isfinite(single)) continue;
    length = pd_format_number(text, (double)single, true);
    assert_true(length <= 16);
    assert_true(pd_parse_double(text, text + length, &back) != PD_NUMBER_MALFORMED);
    assert_true((float)back == single);
  }
}

static void written_numbers_are_short(void **state) {
  (void)state;
  static const struct {
    double value;
    bool single;
    const char *text;
  } cases[] = {{0, false, "0"},
               {1, false, "1"},
               {-12, false, "-12"},
               {0.1, false, "0.1"},
               {1.0 / 3, false, "0.3333333333333333"},
               {-0.0, false, "-0"},
               {1e15, false, "1e+15"},
               {0.1f, true, "0.1"},
               {16777216, true, "16777216"},
               {999999999999999, false, "999999999999999"},
               {5e-324, false, "5e-324"},
               {DBL_MAX, false, "1.7976931348623157e+308"},
               {DBL_MIN, false, "2.2250738585072014e-308"},
               {-0x1p-149, true, "-1e-45"},
               {FLT_MAX, true, "3.4028235e+38"},
               {1e-5, false, "1e-05"},
               {1e-4, false, "0.0001"},
               {1234567.5f, true, "1234567.5"},
               {0x1.fffffffffffffp+51, false, "4503599627370495.5"},
               {9007199254740992, false, "9007199254740992"},
               {1e23, false, "1e+23"},
               {9.5367431640625e-7, false, "9.5367431640625e-07"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char text[PD_NUMBER_TEXT];
    size_t length = pd_format_number(text, cases[k].value, cases[k].single);
    text[length] = '\0';
    assert_string_equal(text, cases[k].text);
  }
  char text[PD_NUMBER_TEXT];
  assert_int_equal(pd_format_index(text, UINT64_MAX), 20);
  assert_memory_equal(text, "18446744073709551615", 20);
}

/* The shortest of printf's texts that read back; where v is no power of two it is the shortest of
 * all, since the nearest decimal of so many digits is the first to read back. */
static int shortest_by_printf(char text[PD_NUMBER_TEXT], double value, bool single) {
  for (int digits = 1;; ++digits) {
    int length = snprintf(text, PD_NUMBER_TEXT, "%.*e", digits - 1, value);
    if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) return length;
  }
}

/* Significant digits of a text. */
static int count_digits(const char *text, size_t length) {
  int digits = 0, zeros = 0;
  for (size_t k = 0; k < length && text[k] != 'e'; ++k) {
    if (text[k] < '0' || text[k] > '9' || (text[k] == '0' && digits == 0)) continue;
    zeros = text[k] == '0' ? zeros + 1 : 0;
    ++digits;
  }
  return digits - zeros;
}

static void assert_shortest(double value, bool single) {
  if (fabs(value) < 1e15 && value == floor(value)) return; /* all digits of integers are written */
  char text[PD_NUMBER_TEXT + 1], expected[PD_NUMBER_TEXT];
  size_t length = pd_format_number(text, value, single);
  text[length] = '\0';
  int most = shortest_by_printf(expected, value, single);
  bool reads_back = single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
  int digits = count_digits(text, length), allowed = count_digits(expected, (size_t)most);
  int ignored;
  bool power_of_two = fabs(frexp(value, &ignored)) == 0.5;
  bool same = single ? strtof(expected, NULL) == strtof(text, NULL) : true;
  /* Of as many digits the nearest: as exact decimals the two texts are the same number. */
  if (!power_of_two && digits == allowed) {
    long double ours = strtold(text, NULL), theirs = strtold(expected, NULL);
    same = same && ours == theirs;
  }
  if (!reads_back || digits > allowed || (digits < allowed && !power_of_two) || !same) {
    print_error("%a%s: found %s; expected %s\n", value, single ? " (float)" : "", text, expected);
    fail();
  }
}

static void written_numbers_are_the_shortest(void **state) {
  (void)state;
  uint64_t counter = 0;
  for (int exponent = -1074; exponent <= 1023; ++exponent)
    for (int step = -1; step <= 1; ++step) { /* powers of two and their neighbours */
      double value = ldexp(1, exponent);
      if (step != 0) value = nextafter(value, step < 0 ? 0 : INFINITY);
      if (value != 0) assert_shortest(value, false);
      float single = exponent >= -149 && exponent <= 127 ? ldexpf(1, exponent) : 0;
      if (step != 0) single = nextafterf(single, step < 0 ? 0 : INFINITY);
      if (single != 0) assert_shortest((double)single, true);
    }
  for (int k = 0; k < STRINGS / 8; ++k) {
    double value = any_double(&counter);
    assert_shortest(value, false);
    if (fabs(value) < 3e38 && (float)value != 0) assert_shortest((double)(float)value, true);
    float single = ldexpf((float)draw(&counter, 1 << 24) + 1, (int)(draw(&counter, 250)) - 149);
    if (isfinite(single)) assert_shortest((double)single, true);
  }
}

/* A locale with a decimal comma: an installed one, or one made for this test. */
static const char *comma_locale(char folder[64]) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
    if (setlocale(LC_ALL, names[k]) != NULL) return names[k];
  char command[256];
  strcpy(folder, "/tmp/polyad-locale-XXXXXX");
  if (mkdtemp(folder) == NULL) return NULL;
  snprintf(command, sizeof command,
           "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>/dev/null", folder);
  if (system(command) != 0) return NULL;
  setenv("LOCPATH", folder, 1);
  return setlocale(LC_ALL, "de_DE.UTF-8");
}

/* A program that has chosen a locale with a decimal comma reads and writes points. */
static void a_decimal_comma_changes_nothing(void **state) {
  (void)state;
  char folder[64] = "", command[128];
  const char *found = comma_locale(folder);
  if (folder[0] != '\0') { /* loaded by now */
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
  }
  if (found == NULL || strcmp(localeconv()->decimal_point, ",") != 0) {
    print_message("no locale with a decimal comma is installed: skipped\n");
    skip();
  }
  static const char *const texts[] = {"1.5", "2.25e-3", "0.1234567890123456789012", "1e-310"};
  static const double values[] = {1.5, 2.25e-3, 0.1234567890123456789012, 1e-310};
  for (size_t k = 0; k < 4; ++k) {
    double value = 0, back = 0;
    char text[PD_NUMBER_TEXT];
    assert_true(pd_parse_double(texts[k], texts[k] + strlen(texts[k]), &value) == PD_NUMBER_OK);
    assert_true(value == values[k]);
    size_t length = pd_format_number(text, value, false);
    assert_null(memchr(text, ',', length));
    assert_true(pd_parse_double(text, text + length, &back) == PD_NUMBER_OK);
    assert_true(back == value);
  }
  assert_non_null(setlocale(LC_ALL, "C"));
}

/* Digits are made eight at a time: numbers beside powers of ten have zeros or nines there. */
static void indices_are_written_as_printf_does(void **state) {
  (void)state;
  char text[PD_NUMBER_TEXT], expected[PD_NUMBER_TEXT];
  uint64_t counter = 0;
  for (uint64_t power = 1; power <= UINT64_C(1000000000000000000); power *= 10)
    for (uint64_t k = 0; k < 20000; ++k) {
      uint64_t value = k < 3 ? power - 1 + k : draw(&counter, power);
      size_t length = pd_format_index(text, value);
      int wanted = snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
      assert_int_equal(length, wanted);
      assert_memory_equal(text, expected, length);
    }
}

/* A matrix of many batches is written in its order, whatever thread is done first. */
static void rows_are_written_in_their_order(void **state) {
  (void)state;
  enum { ROWS = 30011, COLUMNS = 7 };
  polyad_context *context;
  double *values = calloc((size_t)ROWS * COLUMNS, sizeof *values), *back;
  uint64_t counter = 0, rows, columns;
  char path[] = "/tmp/polyad-rows-XXXXXX";
  int made = mkstemp(path);
  assert_true(made >= 0 && values != NULL);
  close(made);
  for (int k = 0; k < ROWS * COLUMNS; ++k)
    values[k] = (double)draw(&counter, UINT64_C(1) << (k % 62 + 1)) * 0x1p-31;
  for (int threads = 1; threads <= 5; threads += 2) {
    assert_int_equal(polyad_context_create(&context), POLYAD_OK);
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    assert_int_equal(polyad_matrix_write(context, ROWS, COLUMNS, values, path), POLYAD_OK);
    assert_int_equal(polyad_matrix_read(context, path, &rows, &columns, &back), POLYAD_OK);
    assert_int_equal(rows, ROWS);
    assert_int_equal(columns, COLUMNS);
    assert_memory_equal(back, values, (size_t)ROWS * COLUMNS * sizeof *values);
    polyad_free(context, back);
    polyad_context_destroy(context);
  }
  (void)remove(path);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_are_written_as_printf_does),
      cmocka_unit_test(rows_are_written_in_their_order),
      cmocka_unit_test(a_million_strings_are_read_exactly),
      cmocka_unit_test(scaled_integers_are_exact),
      cmocka_unit_test(every_count_of_digits_is_taken),
      cmocka_unit_test(malformed_numbers_are_refused),
      cmocka_unit_test(written_numbers_read_back),
      cmocka_unit_test(written_numbers_are_short),
      cmocka_unit_test(written_numbers_are_the_shortest),
      cmocka_unit_test(a_decimal_comma_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
