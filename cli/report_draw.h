/* Pictures of the numbers along one mode, as HTML tables and inline SVG. Each says in words what it
 * shows, for those who hear the page. */
#ifndef CLI_REPORT_DRAW_H
#define CLI_REPORT_DRAW_H

#include "report_axis.h"
#include "report_html.h"

/** Adds a label for an element's content, cut after `most` characters. */
void cli_draw_label(struct cli_html *html, const struct cli_axis *axis, uint64_t index,
                    size_t most);
/** Adds a heading cell of a table row: a label, in full as its title where it is cut. */
void cli_draw_row_head(struct cli_html *html, const struct cli_axis *axis, uint64_t index);
/** Name of a mode, or its number from 1. */
void cli_draw_mode_name(struct cli_html *html, const struct cli_axis *axis);

/** The strongest entries as bars with their labels; `what` says in words what they are. */
void cli_draw_bars(struct cli_html *html, const struct cli_axis *axis, const double *values,
                   int top, const char *what);
/** All numbers in the axis's order: a line, or columns; `values` that are NaN are left out. */
void cli_draw_series(struct cli_html *html, const struct cli_axis *axis, const double *values,
                     const char *what);
/** Points (x[k], y[k]) with x rising, such as the fit of each iteration. */
struct cli_trace {
  const double *x, *y; /* y that are not finite are left out */
  int count;
  const char *what, *unit; /* in words: "Fit", "iteration" */
  double mark;             /* the x of an upright line; NaN: none */
};
/** A line through them; nothing where no y is finite. */
void cli_draw_trace(struct cli_html *html, const struct cli_trace *trace);

#endif
