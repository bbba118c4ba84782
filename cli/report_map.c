#include "report_map.h"
#include "report_borders.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells along the longer side, units of the picture per cell, levels of colour, room for labels. */
enum { CELLS = 64, UNITS = 5, LEVELS = 8, LEFT = 72, BELOW = 24, ABOVE = 6, ASIDE = 10 };
/* The share of the strongest cell below which nothing is shown. */
static const double faint = 0.01;

struct weighed {
  double at, mass;
};

static int compare(const void *a, const void *b) {
  double x = ((const struct weighed *)a)->at, y = ((const struct weighed *)b)->at;
  return x < y ? -1 : x > y;
}

/* The interval without half a per cent of the mass at either end, a little widened. */
static bool find_frame(const double *at, const double *mass, uint64_t count, double *first,
                       double *span) {
  struct weighed *places = malloc(count * sizeof *places);
  double total = 0, sum = 0;
  if (places == NULL) return false;
  for (uint64_t i = 0; i < count; ++i) {
    places[i] = (struct weighed){at[i], isfinite(mass[i]) ? mass[i] : 0};
    total += places[i].mass;
  }
  qsort(places, count, sizeof *places, compare);
  double low = places[0].at, high = places[count - 1].at;
  bool begun = false;
  for (uint64_t i = 0; i < count && total > 0; ++i) {
    sum += places[i].mass;
    if (!begun && sum >= 0.005 * total) {
      low = places[i].at;
      begun = true;
    }
    if (sum >= 0.995 * total) {
      high = places[i].at;
      break;
    }
  }
  free(places);
  double margin = fmax(0.03 * (high - low), 1e-4);
  *first = low - margin;
  *span = high - low + 2 * margin;
  return true;
}

/* The cell of a place; -1 outside of the frame. */
static int row_of(const struct cli_map *map, double north) {
  double share = (north - map->south) / map->height;
  return share >= 0 && share < 1 ? (int)(share * map->rows) : -1;
}

static int column_of(const struct cli_map *map, double east) {
  double share = (east - map->west) / map->width;
  return share >= 0 && share < 1 ? (int)(share * map->columns) : -1;
}

static uint64_t index_at(const polyad_tensor *tensor, int mode, uint64_t k) {
  const void *indices = polyad_tensor_indices(tensor, mode);
  return polyad_tensor_index_bytes(tensor, mode) == 8 ? ((const uint64_t *)indices)[k]
                                                      : ((const uint32_t *)indices)[k];
}

/* Longitudes of an axis of its own, or of pairs. */
static const double *eastern(const struct cli_map *map) {
  return map->north == map->east ? map->east->east : map->east->at;
}

/* Marks the cells that have data: nonzeros, or for pairs without a tensor every place. */
static void mark(struct cli_map *map, const polyad_tensor *tensor) {
  const double *north = map->north->at, *east = eastern(map);
  bool pairs = map->north == map->east;
  uint64_t count = tensor != NULL ? polyad_tensor_nnz(tensor) : pairs ? map->north->length : 0;
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t i = tensor != NULL ? index_at(tensor, map->north->mode, k) : k;
    uint64_t j = tensor != NULL ? index_at(tensor, map->east->mode, k) : k;
    int row = row_of(map, north[i]), column = column_of(map, east[j]);
    if (row >= 0 && column >= 0) map->has_data[row * map->columns + column] = true;
  }
}

bool cli_map_make(struct cli_map *map, const struct cli_axis *north, const struct cli_axis *east,
                  const double *mass_north, const double *mass_east, const polyad_tensor *tensor) {
  *map = (struct cli_map){.north = north, .east = east};
  if (!find_frame(north->at, mass_north, north->length, &map->south, &map->height) ||
      !find_frame(eastern(map), mass_east, east->length, &map->west, &map->width))
    return false;
  /* A degree of longitude is shorter than one of latitude, by the cosine of the latitude. */
  double middle = map->south + map->height / 2;
  double across = map->width * fmax(cos(middle * 3.14159265358979 / 180), 0.05);
  double cell = fmax(across, map->height) / CELLS;
  map->columns = (int)fmax(ceil(across / cell), 4);
  map->rows = (int)fmax(ceil(map->height / cell), 4);
  size_t cells = (size_t)map->rows * (size_t)map->columns;
  map->has_data = calloc(cells, sizeof *map->has_data);
  map->strength = calloc(cells, sizeof *map->strength);
  if (map->has_data == NULL || map->strength == NULL) {
    cli_map_free(map);
    return false;
  }
  mark(map, tensor);
  return true;
}

