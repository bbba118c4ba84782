#include "report_html.h"
#include "text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_html_free(struct cli_html *html) {
  free(html->text);
  *html = (struct cli_html){0};
}

static void add(struct cli_html *html, const char *text, size_t length) {
  if (html->failed) return;
  if (length >= html->room - html->length) {
    size_t room = 2 * (html->room + length) + 4096;
    char *grown = realloc(html->text, room);
    if (grown == NULL) {
      html->failed = true;
      return;
    }
    html->text = grown;
    html->room = room;
  }
  memcpy(html->text + html->length, text, length);
  html->length += length;
  html->text[html->length] = '\0';
}

void cli_html_raw(struct cli_html *html, const char *markup) { add(html, markup, strlen(markup)); }

void cli_html_print(struct cli_html *html, const char *format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text)
    html->failed = true;
  else
    add(html, text, (size_t)length);
}

/* The character at `s`, of which `left` bytes follow: how many bytes it takes, or 0 where it has no
 * place on a page. */
static size_t printable(const char *s, size_t left) {
  unsigned char bytes[5] = {0};
  memcpy(bytes, s, left < 4 ? left : 4);
  if (bytes[0] < 0x80) return bytes[0] >= 0x20 && bytes[0] != 0x7f;
  if (bytes[0] == 0xc2 && bytes[1] == 0xa0) return 2; /* a space that does not break */
  return cli_utf8_bytes(bytes);
}

bool cli_html_text(struct cli_html *html, const char *text, size_t length, size_t most) {
  for (size_t shown = 0; length > 0; ++shown) {
    if (shown == most) {
      cli_html_raw(html, "…");
      return false;
    }
    size_t bytes = printable(text, length);
    if (bytes == 0)
      cli_html_raw(html, "\xef\xbf\xbd");
    else if (*text == '&')
      cli_html_raw(html, "&amp;");
    else if (*text == '<')
      cli_html_raw(html, "&lt;");
    else if (*text == '>')
      cli_html_raw(html, "&gt;");
    else if (*text == '"')
      cli_html_raw(html, "&quot;");
    else if (*text == '\'')
      cli_html_raw(html, "&#39;");
    else
      add(html, text, bytes);
    text += bytes > 0 ? bytes : 1;
    length -= bytes > 0 ? bytes : 1;
  }
  return true;
}

void cli_html_string(struct cli_html *html, const char *text) {
  (void)cli_html_text(html, text, strlen(text), SIZE_MAX);
}

/* Digits with a comma between thousands. */
static void add_thousands(struct cli_html *html, const char *digits, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    if (k > 0 && (count - k) % 3 == 0) add(html, ",", 1);
    add(html, digits + k, 1);
  }
}

void cli_html_count(struct cli_html *html, uint64_t value) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
  add_thousands(html, digits, (size_t)length);
}

void cli_html_real(struct cli_html *html, double value) {
  char text[64];
  if (!isfinite(value)) {
    cli_html_raw(html, isnan(value) ? "not a number" : value > 0 ? "∞" : "−∞");
    return;
  }
  double magnitude = fabs(value);
  snprintf(text, sizeof text, "%.3e", magnitude);
  int exponent = magnitude > 0 ? atoi(strchr(text, 'e') + 1) : 0;
  if (value < 0) cli_html_raw(html, "−");
  if (exponent < -4 || exponent > 8) {
    char *e = strchr(text, 'e');
    *e = '\0';
    cli_html_print(html, "%s × 10", text);
    static const char *const high[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (exponent < 0) cli_html_raw(html, "⁻");
    int size = abs(exponent);
    if (size >= 100) cli_html_raw(html, high[size / 100]);
    if (size >= 10) cli_html_raw(html, high[size / 10 % 10]);
    cli_html_raw(html, high[size % 10]);
    return;
  }
  snprintf(text, sizeof text, "%.*f", exponent > 3 ? 0 : 3 - exponent, magnitude);
  size_t whole = strcspn(text, "."), all = strlen(text);
  if (whole < all) /* zeros at the end say nothing */
    while (text[all - 1] == '0' || text[all - 1] == '.') {
      bool at_point = text[--all] == '.';
      if (at_point) break;
    }
  add_thousands(html, text, whole);
  if (all > whole) add(html, text + whole, all - whole);
}

void cli_html_sizes(struct cli_html *html, const uint64_t *sizes, int order) {
  for (int n = 0; n < order; ++n) {
    if (n > 0) cli_html_raw(html, " × ");
    cli_html_count(html, sizes[n]);
  }
}

void cli_html_percent(struct cli_html *html, double share) {
  double percent = 100 * share;
  if (!isfinite(percent))
    cli_html_raw(html, "–");
  else if (fabs(percent) < 0.05)
    cli_html_raw(html, percent == 0 ? "0 %" : "&lt; 0.1 %");
  else
    cli_html_print(html, "%s%.1f %%", percent < 0 ? "−" : "", fabs(percent));
}
