#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at `s`; 0 when there is none. */
static size_t sequence(const unsigned char *s) {
  unsigned char c = s[0];
  size_t need = c >= 0xc2 && c <= 0xdf   ? 2
                : (c & 0xf0) == 0xe0     ? 3
                : c >= 0xf0 && c <= 0xf4 ? 4
                                         : 0;
  for (size_t i = 1; i < need; ++i)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] >= 0xa0)) return 0;
  if ((c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] >= 0x90)) return 0;
  return c == 0xc2 && s[1] <= 0xa0 ? 0 : need;
}

const char *cli_quote(char out[CLI_QUOTE_BYTES], const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  size_t at = 0, shown = 0, length = strlen(text);
  out[at++] = '\'';
  while (shown < length && shown < 40) {
    size_t count = s[shown] < 0x80 ? 0 : sequence(s + shown);
    if (s[shown] >= 0x20 && s[shown] < 0x7f) {
      out[at++] = (char)s[shown++];
    } else if (count > 0) {
      memcpy(out + at, s + shown, count);
      at += count;
      shown += count;
    } else {
      at += (size_t)snprintf(out + at, 5, "\\x%02x", s[shown++]);
    }
  }
  if (shown < length) at += (size_t)snprintf(out + at, 4, "...");
  out[at++] = '\'';
  out[at] = '\0';
  return out;
}

const char *cli_bytes(char out[32], uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = (double)bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit)
    value /= 1024;
  snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return out;
}

static void print_error(const char *format, va_list arguments) {
  fputs("polyad: error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
}

int cli_usage_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_error(format, arguments);
  va_end(arguments);
  return 2;
}

int cli_failure(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_error(format, arguments);
  va_end(arguments);
  return 1;
}

int cli_library_failure(const polyad_context *context) {
  polyad_error error = polyad_last_error_record(context);
  const char *text = error.message[0] != '\0' ? error.message : polyad_status_string(error.status);
  /* An error with a place says "FILE: error: …" itself. */
  fprintf(stderr, "polyad: %s%s\n", error.file == NULL ? "error: " : "", text);
  return 1;
}

int cli_width(const char *text) {
  int width = 0;
  for (; *text != '\0'; ++text)
    width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}
