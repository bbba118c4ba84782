/* Which columns of delimited text are modes, which holds the values. */
#ifndef PD_DELIMITED_COLUMNS_H
#define PD_DELIMITED_COLUMNS_H

#include "io/delimited_rows.h"
#include "tensor/tensor.h"
#include <polyad/io.h>

/** A column that is a mode. `grid` makes numbers coarser: round to `decimals` digits, or the
 *  lower edge of bins of width `step` / 10^decimals. */
struct pd_mode_column {
  size_t column;
  enum { PD_GRID_NONE, PD_GRID_ROUND, PD_GRID_BIN } grid;
  int decimals;
  int64_t step;
};

struct pd_columns_plan {
  size_t count; /* columns of the header */
  int order;
  struct pd_mode_column mode[POLYAD_MAX_ORDER];
  char *name[POLYAD_MAX_ORDER]; /* NULL where the header has none */
  size_t value;                 /* column of the values, or SIZE_MAX: rows are counted */
};

/** Reads the header, the row that `rows` holds. */
polyad_status pd_columns_plan_make(polyad_context *context, struct pd_rows *rows,
                                   const polyad_read_options *options,
                                   struct pd_columns_plan *plan);
void pd_columns_plan_clear(polyad_context *context, struct pd_columns_plan *plan);

/** Label of a number on a column's grid, such as "40.7"; false when it is too large. */
bool pd_grid_label(const struct pd_mode_column *mode, double value, char out[32], size_t *length);

#endif