void cli_map_free(struct cli_map *map) {
  free(map->has_data);
  free(map->strength);
  *map = (struct cli_map){0};
}

/* Sums a component into the cells. Of two axes a cell's strength is the product of what lies in its
 * row and in its column. */
static bool sum_cells(struct cli_map *map, const double *north, const double *east) {
  int cells = map->rows * map->columns;
  memset(map->strength, 0, (size_t)cells * sizeof *map->strength);
  if (map->north == map->east) {
    for (uint64_t i = 0; i < map->north->length; ++i) {
      int row = row_of(map, map->north->at[i]), column = column_of(map, map->north->east[i]);
      if (row >= 0 && column >= 0) map->strength[row * map->columns + column] += north[i];
    }
    return true;
  }
  double *rows = calloc((size_t)map->rows + (size_t)map->columns, sizeof *rows);
  if (rows == NULL) return false;
  double *columns = rows + map->rows;
  for (uint64_t i = 0; i < map->north->length; ++i) {
    int row = row_of(map, map->north->at[i]);
    if (row >= 0) rows[row] += north[i];
  }
  for (uint64_t i = 0; i < map->east->length; ++i) {
    int column = column_of(map, map->east->at[i]);
    if (column >= 0) columns[column] += east[i];
  }
  for (int k = 0; k < cells; ++k)
    map->strength[k] = rows[k / map->columns] * columns[k % map->columns];
  free(rows);
  return true;
}

/* Adds a cell to a path. The first row of cells is the southernmost. */
static void add_cell(struct cli_html *html, const struct cli_map *map, int cell) {
  int x = LEFT + cell % map->columns * UNITS;
  int y = ABOVE + (map->rows - 1 - cell / map->columns) * UNITS;
  cli_html_print(html, "M%d %dh%dv%dh-%dz", x, y, UNITS, UNITS, UNITS);
}

static void refer(struct cli_html *html, const struct cli_map *map, const char *what) {
  cli_html_print(html, "<use href=\"#%s-%d-%d\"/>", what, map->north->mode + 1,
                 map->east->mode + 1);
}

/* All places with data. */
static void draw_places(struct cli_html *html, struct cli_map *map) {
  if (map->ground_drawn) {
    refer(html, map, "places");
    return;
  }
  cli_html_print(html, "<path class=\"places\" id=\"places-%d-%d\" d=\"", map->north->mode + 1,
                 map->east->mode + 1);
  for (int k = 0; k < map->rows * map->columns; ++k)
    if (map->has_data[k]) add_cell(html, map, k);
  cli_html_raw(html, "\"/>");
}

/* Over the cells, so that a line in a strong one is seen. */
static void draw_borders(struct cli_html *html, struct cli_map *map) {
  if (map->borders == NULL) return;
  if (map->ground_drawn) {
    refer(html, map, "borders");
    return;
  }
  struct cli_borders_frame frame = {map->west, map->south, map->width,           map->height,
                                    LEFT,      ABOVE,      map->columns * UNITS, map->rows * UNITS};
  cli_html_print(html, "<g id=\"borders-%d-%d\">", map->north->mode + 1, map->east->mode + 1);
  cli_borders_draw(html, map->borders, &frame);
  cli_html_raw(html, "</g>");
}

/* Cells by level of strength: a level is the square root of the share of the strongest cell, so
 * that weak cells are seen beside strong ones. One path for each level and sign. */
