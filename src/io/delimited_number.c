/* A number is taken apart from its ends: parentheses, sign and currency, then what is left is
 * digits with marks. Which mark is the decimal one is told by the caller or by the number itself:
 * the number is read both with a decimal point and with a decimal comma, and where both readings
 * are possible and differ, that is an error, as in 1,234. Nothing is guessed from other rows. */
#include "io/delimited_number.h"
#include "io/number.h"
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, GROUP = ' ' };

struct text {
  const char *at, *end;
};

static bool delimited_number_fail(char *why, const char *text) {
  if (why != NULL) snprintf(why, PD_WRITTEN_WHY, "%s", text);
  return false;
}

/* ---- ends --------------------------------------------------------------------------------------
 */

/* Bytes of a blank at the start of the text: a space, or one that does not break lines. */
static size_t blank_bytes(const char *at, const char *end) {
  static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
  for (size_t k = 0; k < sizeof blanks / sizeof *blanks; ++k) {
    size_t bytes = strlen(blanks[k]);
    if ((size_t)(end - at) >= bytes && memcmp(at, blanks[k], bytes) == 0) return bytes;
  }
  return 0;
}

static void trim(struct text *t) {
  for (size_t bytes; (bytes = blank_bytes(t->at, t->end)) > 0;)
    t->at += bytes;
  for (bool found = true; found;) {
    found = false;
    for (size_t bytes = 1; bytes <= 3 && !found; ++bytes)
      if ((size_t)(t->end - t->at) >= bytes && blank_bytes(t->end - bytes, t->end) == bytes) {
        t->end -= bytes;
        found = true;
      }
  }
}

/* -1 or 1 for a sign at the front, 0 where there is none. */
static int take_minus_or_plus(struct text *t) {
  trim(t);
  if (t->end - t->at >= 3 && memcmp(t->at, "\xe2\x88\x92", 3) == 0) {
    t->at += 3;
    return -1;
  }
  if (t->at == t->end || (*t->at != '-' && *t->at != '+')) return 0;
  return *t->at++ == '-' ? -1 : 1;
}

/* Bytes of a currency at `at`: $, a sign of Unicode such as the euro's, or a code of ISO 4217.
 * Other letters are none: K or MWh behind a number would make it another number. */
static size_t currency_bytes(const char *at, const char *end) {
  static const char codes[] =
      " AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES "
      "KRW "
      "KZT MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD "
      "VND ZAR ";
  size_t left = (size_t)(end - at);
  if (left >= 1 && *at == '$') return 1;
  if (left >= 2 && (memcmp(at, "\xc2\xa3", 2) == 0 || memcmp(at, "\xc2\xa5", 2) == 0)) return 2;
  if (left >= 3 && (memcmp(at, "\xe2\x82", 2) == 0 && (unsigned char)at[2] >= 0xa0)) return 3;
  if (left < 3 || memchr(at, ' ', 3) != NULL) return 0;
  char code[6] = {' ', at[0], at[1], at[2], ' ', '\0'};
  return strstr(codes, code) != NULL ? 3 : 0;
}

/* The currency at one of the ends; false when there is one at each. */
static bool take_currency(struct text *t, uint32_t *currency) {
  char sign[4] = {0};
  *currency = 0;
  trim(t);
  size_t front = currency_bytes(t->at, t->end);
  memcpy(sign, t->at, front);
  t->at += front;
  trim(t);
  for (size_t bytes = 1; bytes <= 3; ++bytes) {
    if ((size_t)(t->end - t->at) < bytes || currency_bytes(t->end - bytes, t->end) != bytes)
      continue;
    if (front > 0) return false;
    t->end -= bytes;
    memcpy(sign, t->end, bytes);
    break;
  }
  trim(t);
  memcpy(currency, sign, sizeof sign);
  return true;
}

/* ---- digits and marks --------------------------------------------------------------------------
 */

/* Copies digits, points, commas and an exponent; blanks and apostrophes become GROUP. Returns the
 * length, 0 for what is no number. */
static size_t delimited_number_marks(const struct text *t, char out[LONGEST]) {
  size_t length = 0;
  for (const char *p = t->at; p < t->end;) {
    size_t bytes = blank_bytes(p, t->end);
    if (bytes == 0 && *p == '\'') bytes = 1;
    if (bytes == 0 && t->end - p >= 3 && memcmp(p, "\xe2\x80\x99", 3) == 0) bytes = 3;
    if (length + 1 == LONGEST) return 0;
    if (bytes > 0) {
      out[length++] = GROUP;
      p += bytes;
    } else if (*p != '\0' && strchr("0123456789.,eE+-", *p) != NULL) {
      out[length++] = *p++;
    } else {
      return 0;
    }
  }
  return length;
}

