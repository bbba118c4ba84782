/* What the last call of a context said: one message, with the place in a file where there is one.
 * Text from outside is shown in quotes, without bytes that a terminal would obey. */
#include "core/context_internal.h"
#include <stdio.h>
#include <string.h>

void pd_begin(polyad_context *context) {
  context->error_status = POLYAD_OK;
  context->error_message[0] = '\0';
  context->error_file[0] = '\0';
  context->error_line = 0;
  context->error_column = 0;
}

/* A message fits a few lines of a terminal, whatever names and words it quotes. */
enum { MOST_MESSAGE_BYTES = 290 };

static void bound_message(char *message) {
  if (strlen(message) <= MOST_MESSAGE_BYTES) return;
  size_t end = MOST_MESSAGE_BYTES - 3;
  while (end > 0 && ((unsigned char)message[end] & 0xc0) == 0x80)
    --end; /* not inside a character */
  memcpy(message + end, "...", 4);
}

polyad_status pd_fail(polyad_context *context, polyad_status status, const char *format, ...) {
  if (context == NULL || context->error_status != POLYAD_OK) return status;
  context->error_status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(context->error_message, sizeof context->error_message, format, arguments);
  va_end(arguments);
  bound_message(context->error_message);
  return status;
}

static void write_place(char *out, size_t size, const char *file, uint64_t line, uint64_t column) {
  int used = snprintf(out, size, "%s:", file);
  size_t at = used < 0 ? 0 : (size_t)used;
  if (line > 0 && at < size) {
    used = snprintf(out + at, size - at, "%llu:", (unsigned long long)line);
    at += used < 0 ? 0 : (size_t)used;
  }
  if (line > 0 && column > 0 && at < size)
    snprintf(out + at, size - at, "%llu:", (unsigned long long)column);
}

/* File names are shown cut from the left: their end tells more. */
static void escape_file(char *out, size_t size, const char *file) {
  if (strcmp(file, "-") == 0) file = "<stdin>";
  size_t length = strlen(file), keep = 120, at = 0;
  if (length > keep) {
    file += length - keep;
    memcpy(out, "...", 3);
    at = 3;
  }
  for (; *file != '\0' && at + 5 < size; ++file) {
    unsigned char c = (unsigned char)*file;
    if (c < 0x20 || c >= 0x7f)
      at += (size_t)snprintf(out + at, size - at, "\\x%02x", c);
    else
      out[at++] = (char)c;
  }
  out[at] = '\0';
}

polyad_status pd_fail_at(polyad_context *context, polyad_status status, const char *file,
                         uint64_t line, uint64_t column, const char *format, ...) {
  if (context == NULL || context->error_status != POLYAD_OK) return status;
  context->error_status = status;
  context->error_line = line;
  context->error_column = column;
  escape_file(context->error_file, sizeof context->error_file, file);
  char place[320];
  write_place(place, sizeof place, context->error_file, line, column);
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(context->error_message, sizeof context->error_message, "%s error: %s", place, text);
  bound_message(context->error_message);
  return status;
}

polyad_status pd_fail_memory(polyad_context *context, uint64_t bytes) {
  char text[32];
  return pd_fail(context, POLYAD_OUT_OF_MEMORY, "out of memory: the system has no %s left",
                 pd_bytes_text(text, bytes));
}

const char *polyad_last_error(const polyad_context *context) { return context->error_message; }

polyad_error polyad_last_error_record(const polyad_context *context) {
  return (polyad_error){.status = context->error_status,
                        .message = context->error_message,
                        .file = context->error_file[0] != '\0' ? context->error_file : NULL,
                        .line = context->error_line,
                        .column = context->error_column};
}

/* Length of the valid UTF-8 sequence at the start of `s`, 0 when there is none. */
size_t pd_utf8_length(const unsigned char *s, size_t length) {
  unsigned char c = s[0];
  size_t need = c < 0x80                 ? 1
                : c >= 0xc2 && c <= 0xdf ? 2
                : (c & 0xf0) == 0xe0     ? 3
                : c >= 0xf0 && c <= 0xf4 ? 4
                                         : 0;
  if (need == 0 || need > length) return 0;
  for (size_t i = 1; i < need; ++i)
    if ((s[i] & 0xc0) != 0x80) return 0;
  bool overlong = (c == 0xe0 && s[1] < 0xa0) || (c == 0xf0 && s[1] < 0x90);
  bool no_character = (c == 0xed && s[1] >= 0xa0) || (c == 0xf4 && s[1] >= 0x90);
  return overlong || no_character ? 0 : need;
}

/* The same of a character that can be shown and is not ASCII. U+0080 to U+009F are control
 * characters, and U+00A0 looks like a blank. */
static size_t shown_sequence(const unsigned char *s, size_t length) {
  return s[0] < 0x80 || (s[0] == 0xc2 && length > 1 && s[1] <= 0xa0) ? 0
                                                                     : pd_utf8_length(s, length);
}

const char *pd_quote(char out[PD_QUOTE_BYTES], const void *bytes, size_t length) {
  const unsigned char *s = bytes;
  size_t at = 0, shown = 0;
  out[at++] = '\'';
  while (shown < length && shown < 40) {
    unsigned char c = s[shown];
    size_t sequence = shown_sequence(s + shown, length - shown);
    if (c >= 0x20 && c < 0x7f && c != '\\') {
      out[at++] = (char)c;
      ++shown;
    } else if (sequence > 0) {
      memcpy(out + at, s + shown, sequence);
      at += sequence;
      shown += sequence;
    } else {
      at += (size_t)snprintf(out + at, 5, "\\x%02x", c);
      ++shown;
    }
  }
  if (shown < length) {
    memcpy(out + at, "...", 3);
    at += 3;
  }
  out[at++] = '\'';
  out[at] = '\0';
  return out;
}
