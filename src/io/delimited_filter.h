/* Which rows of delimited text are taken: conditions on columns, and what becomes of rows that lack
 * something. */
#ifndef PD_DELIMITED_FILTER_H
#define PD_DELIMITED_FILTER_H

#include "io/delimited_columns.h"

enum { PD_FILTER_CONDITIONS = 32 };

/** A condition on a field: COLUMN=TEXT, or COLUMN<BOUND and COLUMN>BOUND with a number or a time.
 */
struct pd_condition {
  size_t column;
  char sign; /* '=', '<' or '>' */
  const char *text;
  size_t length;
  bool timed; /* the bound is a time */
  double bound;
};

struct pd_filter {
  int count; /* conditions, all of which must hold */
  struct pd_condition condition[PD_FILTER_CONDITIONS];
  polyad_missing missing;
  const struct pd_columns_plan *plan;
  uint64_t skipped; /* rows that lacked something */
};

/** Reads the conditions of the options; the header is the row that `rows` holds. The options' text
 *  and the plan must stay. */
polyad_status pd_filter_make(polyad_context *context, struct pd_rows *rows,
                             const polyad_read_options *options, const struct pd_columns_plan *plan,
                             struct pd_filter *filter);

/** Whether there is anything to ask of a row. */
bool pd_filter_asks(const struct pd_filter *filter);

/** Whether the row that `rows` holds is taken. */
polyad_status pd_filter_row(struct pd_filter *filter, struct pd_rows *rows, bool *taken);

#endif
