/* Rows of delimited text (RFC 4180), one after the other, in bounded memory. */
#ifndef PD_DELIMITED_ROWS_H
#define PD_DELIMITED_ROWS_H

#include "io/input.h"

enum { PD_ROW_BYTES = 16 << 20, PD_ROW_FIELDS = 4096 }; /* most of one row */

/** A field as it stands in the text, without the quotes around it. */
struct pd_field {
  const char *text;
  size_t length;
  bool doubled; /* has quotes that stand twice: see pd_rows_plain() */
};

struct pd_rows {
  polyad_context *context;
  struct pd_input *input;
  char delimiter;
  char *buffer;
  size_t capacity, begin, end; /* unread text lies in [begin, end) */
  uint64_t before;             /* bytes of the input in front of the buffer */
  bool at_end;                 /* nothing follows `end` */
  bool started;
  uint64_t line;  /* of the row, from 1 */
  uint64_t lines; /* that the row and those before it take */
  size_t row;     /* where the row begins in the buffer */
  struct pd_field *field;
  size_t fields; /* of the row */
  char *plain;   /* of pd_rows_plain() */
  size_t plain_capacity;
};

polyad_status pd_rows_open(polyad_context *context, struct pd_input *input, char delimiter,
                           struct pd_rows *rows);
void pd_rows_close(struct pd_rows *rows);

/** The next row that is not blank; *found false at the end. Fields are valid until the next call.
 */
polyad_status pd_rows_next(struct pd_rows *rows, bool *found);

/** Reads more text behind `end`, into a buffer of at least `capacity` bytes; what was read before
 *  may move, `begin` stands for the same byte. Only after the first row. */
polyad_status pd_rows_fill(struct pd_rows *rows, size_t capacity);

/** The field with doubled quotes made single; valid until the next call. */
polyad_status pd_rows_plain(struct pd_rows *rows, struct pd_field *field);

/** Records an error at a place in the row. */
polyad_status pd_rows_fail(const struct pd_rows *rows, polyad_status status, const char *place,
                           const char *format, ...) PD_PRINTF(4, 5);

#endif
