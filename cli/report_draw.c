#include "report_draw.h"
#include "strongest.h"
#include <math.h>
#include <string.h>

/* Sizes of a chart in its own units; the page scales it. */
enum { WIDTH = 320, HEIGHT = 130, LEFT = 54, RIGHT = 312, TOP = 10, BOTTOM = 106 };
enum {
  ROW_CHARACTERS = 48,
  TICK_CHARACTERS = 12,
  TITLE_CHARACTERS = 300,
  TICKS = 5,
  BUCKETS = 500
};

void cli_draw_label(struct cli_html *html, const struct cli_axis *axis, uint64_t index,
                    size_t most) {
  char room[24];
  size_t length;
  const char *label = cli_axis_label(axis, index, room, &length);
  (void)cli_html_text(html, label, length, most);
}

void cli_draw_row_head(struct cli_html *html, const struct cli_axis *axis, uint64_t index) {
  cli_html_raw(html, "<th scope=\"row\" title=\"");
  cli_draw_label(html, axis, index, TITLE_CHARACTERS);
  cli_html_raw(html, "\"><bdi>");
  cli_draw_label(html, axis, index, ROW_CHARACTERS);
  cli_html_raw(html, "</bdi></th>");
}

void cli_draw_mode_name(struct cli_html *html, const struct cli_axis *axis) {
  const char *name =
      axis->outline == NULL ? NULL : polyad_tensor_mode_name(axis->outline, axis->mode);
  if (name == NULL || *name == '\0') {
    cli_html_print(html, "mode %d", axis->mode + 1);
    return;
  }
  cli_html_raw(html, "<bdi>");
  (void)cli_html_text(html, name, strlen(name), ROW_CHARACTERS);
  cli_html_raw(html, "</bdi>");
}

/* A bar from zero: zero is at the left, or in the middle where some numbers are negative. */
static void draw_bar(struct cli_html *html, double value, double most, bool is_signed) {
  double width = most > 0 ? (is_signed ? 50 : 100) * fabs(value) / most : 0;
  double left = !is_signed ? 0 : value < 0 ? 50 - width : 50;
  cli_html_print(html,
                 "<td class=\"bar%s\"><span class=\"%s\" style=\"margin-left:%.1f%%;width:%.1f%%\">"
                 "</span></td>",
                 is_signed ? " signed" : "", value < 0 ? "minus" : "plus", left, width);
}

void cli_draw_bars(struct cli_html *html, const struct cli_axis *axis, const double *values,
                   int top, const char *what) {
  uint64_t indices[CLI_STRONGEST_MOST];
  int count =
      cli_strongest(&(struct cli_numbers){values, POLYAD_F64, axis->length, 1}, top, indices);
  bool is_signed = false, is_long = false;
  if (count == 0) {
    cli_html_raw(html, "<p class=\"none\">All entries are zero.</p>");
    return;
  }
  for (int k = 0; k < count; ++k) {
    double magnitude = fabs(values[indices[k]]);
    is_signed = is_signed || values[indices[k]] < 0;
    is_long = is_long || magnitude < 1e-4 || magnitude >= 1e6; /* powers of ten, commas */
  }
  cli_html_raw(html, "<table class=\"bars\"><caption class=\"heard\">");
  cli_html_raw(html, what);
  cli_html_raw(html, "</caption><colgroup><col class=\"labels\"><col>");
  cli_html_raw(html, is_long ? "<col class=\"long numbers\">" : "<col class=\"numbers\">");
  cli_html_raw(html, "</colgroup><tbody>");
  for (int k = 0; k < count; ++k) {
    double value = values[indices[k]];
    cli_html_raw(html, "<tr>");
    cli_draw_row_head(html, axis, indices[k]);
    draw_bar(html, value, fabs(values[indices[0]]), is_signed);
    cli_html_raw(html, "<td class=\"number\">");
    cli_html_real(html, value);
    cli_html_raw(html, "</td></tr>\n");
  }
  cli_html_raw(html, "</tbody></table>");
}

/* The frame of a chart: the range of numbers, zero inside of it, and the scale to the picture. */
struct chart {
  double left, right; /* places at the edges */
  double least, most; /* numbers at the edges */
};

static double x_of(const struct chart *chart, double place) {
  double span = chart->right - chart->left;
  return span > 0 ? LEFT + (RIGHT - LEFT) * (place - chart->left) / span : (LEFT + RIGHT) / 2.0;
}

static double y_of(const struct chart *chart, double number) {
  double span = chart->most - chart->least;
  return span > 0 ? BOTTOM - (BOTTOM - TOP) * (number - chart->least) / span : BOTTOM;
}

