#include "text.h"
#include "events.h"
#include "progress.h"
#include "session.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 300 };

size_t cli_utf8_bytes(const unsigned char *s) {
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

bool cli_has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

const char *cli_quote(char out[CLI_QUOTE_BYTES], const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  size_t at = 0, shown = 0, length = strlen(text);
  out[at++] = '\'';
  while (shown < length && shown < 40) {
    size_t count = s[shown] < 0x80 ? 0 : cli_utf8_bytes(s + shown);
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

/* One line of at most LINE_BYTES, cut where a character ends. */
static void print_line(const char *before, const char *text) {
  char line[LINE_BYTES + 1];
  int length = snprintf(line, sizeof line, "%s%s", before, text);
  if (length > LINE_BYTES) {
    size_t end = LINE_BYTES - 3;
    while (end > 0 && ((unsigned char)line[end] & 0xc0) == 0x80)
      --end;
    memcpy(line + end, "...", 4);
  }
  cli_progress_clear();
  fprintf(stderr, "%s\n", line);
}

static void print_error(const char *format, va_list arguments) {
  char text[2 * LINE_BYTES];
  vsnprintf(text, sizeof text, format, arguments);
  cli_events_error(text);
  print_line("polyad: error: ", text);
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
  if (error.status == POLYAD_CANCELLED && cli_signal_status() != 0) return cli_signal_status();
  /* Nobody is left to read what a closed pipe should have got. */
  if (error.status == POLYAD_IO && strstr(text, strerror(EPIPE)) != NULL) return CLI_PIPE_CLOSED;
  cli_events_error(text);
  /* An error with a place says "FILE: error: …" itself. */
  print_line(error.file == NULL ? "polyad: error: " : "polyad: ", text);
  return 1;
}

int cli_library_status(const polyad_context *context, polyad_status status) {
  if (status == POLYAD_OK) return 0;
  int failed = cli_library_failure(context);
  return status == POLYAD_INVALID_ARGUMENT ? 2 : failed;
}

void cli_print_dims(const uint64_t *dims, int order) {
  for (int n = 0; n < order; ++n)
    printf("%s%llu", n > 0 ? " x " : "", (unsigned long long)dims[n]);
}

/* Not tolower(), which follows the locale. */
static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

static bool same_letter(char a, char b) { return lower(a) == lower(b); }

int cli_distance(const char *a, const char *b) {
  enum { LONGEST = 20 };
  int la = (int)strlen(a), lb = (int)strlen(b), d[LONGEST + 1][LONGEST + 1];
  if (la > LONGEST || lb > LONGEST) return LONGEST;
  for (int i = 0; i <= la; ++i)
    d[i][0] = i;
  for (int j = 0; j <= lb; ++j)
    d[0][j] = j;
  for (int i = 1; i <= la; ++i)
    for (int j = 1; j <= lb; ++j) {
      int best = d[i - 1][j - 1] + !same_letter(a[i - 1], b[j - 1]);
      if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
          d[i - 2][j - 2] + 1 < best)
        best = d[i - 2][j - 2] + 1;
      d[i][j] = best;
    }
  return d[la][lb];
}

int cli_width(const char *text) {
  int width = 0;
  for (; *text != '\0'; ++text)
    width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}
