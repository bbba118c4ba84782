#include "io/delimited_rows.h"
#include <stdio.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 20 };

/* How far a try to take a row came. */
enum taken { TAKEN_ROW, TAKEN_BLANK, TAKEN_SHORT, TAKEN_FAILED };

polyad_status pd_rows_open(polyad_context *context, struct pd_input *input, char delimiter,
                           struct pd_rows *rows) {
  *rows = (struct pd_rows){
      .context = context, .input = input, .delimiter = delimiter, .capacity = BUFFER_BYTES};
  PD_TRY(PD_NEW(context, rows->capacity, &rows->buffer));
  return PD_NEW(context, PD_ROW_FIELDS + 1, &rows->field);
}

void pd_rows_close(struct pd_rows *rows) {
  PD_FREE(rows->context, rows->buffer, rows->field, rows->plain);
}

polyad_status pd_rows_fail(const struct pd_rows *rows, polyad_status status, const char *place,
                           const char *format, ...) {
  uint64_t line = rows->line, column = 1;
  for (const char *p = rows->buffer + rows->row; p < place; ++p) {
    line += *p == '\n';
    column = *p == '\n' ? 1 : column + 1;
  }
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return pd_fail_at(rows->context, status, pd_input_path(rows->input), line, column, "%s", text);
}

/* Adds text behind `end`; room is made in front, or by a larger buffer. */
static polyad_status delimited_rows_fill(struct pd_rows *rows) {
  if (rows->begin > 0) {
    memmove(rows->buffer, rows->buffer + rows->begin, rows->end - rows->begin);
    rows->before += rows->begin;
    rows->end -= rows->begin;
    rows->begin = 0;
  }
  if (rows->end > rows->capacity / 2) {
    PD_TRY(pd_realloc(rows->context, 2 * rows->capacity, 1, (void **)&rows->buffer));
    rows->capacity *= 2;
  }
  size_t got;
  if (pd_input_read(rows->input, rows->buffer + rows->end, rows->capacity - rows->end, &got) !=
      POLYAD_OK)
    return pd_input_error(rows->input, rows->lines);
  rows->end += got;
  rows->at_end = got == 0;
  return POLYAD_OK;
}

polyad_status pd_rows_fill(struct pd_rows *rows, size_t capacity) {
  if (capacity > rows->capacity) {
    PD_TRY(pd_realloc(rows->context, capacity, 1, (void **)&rows->buffer));
    rows->capacity = capacity;
  }
  return delimited_rows_fill(rows);
}

static polyad_status delimited_rows_start(struct pd_rows *rows) {
  rows->started = true;
  PD_TRY(delimited_rows_fill(rows));
  const unsigned char *first = (const unsigned char *)rows->buffer;
  if (rows->end >= 2 &&
      ((first[0] == 0xff && first[1] == 0xfe) || (first[0] == 0xfe && first[1] == 0xff)))
    return pd_fail_at(rows->context, POLYAD_PARSE, pd_input_path(rows->input), 1, 1,
                      "UTF-16 text; expected UTF-8: convert it (iconv -f UTF-16 -t UTF-8)");
  if (rows->end >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0) rows->begin = 3;
  return POLYAD_OK;
}

static enum taken fail_nul(const struct pd_rows *rows, const char *place) {
  (void)pd_rows_fail(rows, POLYAD_PARSE, place, "NUL byte found; expected text");
  return TAKEN_FAILED;
}

/* Counts a field; one past the most is an error. */
static bool add_field(struct pd_rows *rows, const char *text, size_t length, bool doubled) {
  if (rows->fields == PD_ROW_FIELDS) {
    (void)pd_rows_fail(rows, POLYAD_PARSE, text, "too many fields; expected at most %d",
                       PD_ROW_FIELDS);
    return false;
  }
  rows->field[rows->fields++] = (struct pd_field){text, length, doubled};
  return true;
}

/* A quoted field: `p` stands behind the opening quote. Sets *next behind the closing one. */
static enum taken take_quoted(struct pd_rows *rows, const char *p, const char **next) {
  const char *text = p, *end = rows->buffer + rows->end;
  bool doubled = false;
  for (; p < end; ++p) {
    if (*p == '\0') return fail_nul(rows, p);
    if (*p == '\n') ++rows->lines;
    if (*p != '"') continue;
    if (p + 1 < end && p[1] == '"') {
      doubled = true;
      ++p;
      continue;
    }
    if (p + 1 == end && !rows->at_end) return TAKEN_SHORT;
    *next = p + 1;
    return add_field(rows, text, (size_t)(p - text), doubled) ? TAKEN_ROW : TAKEN_FAILED;
  }
  if (!rows->at_end && (size_t)(end - text) <= PD_ROW_BYTES) return TAKEN_SHORT;
  (void)pd_rows_fail(rows, POLYAD_PARSE, text - 1,
                     rows->at_end ? "quote is opened but never closed; expected '\"'"
                                  : "quote is opened but not closed within 16 MiB; expected '\"'");
  return TAKEN_FAILED;
}

