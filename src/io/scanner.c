#include "io/scanner.h"
#include "io/number.h"
#include <stdio.h>
#include <string.h>

polyad_status pd_scanner_create(polyad_context *context, struct pd_input *input,
                                struct pd_scanner **out) {
  const unsigned char *head;
  size_t size;
  PD_TRY(pd_input_peek(input, &head, &size));
  if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) pd_input_skip(input, 3);
  struct pd_scanner *scanner = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &scanner));
  scanner->context = context;
  scanner->input = input;
  scanner->line = scanner->column = 1;
  polyad_status status = PD_NEW(context, PD_SCANNER_BYTES, &scanner->buffer);
  if (status != POLYAD_OK) {
    pd_scanner_destroy(scanner);
    return status;
  }
  *out = scanner;
  return POLYAD_OK;
}

void pd_scanner_destroy(struct pd_scanner *scanner) {
  if (scanner == NULL) return;
  PD_FREE(scanner->context, scanner->buffer, scanner);
}

/* The next byte, or -1 at the end. */
static polyad_status peek(struct pd_scanner *s, int *byte) {
  if (s->at == s->used && !s->end) {
    size_t got;
    if (pd_input_read(s->input, s->buffer, PD_SCANNER_BYTES, &got) != POLYAD_OK)
      return pd_input_error(s->input, s->line - 1);
    s->at = 0;
    s->used = got;
    s->end = got == 0;
  }
  *byte = s->at < s->used ? s->buffer[s->at] : -1;
  return POLYAD_OK;
}

static void scanner_advance(struct pd_scanner *s, int byte) {
  ++s->at;
  ++s->column;
  if (byte == '\n') {
    ++s->line;
    s->column = 1;
  }
}

static bool is_space(int byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* The next word (between blanks and line ends); length 0 at the end. */
static polyad_status next_word(struct pd_scanner *s) {
  int byte = -1;
  s->length = 0;
  PD_TRY(peek(s, &byte));
  while (is_space(byte)) {
    scanner_advance(s, byte);
    PD_TRY(peek(s, &byte));
  }
  s->word_line = s->line;
  s->word_column = s->column;
  while (byte >= 0 && !is_space(byte)) {
    if (s->length == PD_WORD_BYTES)
      return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line,
                        s->word_column, "a word of more than %d bytes; expected a number",
                        PD_WORD_BYTES);
    s->word[s->length++] = (char)byte;
    scanner_advance(s, byte);
    PD_TRY(peek(s, &byte));
  }
  return POLYAD_OK;
}

static polyad_status fail_word(struct pd_scanner *s, const char *expected) {
  char quoted[PD_QUOTE_BYTES];
  if (s->length == 0)
    return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line, 0,
                      "the file ends here; expected %s (it may be truncated)", expected);
  return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line, s->word_column,
                    "%s; expected %s", pd_quote(quoted, s->word, s->length), expected);
}

polyad_status pd_scanner_expect(struct pd_scanner *s, const char *expected) {
  PD_TRY(next_word(s));
  if (s->length == strcspn(expected, ",") && memcmp(s->word, expected, s->length) == 0)
    return POLYAD_OK;
  return fail_word(s, expected);
}

polyad_status pd_scanner_integer(struct pd_scanner *s, const char *what, uint64_t least,
                                 uint64_t most, uint64_t *value) {
  PD_TRY(next_word(s));
  if (s->length > 0 && pd_parse_index(s->word, s->word + s->length, value) == PD_NUMBER_OK &&
      *value >= least && *value <= most)
    return POLYAD_OK;
  char expected[128];
  snprintf(expected, sizeof expected, "%s: an integer from %llu to %llu", what,
           (unsigned long long)least, (unsigned long long)most);
  return fail_word(s, expected);
}

polyad_status pd_scanner_number(struct pd_scanner *s, const char *what, double *value) {
  PD_TRY(next_word(s));
  if (s->length > 0) {
    enum pd_number_result result = pd_parse_double(s->word, s->word + s->length, value);
    if (result == PD_NUMBER_OK || result == PD_NUMBER_UNDERFLOW) return POLYAD_OK;
  }
  char expected[128];
  snprintf(expected, sizeof expected, "%s: a finite number", what);
  return fail_word(s, expected);
}

polyad_status pd_scanner_end(struct pd_scanner *s) {
  PD_TRY(next_word(s));
  return s->length == 0 ? POLYAD_OK : fail_word(s, "the end of the file");
}
