/* Every check that a line of FROSTT text must pass, one token after the other, with an error that
 * names the column, what stands there and what was expected. It is slow and complete: lines without
 * a fault are mostly parsed by tns_block.c. */
#include "io/tns_line.h"
#include "io/number.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Largest index as it stands in a file: 64-bit signed, as in other tools. */
static const uint64_t largest_index = INT64_MAX;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *tns_line_skip_blanks(const char *p, const char *end) {
  while (p < end && is_blank(*p))
    ++p;
  return p;
}

static const char *skip_token(const char *p, const char *end) {
  while (p < end && !is_blank(*p))
    ++p;
  return p;
}

/* Where the content of a line ends: before a comment, a "\r" in front of the line end, or the
 * limit. */
static const char *content_end(const char *line, const char *end, bool *too_long) {
  size_t size = (size_t)(end - line);
  bool longer = size > PD_TNS_LONGEST_LINE;
  const char *comment = memchr(line, '#', longer ? PD_TNS_LONGEST_LINE : size);
  *too_long = longer && comment == NULL;
  if (comment != NULL) return comment;
  if (*too_long) return line + PD_TNS_LONGEST_LINE;
  return end > line && end[-1] == '\r' ? end - 1 : end;
}

static int64_t count_fields(const char *p, const char *end) {
  int64_t count = 0;
  for (p = tns_line_skip_blanks(p, end); p < end; p = tns_line_skip_blanks(skip_token(p, end), end))
    ++count;
  return count;
}

int64_t pd_tns_count_fields(const char *line, const char *end) {
  bool too_long;
  return count_fields(line, content_end(line, end, &too_long));
}

struct reporter {
  const char *line;
  bool truncated;
  struct pd_tns_error *error;
};

static int tns_line_report(const struct reporter *to, const char *at, const char *format, ...)
    PD_PRINTF(3, 4);

static int tns_line_report(const struct reporter *to, const char *at, const char *format, ...) {
  struct pd_tns_error *error = to->error;
  error->status = POLYAD_PARSE;
  error->column = (uint64_t)(at - to->line) + 1;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  if (to->truncated && length > 0 && (size_t)length < sizeof error->text)
    snprintf(error->text + length, sizeof error->text - (size_t)length,
             "; this is the last line: the file may be truncated");
  return -1;
}

/* A byte that no number has: NUL, control bytes, bytes past ASCII. */
static int report_odd_byte(const struct reporter *to, const char *at, const char *end) {
  unsigned char c = (unsigned char)*at;
  char quoted[PD_QUOTE_BYTES];
  size_t length = (size_t)(end - at) < 4 ? (size_t)(end - at) : 4;
  if (c == 0) return tns_line_report(to, at, "NUL byte '\\x00'; expected text");
  if (c == '\r')
    return tns_line_report(
        to, at,
        "carriage return inside a line; expected line ends LF or CR LF; is it text of an "
        "old Mac?");
  if (c >= 0x80)
    return tns_line_report(to, at, "bytes %s; expected digits, blanks and tabs; is it binary data?",
                           pd_quote(quoted, at, length));
  return tns_line_report(to, at,
                         "control byte %s; expected digits, blanks and tabs; is it binary data?",
                         pd_quote(quoted, at, 1));
}

static int check_bytes(const struct reporter *to, const char *line, const char *end) {
  for (const char *p = line; p < end; ++p) {
    unsigned char c = (unsigned char)*p;
    if ((c < 0x20 && c != '\t') || c >= 0x7f) return report_odd_byte(to, p, end);
  }
  return 0;
}

static bool begins_with(const char *p, const char *end, const char *word) {
  size_t length = strlen(word);
  return (size_t)(end - p) >= length && memcmp(p, word, length) == 0;
}

static int check_foreign(const struct reporter *to, const char *p, const char *end) {
  if (begins_with(p, end, "%%MatrixMarket"))
    return tns_line_report(to, p,
                           "a MatrixMarket header; expected indices and a value on each line");
  if (begins_with(p, end, "%"))
    return tns_line_report(
        to, p, "a line with '%%'; expected indices and a value; comments begin with '#'");
  return 0;
}

static bool has_comma(const char *p, const char *end) {
  return memchr(p, ',', (size_t)(end - p)) != NULL;
}

static int report_one_field(const struct reporter *to, const char *p, const char *end) {
  char quoted[PD_QUOTE_BYTES];
  pd_quote(quoted, p, (size_t)(skip_token(p, end) - p));
  if (has_comma(p, end))
    return tns_line_report(
        to, p,
        "%s is one field; expected blanks between fields; for CSV, name the file .csv or, of a "
        "pipe, give the format with --input-format csv",
        quoted);
  uint64_t ignored;
  if (pd_parse_index(p, skip_token(p, end), &ignored) == PD_NUMBER_MALFORMED)
    return tns_line_report(
        to, p,
        "%s is no index; expected lines of indices and a value, or 'sptensor' on the "
        "first line",
        quoted);
  return tns_line_report(
      to, p,
      "%s is one field; expected an index and a value; a header with order and lengths, "
      "as HiParTI writes, must be removed",
      quoted);
}

static int check_count(const struct reporter *to, const struct pd_tns_form *form, const char *p,
                       const char *end, bool too_long) {
  int64_t fields = count_fields(p, end), extra = form->pattern ? 0 : 1;
  const char *at_least = too_long ? "at least " : "";
  if (form->order > 0 && fields == form->order + extra) return 0;
  if (form->order > 0)
    return tns_line_report(to, p, "%s%lld field%s; expected %d: %d ind%s%s", at_least,
                           (long long)fields, fields == 1 ? "" : "s", form->order + (int)extra,
                           form->order, form->order == 1 ? "ex" : "ices",
                           form->pattern ? "" : " and a value");
  if (fields - extra < 1) return report_one_field(to, p, end);
  if (fields - extra > POLYAD_MAX_ORDER)
    return tns_line_report(to, p,
                           "%s%lld indices; expected at most %d, the largest order of this build",
                           at_least, (long long)(fields - extra), POLYAD_MAX_ORDER);
  return 0;
}