static enum taken take_bare(struct pd_rows *rows, const char *p, const char **next) {
  const char *text = p, *end = rows->buffer + rows->end;
  const char delimiter = rows->delimiter;
  while (p < end && *p != delimiter && *p != '\n' && *p != '\0')
    ++p;
  if (p < end && *p == '\0') return fail_nul(rows, p);
  if (p == end && !rows->at_end) return TAKEN_SHORT;
  size_t length = (size_t)(p - text);
  bool ends_line = p == end || *p == '\n';
  if (ends_line && length > 0 && text[length - 1] == '\r') --length;
  *next = p;
  return add_field(rows, text, length, false) ? TAKEN_ROW : TAKEN_FAILED;
}

static enum taken delimited_rows_take_row(struct pd_rows *rows) {
  const char *p = rows->buffer + rows->begin, *end = rows->buffer + rows->end;
  uint64_t lines = rows->lines;
  rows->row = rows->begin;
  rows->line = lines + 1;
  rows->fields = 0;
  for (;;) {
    enum taken taken = p < end && *p == '"' ? take_quoted(rows, p + 1, &p) : take_bare(rows, p, &p);
    if (taken != TAKEN_ROW) {
      if (taken == TAKEN_SHORT) rows->lines = lines;
      return taken;
    }
    if (p < end && *p == '\r' && (p + 1 == end ? rows->at_end : p[1] == '\n')) ++p;
    if (p < end && *p == '\r' && p + 1 == end) {
      rows->lines = lines;
      return TAKEN_SHORT;
    }
    if (p < end && *p == rows->delimiter) {
      ++p;
      continue;
    }
    if (p == end && !rows->at_end) {
      rows->lines = lines;
      return TAKEN_SHORT;
    }
    if (p < end && *p != '\n') {
      char quoted[PD_QUOTE_BYTES];
      (void)pd_rows_fail(rows, POLYAD_PARSE, p,
                         "%s after the closing quote; expected the end of the field",
                         pd_quote(quoted, p, 1));
      return TAKEN_FAILED;
    }
    rows->lines += p < end;
    rows->begin = (size_t)(p - rows->buffer) + (p < end);
    return rows->fields == 1 && rows->field[0].length == 0 ? TAKEN_BLANK : TAKEN_ROW;
  }
}

polyad_status pd_rows_next(struct pd_rows *rows, bool *found) {
  *found = false;
  if (!rows->started) PD_TRY(delimited_rows_start(rows));
  for (;;) {
    if (rows->begin == rows->end) {
      if (rows->at_end) return POLYAD_OK;
      PD_TRY(delimited_rows_fill(rows));
      continue;
    }
    switch (delimited_rows_take_row(rows)) {
    case TAKEN_ROW:
      *found = true;
      return POLYAD_OK;
    case TAKEN_BLANK:
      break;
    case TAKEN_FAILED:
      return POLYAD_PARSE;
    case TAKEN_SHORT:
      if (rows->end - rows->begin > PD_ROW_BYTES)
        return pd_rows_fail(rows, POLYAD_PARSE, rows->buffer + rows->begin,
                            "row is longer than 16 MiB; expected the end of the line before");
      PD_TRY(delimited_rows_fill(rows));
      break;
    }
  }
}

polyad_status pd_rows_plain(struct pd_rows *rows, struct pd_field *field) {
  if (!field->doubled) return POLYAD_OK;
  if (field->length > rows->plain_capacity) {
    pd_free(rows->context, rows->plain);
    rows->plain = NULL;
    rows->plain_capacity = 0;
    PD_TRY(PD_NEW(rows->context, field->length, &rows->plain));
    rows->plain_capacity = field->length;
  }
  size_t length = 0;
  for (size_t i = 0; i < field->length; ++i) {
    rows->plain[length++] = field->text[i];
    if (field->text[i] == '"') ++i;
  }
  *field = (struct pd_field){rows->plain, length, false};
  return POLYAD_OK;
}