static void draw_cells(struct cli_html *html, const struct cli_map *map, double most) {
  for (int level = 1; level <= LEVELS; ++level)
    for (int negative = 0; negative < 2; ++negative) {
      bool begun = false;
      for (int k = 0; k < map->rows * map->columns; ++k) {
        double share = fabs(map->strength[k]) / most;
        if (!(share > faint) || (map->strength[k] < 0) != negative) continue;
        if ((int)fmin(ceil(LEVELS * sqrt(share)), LEVELS) != level) continue;
        if (!begun)
          cli_html_print(html, "<path class=\"%s\" opacity=\"%.2f\" d=\"",
                         negative ? "minus" : "plus", 0.15 + 0.85 * level / LEVELS);
        begun = true;
        add_cell(html, map, k);
      }
      if (begun) cli_html_raw(html, "\"/>");
    }
}

static void draw_degrees(struct cli_html *html, double degrees, const char *sides) {
  cli_html_print(html, "%.4g°&#8239;%c", fabs(degrees), degrees < 0 ? sides[1] : sides[0]);
}

/* Degrees at a quarter, half and three quarters of each side. */
static void draw_grid(struct cli_html *html, const struct cli_map *map) {
  int right = LEFT + map->columns * UNITS, bottom = ABOVE + map->rows * UNITS;
  cli_html_print(html, "<path class=\"rule\" d=\"M%d %dH%dV%dH%dz\"/>", LEFT, ABOVE, right, bottom,
                 LEFT);
  for (int k = 1; k < 4; ++k) {
    double y = bottom - (bottom - ABOVE) * k / 4.0, x = LEFT + (right - LEFT) * k / 4.0;
    cli_html_print(html, "<path class=\"rule\" d=\"M%d %.1fH%d\"/>", LEFT, y, right);
    cli_html_print(html, "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 4,
                   y + 5);
    draw_degrees(html, map->south + map->height * k / 4, "NS");
    cli_html_raw(html, "</text>");
    if (k == 2 && right - LEFT < 240) continue; /* no room for three labels */
    cli_html_print(html, "<path class=\"rule\" d=\"M%.1f %dV%d\"/>", x, ABOVE, bottom);
    cli_html_print(html, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x,
                   bottom + 18);
    draw_degrees(html, map->west + map->width * k / 4, "EW");
    cli_html_raw(html, "</text>");
  }
}

/* The centre of a cell in words. */
static void say_place(struct cli_html *html, const struct cli_map *map, int cell) {
  int row = cell / map->columns, column = cell % map->columns;
  draw_degrees(html, map->south + map->height * (row + 0.5) / map->rows, "NS");
  cli_html_raw(html, ", ");
  draw_degrees(html, map->west + map->width * (column + 0.5) / map->columns, "EW");
}

void cli_map_draw(struct cli_html *html, struct cli_map *map, const double *north,
                  const double *east) {
  if (!sum_cells(map, north, east)) {
    html->failed = true;
    return;
  }
  int strongest = 0;
  for (int k = 1; k < map->rows * map->columns; ++k)
    if (fabs(map->strength[k]) > fabs(map->strength[strongest])) strongest = k;
  double most = fabs(map->strength[strongest]);
  cli_html_print(html,
                 "<svg class=\"map\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Map of places",
                 LEFT + map->columns * UNITS + ASIDE, ABOVE + map->rows * UNITS + BELOW);
  if (most > 0) {
    cli_html_raw(html, "; the strongest is near ");
    say_place(html, map, strongest);
  }
  cli_html_raw(html, "\">");
  draw_places(html, map);
  if (most > 0) draw_cells(html, map, most);
  draw_borders(html, map);
  map->ground_drawn = true;
  draw_grid(html, map);
  cli_html_raw(html, "</svg><p class=\"largest\">");
  if (most > 0) {
    cli_html_raw(html, "Strongest near ");
    say_place(html, map, strongest);
    cli_html_raw(html, ". Grey: all places with data.</p>");
  } else {
    cli_html_raw(html, "All entries are zero.</p>");
  }
}