/* Reads the marks with `decimal` as the decimal mark and one other, if any, between groups of three
 * digits; false where they do not allow that. */
static bool read_as(const char *text, size_t length, char decimal, double *value, bool *underflow) {
  char plain[LONGEST], mark = '\0';
  size_t written = 0, digits = 0, k = 0; /* digits: of the group that is being read */
  for (; k < length && text[k] != decimal && text[k] != 'e' && text[k] != 'E'; ++k) {
    if (text[k] >= '0' && text[k] <= '9') {
      plain[written++] = text[k];
      ++digits;
      continue;
    }
    bool first = mark == '\0';
    if (first ? digits < 1 || digits > 3 || (digits == 1 && text[0] == '0')
              : digits != 3 || text[k] != mark)
      return false;
    if (text[k] == '+' || text[k] == '-') return false;
    mark = text[k];
    digits = 0;
  }
  if (mark != '\0' && digits != 3) return false;
  if (k < length && text[k] == decimal) {
    plain[written++] = '.';
    ++k;
  }
  for (; k < length; ++k) {
    if (text[k] == '.' || text[k] == ',' || text[k] == GROUP) return false;
    plain[written++] = text[k];
  }
  enum pd_number_result result = pd_parse_double(plain, plain + written, value);
  *underflow = result == PD_NUMBER_UNDERFLOW;
  return result != PD_NUMBER_MALFORMED;
}

static bool fail_two(char *why, double point, double comma) {
  char one[PD_NUMBER_TEXT], two[PD_NUMBER_TEXT];
  size_t first = pd_format_number(one, point, false), second = pd_format_number(two, comma, false);
  if (why != NULL)
    snprintf(why, PD_WRITTEN_WHY,
             "is %.*s or %.*s; expected a number of one reading, or the decimal mark to be told "
             "(numbers: point or comma)",
             (int)first, one, (int)second, two);
  return false;
}

/* sign: of what stood in front of the marks; both readings that an error shows have it. */
static bool read_marks(polyad_numbers how, const char *text, size_t length, int sign,
                       struct pd_written_number *number, char *why) {
  double point = 0, comma = 0;
  bool small[2] = {false, false};
  bool is_point = how != POLYAD_NUMBERS_COMMA && read_as(text, length, '.', &point, &small[0]);
  bool is_comma = how != POLYAD_NUMBERS_POINT && read_as(text, length, ',', &comma, &small[1]);
  if (is_point && is_comma && point != comma)
    return sign < 0 ? fail_two(why, -point, -comma) : fail_two(why, point, comma);
  number->value = is_point ? point : comma;
  number->underflow = is_point ? small[0] : small[1];
  if (sign < 0) number->value = -number->value;
  if (is_point || is_comma) return true;
  return delimited_number_fail(
      why, how == POLYAD_NUMBERS_POINT
               ? "is no number; expected one with a decimal point, such as $1,234.50"
           : how == POLYAD_NUMBERS_COMMA
               ? "is no number; expected one with a decimal comma, such as 1.234,50 EUR"
               : "is no number; expected one such as 1234.5, 1,234.50, 1.234,50 or $12");
}

static bool delimited_number_plain(const char *text, size_t length,
                                   struct pd_written_number *number, char *why) {
  enum pd_number_result result = pd_parse_double(text, text + length, &number->value);
  number->underflow = result == PD_NUMBER_UNDERFLOW;
  if (result != PD_NUMBER_MALFORMED) return true;
  return delimited_number_fail(
      why, memchr(text, ',', length) != NULL
               ? "is no number; expected a decimal point, not a comma (numbers: grouped, "
                 "point or comma read other marks)"
               : "is not a finite number; expected a number (missing: skip leaves rows without one "
                 "out)");
}

bool pd_written_number_read(polyad_numbers how, const char *text, size_t length,
                            struct pd_written_number *number, char *why) {
  struct text t = {text, text + length};
  char marks[LONGEST];
  number->currency = 0;
  if (how == POLYAD_NUMBERS_PLAIN) return delimited_number_plain(text, length, number, why);
  trim(&t);
  int sign = 0;
  if (t.end - t.at >= 2 && *t.at == '(' && t.end[-1] == ')') {
    sign = -1; /* as accountants write it */
    ++t.at;
    --t.end;
  } else {
    sign = take_minus_or_plus(&t);
  }
  if (!take_currency(&t, &number->currency))
    return delimited_number_fail(
        why, "has two currencies; expected one, in front of the number or behind it");
  if (sign == 0) sign = take_minus_or_plus(&t);
  trim(&t);
  size_t used = delimited_number_marks(&t, marks);
  return read_marks(how, marks, used, sign, number, why);
}
