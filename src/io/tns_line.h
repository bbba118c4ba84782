/* One line of FROSTT text. */
#ifndef PD_TNS_LINE_H
#define PD_TNS_LINE_H

#include "core/core.h"
#include <polyad/tensor.h>

/** Longest line in front of a comment: 16 indices and a value need far less. */
enum { PD_TNS_LONGEST_LINE = 64 << 10 };

/** What lines of a file must look like. */
struct pd_tns_form {
  int order;            /* indices on each line; 0: not known yet */
  bool pattern;         /* no value column */
  uint64_t base;        /* smallest index: 1 or 0 */
  bool single;          /* values must fit a float */
  const uint64_t *dims; /* NULL: any */
};

/** Where and why a line is wrong. */
struct pd_tns_error {
  polyad_status status;
  uint64_t column; /* byte, from 1 */
  char text[320];
};

/** Number of fields of a line. */
int64_t pd_tns_count_fields(const char *line, const char *end);

/** Parses a line with every check, for lines that the fast path does not take. `end` is where its
 *  "\n" stands. `truncated` tells that the file ends without a line end here.
 *  @param[out] index   0-based
 *  @param[out] underflow  set when a value is not zero but rounds to it
 *  @return 1 a nonzero, 0 a comment or blank line, -1 an error */
int pd_tns_parse_line(const struct pd_tns_form *form, const char *line, const char *end,
                      bool truncated, uint64_t *index, double *value, bool *underflow,
                      struct pd_tns_error *error);

#endif
