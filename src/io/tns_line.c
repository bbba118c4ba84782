#include "io/tns_line.h"
#include "io/number.h"
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && is_blank(*p))
    ++p;
  return p;
}

static const char *skip_token(const char *p, const char *end) {
  while (p < end && !is_blank(*p))
    ++p;
  return p;
}

const char *pd_tns_content_end(const char *line, const char *end, bool *too_long) {
  size_t size = (size_t)(end - line);
  bool longer = size > PD_TNS_LONGEST_LINE;
  const char *comment = memchr(line, '#', longer ? PD_TNS_LONGEST_LINE : size);
  *too_long = longer && comment == NULL;
  if (comment != NULL) return comment;
  if (*too_long) return line + PD_TNS_LONGEST_LINE;
  return end > line && end[-1] == '\r' ? end - 1 : end;
}

int64_t pd_tns_count_fields(const char *line, const char *end) {
  int64_t count = 0;
  const char *p = skip_blanks(line, end);
  while (p < end) {
    ++count;
    p = skip_blanks(skip_token(p, end), end);
  }
  return count;
}

struct reporter {
  const char *line;
  bool final;
  struct pd_tns_error *error;
};

static int report(const struct reporter *to, const char *at, const char *format, ...)
    PD_PRINTF(3, 4);

static int report(const struct reporter *to, const char *at, const char *format, ...) {
  struct pd_tns_error *error = to->error;
  error->status = POLYAD_PARSE;
  error->column = (uint64_t)(at - to->line) + 1;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  if (to->final && length > 0 && (size_t)length < sizeof error->text)
    snprintf(error->text + length, sizeof error->text - (size_t)length,
             "; it is the last line: the file may be truncated");
  return -1;
}

/* A byte that no number has: NUL, control bytes, bytes past ASCII. */
static int report_odd_byte(const struct reporter *to, const char *at, const char *end) {
  unsigned char c = (unsigned char)*at;
  char quoted[PD_QUOTE_BYTES];
  if (c == 0) return report(to, at, "NUL byte; expected text");
  if (c == '\r')
    return report(to, at,
                  "carriage return inside a line; expected line ends LF or CR LF (old Mac text?)");
  size_t length = (size_t)(end - at) < 4 ? (size_t)(end - at) : 4;
  if (c >= 0x80)
    return report(to, at, "byte %s; expected ASCII digits (binary data, or not UTF-8 text?)",
                  pd_quote(quoted, at, length));
  return report(to, at, "control byte %s; expected text (binary data?)", pd_quote(quoted, at, 1));
}

static const char *find_odd_byte(const char *p, const char *end) {
  for (; p < end; ++p) {
    unsigned char c = (unsigned char)*p;
    if ((c < 0x20 && c != '\t') || c >= 0x7f) return p;
  }
  return NULL;
}

/* Comments may hold any text, so only what comes before one is looked at. */
static int check_bytes(const struct reporter *to, const char *line, const char *end) {
  const char *odd = find_odd_byte(line, end);
  return odd == NULL ? 0 : report_odd_byte(to, odd, end);
}

static int check_foreign(const struct reporter *to, const char *p, const char *end) {
  size_t length = (size_t)(end - p);
  if (length >= 14 && memcmp(p, "%%MatrixMarket", 14) == 0)
    return report(to, p, "a MatrixMarket header; expected indices and a value on each line");
  if (length >= 2 && p[0] == '%' && p[1] == '%')
    return report(to, p, "a header; expected indices and a value on each line");
  return 0;
}

static int check_count(const struct reporter *to, const struct pd_tns_form *form, const char *p,
                       const char *end) {
  int64_t fields = pd_tns_count_fields(p, end), extra = form->pattern ? 0 : 1;
  const char *what = form->pattern ? "" : " and a value";
  if (form->order > 0) {
    if (fields == form->order + extra) return 0;
    return report(to, p, "%lld fields; expected %d, as on the lines before (%d indices%s)",
                  (long long)fields, form->order + (int)extra, form->order, what);
  }
  if (fields - extra < 1)
    return memchr(p, ',', (size_t)(end - p)) != NULL
               ? report(to, p,
                        "one field with commas; expected fields separated by blanks (is it CSV? "
                        "then name it .csv)")
               : report(to, p,
                        "1 field; expected an index and a value (a header line with the order, as "
                        "HiParTI writes, must be removed)");
  if (fields - extra > POLYAD_MAX_ORDER)
    return report(to, p, "%lld indices; expected at most %d, the largest order of this build",
                  (long long)(fields - extra), POLYAD_MAX_ORDER);
  return 0;
}

