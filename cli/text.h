/* Text for people: escaping what came from outside, sizes, messages; and the C library's headers,
 * which files that include this one need not name. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <inttypes.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_QUOTE_BYTES 168

/** Exit status when the reader of standard output has gone, as after SIGPIPE. */
enum { CLI_PIPE_CLOSED = 128 + 13 };

/** Makes bytes from outside fit for a terminal: at most 40 of them, control bytes and bytes that
 *  are not UTF-8 escaped, in single quotes. Returns `out`. */
const char *cli_quote(char out[CLI_QUOTE_BYTES], const char *text);

/** Bytes of the UTF-8 character at `s` that is not ASCII; 0 where there is none, or a control
 *  character. `s` ends with a byte that is not part of a character, such as NUL. */
size_t cli_utf8_bytes(const unsigned char *s);

/** "1.5 GiB" */
const char *cli_bytes(char out[32], uint64_t bytes);

/** Prints "polyad: error: TEXT" and returns 2: wrong usage. */
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Prints "polyad: error: TEXT" and returns 1: failure. */
int cli_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Prints the context's last error as "polyad: PLACE error: TEXT" and returns 1. */
int cli_library_failure(const polyad_context *context);
/** The exit status that goes with a status of the library, after its error was printed: 0 when all
 *  is well, 2 where what was asked for cannot be, such as an option's value, else 1. */
int cli_library_status(const polyad_context *context, polyad_status status);
/** Prints "10 x 20 x 30". */
void cli_print_dims(const uint64_t *dims, int order);

/** Whether a word is one of a list that blanks separate. */
bool cli_has_word(const char *list, const char *word);

/** Number of changes (of, in or out a character, or a swap of neighbours) between two short words,
 *  whatever the case of their letters; large for long ones. */
int cli_distance(const char *a, const char *b);

/** Columns that a UTF-8 text takes on a terminal (one per character). */
int cli_width(const char *text);

#endif