static void draw_rule(struct cli_html *html, const struct chart *chart, double number) {
  double y = y_of(chart, number);
  cli_html_print(html,
                 "<path class=\"rule\" d=\"M%d %.1fH%d\"/><text class=\"tick\" x=\"%d\" y=\"%.1f\" "
                 "text-anchor=\"end\">",
                 LEFT, y, RIGHT, LEFT - 5, y + 3);
  bool tiny = fabs(number) < (chart->most - chart->least) / 1000; /* beside the others it is 0 */
  cli_html_real(html, tiny ? 0 : number);
  cli_html_raw(html, "</text>");
}

static void begin_chart(struct cli_html *html) {
  cli_html_print(html, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
}

static void draw_rules(struct cli_html *html, const struct chart *chart) {
  draw_rule(html, chart, chart->most);
  if (chart->least < 0 && chart->most > 0) draw_rule(html, chart, 0);
  if (chart->least < chart->most) draw_rule(html, chart, chart->least);
}

static void widen(struct chart *chart, double number) {
  chart->least = fmin(chart->least, number);
  chart->most = fmax(chart->most, number);
}

/* How many labels have room below the axis. */
static int count_ticks(const struct cli_axis *axis) {
  size_t longest = 0;
  for (uint64_t k = 0; k < axis->length; ++k) {
    size_t length;
    char room[24];
    (void)cli_axis_label(axis, k, room, &length);
    if (length > longest) longest = length;
  }
  return longest > 5 ? 3 : 5;
}

/* A few labels below the axis, each at an index that lies near an even division of it. */
static void draw_ticks(struct cli_html *html, const struct cli_axis *axis,
                       const struct chart *chart) {
  uint64_t before = UINT64_MAX, at = 0;
  int ticks = count_ticks(axis);
  for (int k = 0; k < ticks; ++k) {
    double wanted = chart->left + (chart->right - chart->left) * k / (ticks - 1);
    while (at + 1 < axis->length && fabs(axis->at[axis->sorted[at + 1]] - wanted) <=
                                        fabs(axis->at[axis->sorted[at]] - wanted))
      ++at;
    double x = x_of(chart, axis->at[axis->sorted[at]]);
    bool crowded = before != UINT64_MAX &&
                   x - x_of(chart, axis->at[axis->sorted[before]]) < 0.7 * (RIGHT - LEFT) / ticks;
    if (crowded) continue;
    before = at;
    const char *anchor = x < LEFT + 30 ? "start" : x > RIGHT - 30 ? "end" : "middle";
    cli_html_print(html,
                   "<path class=\"rule\" d=\"M%.1f %dv4\"/><text class=\"tick\" x=\"%.1f\" "
                   "y=\"%d\" text-anchor=\"%s\">",
                   x, BOTTOM, x, BOTTOM + 16, anchor);
    cli_draw_label(html, axis, axis->sorted[at], TICK_CHARACTERS);
    cli_html_raw(html, "</text>");
  }
}

/* A line through the numbers in order. Where thousands of them lie on a pixel, the least and the
 * largest of each of BUCKETS stretches stand for them. */
static void draw_line(struct cli_html *html, const struct cli_axis *axis, const double *values,
                      const struct chart *chart) {
  uint64_t step = axis->length > 2 * BUCKETS ? (axis->length + BUCKETS - 1) / BUCKETS : 1;
  char command = 'M';
  cli_html_raw(html, "<path class=\"line\" d=\"");
  for (uint64_t first = 0; first < axis->length; first += step) {
    uint64_t last = first + step < axis->length ? first + step : axis->length;
    uint64_t least = UINT64_MAX, most = UINT64_MAX;
    for (uint64_t k = first; k < last; ++k) {
      double value = values[axis->sorted[k]];
      if (!isfinite(value)) continue;
      if (least == UINT64_MAX || value < values[axis->sorted[least]]) least = k;
      if (most == UINT64_MAX || value > values[axis->sorted[most]]) most = k;
    }
    if (least == UINT64_MAX) continue;
    uint64_t ends[2] = {least < most ? least : most, least < most ? most : least};
    for (int e = 0; e < (least == most ? 1 : 2); ++e) {
      uint64_t index = axis->sorted[ends[e]];
      cli_html_print(html, "%c%.1f %.1f", command, x_of(chart, axis->at[index]),
                     y_of(chart, values[index]));
      command = 'L';
    }
  }
  cli_html_raw(html, "\"/>");
}

static void draw_columns(struct cli_html *html, const struct cli_axis *axis, const double *values,
                         const struct chart *chart) {
  double gap = INFINITY;
  for (uint64_t k = 1; k < axis->length; ++k) {
    double step = axis->at[axis->sorted[k]] - axis->at[axis->sorted[k - 1]];
    if (step > 0) gap = fmin(gap, step);
  }
  double width = isfinite(gap) ? 0.8 * (x_of(chart, chart->left + gap) - LEFT) : 40;
  width = fmin(fmax(width, 0.8), 40);
  for (uint64_t k = 0; k < axis->length; ++k) {
    double value = values[axis->sorted[k]];
    if (!isfinite(value) || value == 0) continue;
    double y = y_of(chart, value), zero = y_of(chart, 0);
    cli_html_print(html,
                   "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                   value < 0 ? "minus" : "plus", x_of(chart, axis->at[axis->sorted[k]]) - width / 2,
                   fmin(y, zero), width, fabs(y - zero));
  }
}

/* "Strongest: 17 (0.446), 18 (0.4)." */
static void draw_caption(struct cli_html *html, const struct cli_axis *axis, const double *values) {
  uint64_t indices[3];
  int count = cli_strongest(&(struct cli_numbers){values, POLYAD_F64, axis->length, 1}, 3, indices);
  cli_html_raw(html, count == 0 ? "All entries are zero." : "Largest: ");
  for (int k = 0; k < count; ++k) {
    if (k > 0) cli_html_raw(html, ", ");
    cli_draw_label(html, axis, indices[k], TICK_CHARACTERS + 8);
    cli_html_raw(html, " (");
    cli_html_real(html, values[indices[k]]);
    cli_html_raw(html, ")");
  }
}

void cli_draw_series(struct cli_html *html, const struct cli_axis *axis, const double *values,
                     const char *what) {
  struct chart chart = {.left = axis->at[axis->sorted[0]],
                        .right = axis->at[axis->sorted[axis->length - 1]]};
  for (uint64_t i = 0; i < axis->length; ++i)
    if (isfinite(values[i])) widen(&chart, values[i]);
  bool columns = axis->kind == CLI_AXIS_COLUMNS;
  if (columns) { /* half a column's room at either end */
    chart.left -= 0.5;
    chart.right += 0.5;
  }
  begin_chart(html);
  cli_html_raw(html, what);
  cli_html_print(html, ", a %s of %llu entries. ", columns ? "column for each" : "line",
                 (unsigned long long)axis->length);
  draw_caption(html, axis, values);
  cli_html_raw(html, "\">");
  draw_rules(html, &chart);
  (columns ? draw_columns : draw_line)(html, axis, values, &chart);
  draw_ticks(html, axis, &chart);
  cli_html_raw(html, "</svg><p class=\"largest\">");
  draw_caption(html, axis, values);
  cli_html_raw(html, "</p>");
}

void cli_draw_trace(struct cli_html *html, const struct cli_trace *trace) {
  const double *x = trace->x, *y = trace->y;
  int count = trace->count;
  struct chart chart = {.left = x[0], .right = x[count - 1], .least = INFINITY, .most = -INFINITY};
  for (int k = 0; k < count; ++k)
    if (isfinite(y[k])) widen(&chart, y[k]);
  if (!(chart.least <= chart.most)) return;
  begin_chart(html);
  cli_html_print(html, "%s of %d %ss, from ", trace->what, count, trace->unit);
  cli_html_real(html, y[0]);
  cli_html_raw(html, " to ");
  cli_html_real(html, y[count - 1]);
  cli_html_raw(html, "\">");
  draw_rules(html, &chart);
  if (isfinite(trace->mark))
    cli_html_print(html, "<path class=\"rule\" d=\"M%.1f %dV%d\"/>", x_of(&chart, trace->mark), TOP,
                   BOTTOM);
  cli_html_raw(html, "<path class=\"line\" d=\"");
  int step = count > 2 * BUCKETS ? count / BUCKETS : 1;
  char command = 'M';
  for (int k = 0; k < count; k = k + step < count || k == count - 1 ? k + step : count - 1) {
    if (!isfinite(y[k])) continue;
    cli_html_print(html, "%c%.1f %.1f", command, x_of(&chart, x[k]), y_of(&chart, y[k]));
    command = 'L';
  }
  cli_html_print(html, "\"/><text class=\"tick\" x=\"%d\" y=\"%d\">%.0f</text>", LEFT, BOTTOM + 16,
                 x[0]);
  cli_html_print(html,
                 "<text class=\"tick\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s %.0f</text>"
                 "</svg>",
                 RIGHT, BOTTOM + 16, trace->unit, x[count - 1]);
}