static int report_index(const struct reporter *to, const struct pd_tns_form *form, const char *p,
                        const char *end) {
  char quoted[PD_QUOTE_BYTES];
  pd_quote(quoted, p, (size_t)(end - p));
  if (has_comma(p, end))
    return tns_line_report(
        to, p, "%s is no index; expected blanks between fields; for CSV, name it .csv", quoted);
  return tns_line_report(to, p, "%s is no index; expected an integer of at least %llu", quoted,
                         (unsigned long long)form->base);
}

static int parse_index(const struct reporter *to, const struct pd_tns_form *form, int mode,
                       const char *p, const char *end, uint64_t *index) {
  char quoted[PD_QUOTE_BYTES];
  uint64_t raw = 0;
  enum pd_number_result result = pd_parse_index(p, end, &raw);
  if (result != PD_NUMBER_OK && result != PD_NUMBER_TOO_LARGE)
    return report_index(to, form, p, end);
  uint64_t most = form->dims != NULL ? form->dims[mode] - 1 + form->base
                  : form->base == 0  ? largest_index - 1
                                     : largest_index;
  pd_quote(quoted, p, (size_t)(end - p));
  if (result == PD_NUMBER_TOO_LARGE || raw > most)
    return tns_line_report(to, p, "index %s in mode %d; expected at most %llu%s", quoted, mode + 1,
                           (unsigned long long)most,
                           form->dims != NULL ? ", the length given" : "");
  if (raw < form->base)
    return tns_line_report(
        to, p,
        "index 0 in mode %d; expected at least 1; if the file counts from 0, ask for "
        "index base 0 (--index-base 0)",
        mode + 1);
  *index = raw - form->base;
  return 0;
}

static bool tns_line_is_missing(const char *p, size_t length) {
  static const char *const words[] = {"NA", "N/A", "null", "NULL", "None", "?", "\"\"", "-"};
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k)
    if (strlen(words[k]) == length && memcmp(p, words[k], length) == 0) return true;
  return false;
}

static int report_value(const struct reporter *to, const char *p, const char *end) {
  char quoted[PD_QUOTE_BYTES];
  size_t length = (size_t)(end - p);
  bool digit = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == '.';
  const char *sign_off = *p == '-' || *p == '+' ? p + 1 : p;
  pd_quote(quoted, p, length);
  if (tns_line_is_missing(p, length))
    return tns_line_report(to, p, "%s is no number; expected a value; leave out lines without one",
                           quoted);
  if (has_comma(p, end))
    return tns_line_report(to, p, "%s is no number; expected a decimal point, not a comma", quoted);
  if (length > 1 && digit && (end[-1] == 'i' || end[-1] == 'j'))
    return tns_line_report(to, p, "%s is no real number; expected a real value", quoted);
  if (sign_off < end && strchr("nNiI", *sign_off) != NULL)
    return tns_line_report(to, p, "%s is not a finite number; expected a finite value", quoted);
  return tns_line_report(to, p, "%s is no number; expected a value", quoted);
}

static int parse_value(const struct reporter *to, const struct pd_tns_form *form, const char *p,
                       const char *end, double *value, bool *underflow) {
  char quoted[PD_QUOTE_BYTES];
  enum pd_number_result result = pd_parse_double(p, end, value);
  if (result == PD_NUMBER_MALFORMED) return report_value(to, p, end);
  pd_quote(quoted, p, (size_t)(end - p));
  if (result == PD_NUMBER_TOO_LONG)
    return tns_line_report(to, p, "value %s has %zu bytes; expected at most %d", quoted,
                           (size_t)(end - p), PD_NUMBER_LONGEST);
  if (result == PD_NUMBER_TOO_LARGE)
    return tns_line_report(to, p, "value %s is not finite; expected a magnitude of at most 1.8e308",
                           quoted);
  if (form->single && isinf((float)*value))
    return tns_line_report(
        to, p, "value %s; expected a magnitude of at most 3.4e38, a float's largest", quoted);
  *underflow |=
      result == PD_NUMBER_UNDERFLOW || (form->single && *value != 0 && (float)*value == 0);
  return 0;
}

int pd_tns_parse_line(const struct pd_tns_form *form, const char *line, const char *end,
                      bool truncated, uint64_t *index, double *value, bool *underflow,
                      struct pd_tns_error *error) {
  struct reporter to = {line, truncated, error};
  bool too_long;
  end = content_end(line, end, &too_long);
  const char *p = tns_line_skip_blanks(line, end);
  if (p == end && !too_long) return 0;
  if (check_foreign(&to, p, end) < 0 || check_bytes(&to, line, end) < 0) return -1;
  if (check_count(&to, form, p, end, too_long) < 0) return -1;
  int order = (int)(count_fields(p, end) - !form->pattern);
  for (int n = 0; n < order; ++n) {
    const char *token = skip_token(p, end);
    if (parse_index(&to, form, n, p, token, &index[n]) < 0) return -1;
    p = tns_line_skip_blanks(token, end);
  }
  *value = 1;
  if (!form->pattern && parse_value(&to, form, p, skip_token(p, end), value, underflow) < 0)
    return -1;
  if (too_long)
    return tns_line_report(&to, line, "a line of more than %d bytes; expected indices and a value",
                           PD_TNS_LONGEST_LINE);
  return 1;
}