static int parse_index(const struct reporter *to, const struct pd_tns_form *form, int mode,
                       const char *p, const char *end, uint64_t *index) {
  char quoted[PD_QUOTE_BYTES];
  pd_quote(quoted, p, (size_t)(end - p));
  uint64_t raw;
  enum pd_number_result result = pd_parse_index(p, end, &raw);
  if (result == PD_NUMBER_TOO_LARGE)
    return report(to, p, "index %s; expected at most 9223372036854775807", quoted);
  if (result != PD_NUMBER_OK) {
    if (memchr(p, ',', (size_t)(end - p)) != NULL)
      return report(to, p,
                    "%s is no index; expected blanks between fields (is it CSV? then name "
                    "it .csv)",
                    quoted);
    return report(to, p, "%s is no index; expected an integer of at least %llu", quoted,
                  (unsigned long long)form->base);
  }
  if (raw < form->base)
    return report(to, p,
                  "index 0 in mode %d; expected at least 1 (for files that count from 0: "
                  "--index-base 0)",
                  mode + 1);
  *index = raw - form->base;
  if (*index == (uint64_t)INT64_MAX)
    return report(to, p, "index %s; expected at most 9223372036854775806", quoted);
  if (form->dims != NULL && *index >= form->dims[mode])
    return report(to, p, "index %s in mode %d; expected at most %llu, the length given", quoted,
                  mode + 1, (unsigned long long)(form->dims[mode] - 1 + form->base));
  return 0;
}

static int report_value(const struct reporter *to, const char *p, const char *end) {
  char quoted[PD_QUOTE_BYTES];
  size_t length = (size_t)(end - p);
  pd_quote(quoted, p, length);
  static const char *const missing[] = {"NA", "N/A", "null", "NULL", "None", "?", "\"\"", "-"};
  for (size_t k = 0; k < sizeof missing / sizeof *missing; ++k)
    if (strlen(missing[k]) == length && memcmp(p, missing[k], length) == 0)
      return report(to, p, "%s is no number; expected a value (drop lines without one)", quoted);
  if (memchr(p, ',', length) != NULL)
    return report(to, p, "%s is no number; expected a decimal point, not a comma", quoted);
  return report(to, p, "%s is no finite decimal number; expected a value", quoted);
}

static int parse_value(const struct reporter *to, const struct pd_tns_form *form, const char *p,
                       const char *end, double *value, bool *underflow) {
  char quoted[PD_QUOTE_BYTES];
  enum pd_number_result result = pd_parse_double(p, end, value);
  if (result == PD_NUMBER_MALFORMED) return report_value(to, p, end);
  if (result == PD_NUMBER_TOO_LARGE)
    return report(to, p, "value %s overflows; expected a magnitude of at most 1.8e308",
                  pd_quote(quoted, p, (size_t)(end - p)));
  if (form->single && fabs(*value) > (double)FLT_MAX)
    return report(to, p,
                  "value %s overflows single precision; expected a magnitude of at most 3.4e38",
                  pd_quote(quoted, p, (size_t)(end - p)));
  *underflow |= result == PD_NUMBER_UNDERFLOW;
  return 0;
}

int pd_tns_parse_line(const struct pd_tns_form *form, const char *line, const char *end, bool final,
                      uint64_t *index, double *value, bool *underflow, struct pd_tns_error *error) {
  struct reporter to = {line, final, error};
  bool too_long = false;
  end = pd_tns_content_end(line, end, &too_long);
  const char *p = skip_blanks(line, end);
  if (p == end && !too_long) return 0;
  if (check_foreign(&to, p, end) < 0 || check_bytes(&to, line, end) < 0) return -1;
  if (check_count(&to, form, p, end) < 0) {
    /* A line whose fields are no numbers at all is better described by its first bad field. */
    const char *token = skip_token(p, end);
    uint64_t ignored;
    bool is_index = pd_parse_index(p, token, &ignored) != PD_NUMBER_MALFORMED;
    struct pd_tns_form any = *form;
    any.dims = NULL;
    any.base = 0;
    if (!is_index && form->order > 0) return parse_index(&to, &any, 0, p, token, &ignored);
    return -1;
  }
  int order = (int)pd_tns_count_fields(p, end) - !form->pattern;
  for (int n = 0; n < order; ++n) {
    const char *token = skip_token(p, end);
    if (parse_index(&to, form, n, p, token, &index[n]) < 0) return -1;
    p = skip_blanks(token, end);
  }
  if (too_long)
    return report(&to, line, "a line of more than %d bytes; expected indices and a value",
                  PD_TNS_LONGEST_LINE);
  *value = 1;
  if (!form->pattern && parse_value(&to, form, p, skip_token(p, end), value, underflow) < 0)
    return -1;
  return 1;
}
