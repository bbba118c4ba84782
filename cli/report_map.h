/* Maps of places, as inline SVG: over all places of the data in grey, those of one component. */
#ifndef CLI_REPORT_MAP_H
#define CLI_REPORT_MAP_H

#include "json.h"
#include "report_axis.h"
#include "report_html.h"

/** A map: a frame in degrees, divided into cells. Made by cli_map_make(), freed by
 *  cli_map_free(). */
struct cli_map {
  const struct cli_axis *north, *east; /* one axis of pairs, or two of degrees */
  double south, west, height, width;   /* of the frame, in degrees */
  int rows, columns;
  bool *has_data;       /* of each cell: whether data lies in it */
  double *strength;     /* of each cell in the component being drawn */
  const cJSON *borders; /* GeoJSON of lines to draw, or NULL */
  bool ground_drawn; /* the first map of a page has what is below and above, the others refer to it
                      */
};

/** Lays out a map. `mass_north` and `mass_east` are how much each index of the axes weighs over all
 *  components (for pairs of degrees, both the same): the frame holds 99 % of it, so that a few far
 *  places do not shrink the rest. `tensor` (may be NULL) tells which places have data. False: out
 * of memory. */
bool cli_map_make(struct cli_map *map, const struct cli_axis *north, const struct cli_axis *east,
                  const double *mass_north, const double *mass_east, const polyad_tensor *tensor);
void cli_map_free(struct cli_map *map);

/** Draws a component: columns of the two factors, or one column for places that are pairs (then
 *  `east` is NULL). */
void cli_map_draw(struct cli_html *html, struct cli_map *map, const double *north,
                  const double *east);

#endif
