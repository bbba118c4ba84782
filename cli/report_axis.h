/* How a mode is drawn: in which order its indices stand, and at which places. */
#ifndef CLI_REPORT_AXIS_H
#define CLI_REPORT_AXIS_H

#include <polyad/polyad.h>
#include <stdbool.h>
#include <stddef.h>

enum cli_axis_kind {
  CLI_AXIS_NAMES,   /* names in no order: the strongest entries as bars */
  CLI_AXIS_LINE,    /* times or decimal numbers: a line */
  CLI_AXIS_COLUMNS, /* whole numbers, which may be codes: a column for each */
  CLI_AXIS_PLACES   /* pairs "latitude, longitude": a map */
};

/** The axis of one mode. Made by cli_axis_make(), freed by cli_axis_free(). */
struct cli_axis {
  int mode;
  uint64_t length;
  const polyad_tensor *outline; /* NULL: no labels */
  enum cli_axis_kind kind;
  bool is_number;   /* labels are plain numbers */
  double *at;       /* place of each index on the axis (latitude of a pair) */
  double *east;     /* longitude of each index of pairs, else NULL */
  uint64_t *sorted; /* indices by place; NULL for names and places */
};

/** Reads the labels of a mode: dates (2024-05-01, 2024-05, 2024-W18, with or without a time of
 * day), times of day, English names of weekdays and months, numbers, or pairs of degrees; anything
 * else makes them names. False: out of memory. */
bool cli_axis_make(struct cli_axis *axis, const polyad_tensor *outline, int mode, uint64_t length);
void cli_axis_free(struct cli_axis *axis);

/** The label of an index, not ended by NUL; where there are no labels, its number from 1, written
 *  into `room`. */
const char *cli_axis_label(const struct cli_axis *axis, uint64_t index, char room[24],
                           size_t *length);
/** Whether two modes are the latitude and the longitude of places, by their names (latitude and
 *  longitude, lat and lon, pickup_lat and pickup_lng, ...) and their numbers. */
bool cli_axis_is_map(const struct cli_axis *north, const struct cli_axis *east);

#endif
