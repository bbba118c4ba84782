/* Text of an HTML page that grows in memory: markup as it stands, everything else escaped. */
#ifndef CLI_REPORT_HTML_H
#define CLI_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Starts as zeros; `text` belongs to it and is freed by cli_html_free(). After `failed` (out of
 *  memory) nothing more is added. */
struct cli_html {
  char *text;
  size_t length, room;
  bool failed;
};

void cli_html_free(struct cli_html *html);

/** Adds markup. Only words of the program itself go here. */
void cli_html_raw(struct cli_html *html, const char *markup);
/** Adds markup with numbers and with words of the program itself, never with text from outside. */
void cli_html_print(struct cli_html *html, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Adds text from outside, for an element or a quoted attribute: what markup is made of is escaped;
 *  control characters, and bytes that are not UTF-8, become U+FFFD. At most `most` characters are
 *  shown, an ellipsis standing for the rest. Returns whether all of it was shown. */
bool cli_html_text(struct cli_html *html, const char *text, size_t length, size_t most);
/** The same of a whole string that ends with NUL. */
void cli_html_string(struct cli_html *html, const char *text);

/** A real number as people read it: four significant digits, thousands separated, a true minus. */
void cli_html_real(struct cli_html *html, double value);
/** A count with its thousands separated by commas. */
void cli_html_count(struct cli_html *html, uint64_t value);
/** Lengths joined by multiplication signs: 365 × 16 × 3. */
void cli_html_sizes(struct cli_html *html, const uint64_t *sizes, int order);
/** A share of one in percent. */
void cli_html_percent(struct cli_html *html, double share);

#endif
