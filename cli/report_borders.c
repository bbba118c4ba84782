#include "report_borders.h"
#include <math.h>
#include <string.h>

/* Kinds of geometries, and how many arrays lie around their lines; -1: they have none. */
static const struct {
  const char *name;
  int depth;
} geometries[] = {{"LineString", 0},   {"MultiLineString", 1}, {"Polygon", 1},
                  {"MultiPolygon", 2}, {"Point", -1},          {"MultiPoint", -1}};
/* Kinds that hold others, and under which name. */
static const struct {
  const char *name, *parts;
} holders[] = {{"FeatureCollection", "features"},
               {"Feature", "geometry"},
               {"GeometryCollection", "geometries"}};
enum {
  GEOMETRIES = sizeof geometries / sizeof *geometries,
  HOLDERS = sizeof holders / sizeof *holders
};

static const char *kind_of(const cJSON *object) {
  const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "type"));
  return kind == NULL ? "" : kind;
}

bool cli_borders_known(const cJSON *object) {
  for (int k = 0; k < GEOMETRIES; ++k)
    if (strcmp(kind_of(object), geometries[k].name) == 0) return true;
  for (int k = 0; k < HOLDERS; ++k)
    if (strcmp(kind_of(object), holders[k].name) == 0) return true;
  return false;
}

/* Longitude and latitude as shares of the frame, from its left and upper edge. */
static bool read_position(const cJSON *position, const struct cli_borders_frame *frame,
                          double at[2]) {
  const cJSON *east = cJSON_GetArrayItem(position, 0), *north = cJSON_GetArrayItem(position, 1);
  if (!cJSON_IsNumber(east) || !cJSON_IsNumber(north)) return false;
  at[0] = (east->valuedouble - frame->west) / frame->width;
  at[1] = 1 - (north->valuedouble - frame->south) / frame->height;
  return isfinite(at[0]) && isfinite(at[1]);
}

/* The part of a segment that lies in the unit square, by Liang and Barsky's rule: each side bounds
 * the share of the way at which the segment enters or leaves. False: no part does. */
static bool clip(double from[2], double to[2]) {
  double enters = 0, leaves = 1;
  for (int d = 0; d < 2; ++d) {
    double way = to[d] - from[d];
    if (way == 0) {
      if (from[d] < 0 || from[d] > 1) return false;
      continue;
    }
    double low = -from[d] / way, high = (1 - from[d]) / way;
    enters = fmax(enters, fmin(low, high));
    leaves = fmin(leaves, fmax(low, high));
  }
  if (enters > leaves) return false;
  for (int d = 0; d < 2; ++d) {
    double start = from[d], way = to[d] - from[d];
    if (enters > 0) from[d] = start + enters * way;
    if (leaves < 1) to[d] = start + leaves * way;
  }
  return true;
}

static void add_point(struct cli_html *html, const struct cli_borders_frame *frame, char letter,
                      const double at[2]) {
  cli_html_print(html, "%c%.1f %.1f", letter, frame->left + at[0] * frame->across,
                 frame->above + at[1] * frame->down);
}

static void draw_line(struct cli_html *html, const cJSON *line,
                      const struct cli_borders_frame *frame) {
  const cJSON *position;
  double before[2] = {0, 0}, at[2];
  bool any = false, joined = false; /* a position was read; the path has come to it */
  cJSON_ArrayForEach(position, line) {
    bool fine = read_position(position, frame, at);
    double from[2] = {before[0], before[1]}, to[2] = {at[0], at[1]};
    if (fine && any && clip(from, to)) {
      if (!joined) add_point(html, frame, 'M', from);
      add_point(html, frame, 'L', to);
      joined = to[0] == at[0] && to[1] == at[1];
    } else {
      joined = false;
    }
    any = fine;
    memcpy(before, at, sizeof before);
  }
}

static void draw_lines(struct cli_html *html, const cJSON *coordinates, int depth,
                       const struct cli_borders_frame *frame) {
  const cJSON *part;
  if (depth == 0) {
    draw_line(html, coordinates, frame);
    return;
  }
  cJSON_ArrayForEach(part, coordinates) { draw_lines(html, part, depth - 1, frame); }
}

static void draw_object(struct cli_html *html, const cJSON *object,
                        const struct cli_borders_frame *frame) {
  const char *kind = kind_of(object);
  for (int k = 0; k < GEOMETRIES; ++k)
    if (strcmp(kind, geometries[k].name) == 0 && geometries[k].depth >= 0)
      draw_lines(html, cJSON_GetObjectItemCaseSensitive(object, "coordinates"), geometries[k].depth,
                 frame);
  for (int k = 0; k < HOLDERS; ++k) {
    if (strcmp(kind, holders[k].name) != 0) continue;
    const cJSON *part, *parts = cJSON_GetObjectItemCaseSensitive(object, holders[k].parts);
    if (cJSON_IsObject(parts)) draw_object(html, parts, frame);
    if (!cJSON_IsArray(parts)) continue;
    cJSON_ArrayForEach(part, parts) { draw_object(html, part, frame); }
  }
}

void cli_borders_draw(struct cli_html *html, const cJSON *object,
                      const struct cli_borders_frame *frame) {
  cli_html_raw(html, "<path class=\"borders\" d=\"");
  draw_object(html, object, frame);
  cli_html_raw(html, "\"/>");
}
