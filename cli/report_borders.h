/* Lines of a GeoJSON object (coasts, borders, districts), as inline SVG. */
#ifndef CLI_REPORT_BORDERS_H
#define CLI_REPORT_BORDERS_H

#include "json.h"
#include "report_html.h"

/** A frame in degrees, and where it lies in the picture. */
struct cli_borders_frame {
  double west, south, width, height;
  double left, above, across, down;
};

/** Whether an object is of a kind that GeoJSON has. */
bool cli_borders_known(const cJSON *object);
/** Adds the path of all lines that lie in the frame, cut off at its edges. */
void cli_borders_draw(struct cli_html *html, const cJSON *object,
                      const struct cli_borders_frame *frame);

#endif
