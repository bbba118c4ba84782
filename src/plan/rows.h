/* The nonzeros of a plan row by row of each mode, on the host: for methods that solve for one row
 * of a factor after the other. They are read from the plan's storage where it has them in that
 * order (polyad_format::rows); for other modes they are decoded once, and put in order. */
#ifndef PD_PLAN_ROWS_H
#define PD_PLAN_ROWS_H

#include "plan/plan.h"

struct pd_plan_rows;

/** For a plan on the CPU. Takes memory for where rows begin; if there are modes whose rows do not
 *  stand in order in the storage, for the nonzeros and, per such mode, for their order. */
polyad_status pd_plan_rows_create(polyad_context *context, const polyad_plan *plan,
                                  struct pd_plan_rows **rows);
void pd_plan_rows_destroy(polyad_context *context, struct pd_plan_rows *rows);

/** Nonzeros of row i of a mode. */
uint64_t pd_plan_row_length(const struct pd_plan_rows *rows, int mode, uint64_t i);

/** What one reader needs; its own, of zeros before the first call. */
struct pd_row_reader;
polyad_status pd_row_reader_create(polyad_context *context, struct pd_row_reader **reader);
void pd_row_reader_destroy(polyad_context *context, struct pd_row_reader *reader);

/** A part of a row. */
struct pd_row_part {
  int count;                               /* nonzeros */
  const double *value;                     /* as the plan's kernels see them */
  const uint64_t *index[POLYAD_MAX_ORDER]; /* of each mode; NULL for the row's own */
};

/** The nonzeros of row i from number `first` of the row on, as many as are decoded at once. They
 *  stand until the reader's next call. Threads may read at once, each with a reader of its own. */
struct pd_row_part pd_row_read(const struct pd_plan_rows *rows, struct pd_row_reader *reader,
                               int mode, uint64_t i, uint64_t first);

#endif
