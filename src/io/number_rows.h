/* Numbers as rows of text, formatted by several threads. */
#ifndef PD_NUMBER_ROWS_H
#define PD_NUMBER_ROWS_H

#include "io/atomic_file.h"
#include "tensor/tensor.h"

/** What stands around the numbers; each text has at most 7 bytes. */
struct pd_row_style {
  const char *before;  /* the first number of a row */
  const char *between; /* two numbers of a row */
  const char *after;   /* the last number of a row */
  const char *rows;    /* between two rows */
};

/** Rows of numbers with blanks between them, on a line each. */
extern const struct pd_row_style pd_plain_rows;

/** Writes rows x columns numbers, row major. Nothing is written behind the last row. */
polyad_status pd_rows_write(polyad_context *context, struct pd_output *output, polyad_type type,
                            const void *values, uint64_t rows, uint64_t columns,
                            const struct pd_row_style *style);

#endif
