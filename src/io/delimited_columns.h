/* Which columns of delimited text are modes, which holds the values. */
#ifndef PD_DELIMITED_COLUMNS_H
#define PD_DELIMITED_COLUMNS_H

#include "io/delimited_number.h"
#include "io/delimited_rows.h"
#include "io/delimited_zone.h"
#include "tensor/tensor.h"
#include <polyad/io.h>

/** A column that is a mode. `grid` makes labels coarser: numbers are rounded to `decimals` digits,
 * or become the lower edge of bins of width `step` / 10^decimals; times become hours, dates and so
 *  on. */
struct pd_mode_column {
  size_t column;
  enum { PD_GRID_NONE, PD_GRID_ROUND, PD_GRID_BIN, PD_GRID_TIME } grid;
  int decimals;
  int64_t step;
  enum pd_time_unit unit;
  enum pd_date_order date_order;
};

struct pd_columns_plan {
  size_t count; /* columns of the header */
  int order;
  struct pd_mode_column mode[POLYAD_MAX_ORDER];
  char *name[POLYAD_MAX_ORDER]; /* NULL where the header has none */
  size_t value;                 /* column of the values, or SIZE_MAX: rows are counted */
  polyad_numbers numbers;
  struct pd_clocks clocks;
  uint32_t currency; /* of the values that were read; 0: none had one */
};

/** Reads the header, the row that `rows` holds. */
polyad_status pd_columns_plan_make(polyad_context *context, struct pd_rows *rows,
                                   const polyad_read_options *options,
                                   struct pd_columns_plan *plan);
void pd_columns_plan_clear(polyad_context *context, struct pd_columns_plan *plan);

/** The column with this name, or SIZE_MAX. */
size_t pd_columns_find(struct pd_rows *rows, const char *name, size_t length);
/** Fails for a name that no column has, and lists those that there are. */
polyad_status pd_columns_fail_missing(struct pd_rows *rows, const char *name, size_t length);

/** Label of a field on the grid of a mode's column, such as "40.7" or "2024-03-09". On failure
 * `why` (NULL: not wanted), of PD_GRID_WHY bytes, gets what is wrong and what was expected. */
bool pd_grid_label(const struct pd_columns_plan *plan, int mode, const char *text,
                   size_t text_length, char out[32], size_t *length, char *why);
enum { PD_GRID_WHY = 240 };

#endif
