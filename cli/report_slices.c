/* The part of a report that says what the model explains of each slice, and where it fails. */
#include "report_draw.h"
#include "report_parts.h"
#include "strongest.h"
#include <math.h>

static void head(struct cli_html *html, const char *text) {
  cli_html_print(html, "<th scope=\"col\" class=\"number\">%s</th>", text);
}

static void share(struct cli_html *html, double value) {
  cli_html_raw(html, "<td class=\"number\">");
  cli_html_percent(html, value);
  cli_html_raw(html, "</td>");
}

/* The slices that hold most of what the model leaves out. */
static void draw_worst(struct cli_page *page, int mode) {
  struct cli_html *html = &page->html;
  const double *data = page->residual.data[mode], *left = page->residual.left[mode];
  uint64_t indices[CLI_STRONGEST_MOST];
  double total =
      0; /* of this mode, so that its shares are shares also of what is left by rounding */
  for (uint64_t i = 0; i < page->axes[mode].length; ++i)
    total += left[i];
  int count = cli_strongest(&(struct cli_numbers){left, POLYAD_F64, page->axes[mode].length, 1},
                            (int)page->report->top, indices);
  cli_html_raw(html, "<div class=\"scroll\"><table class=\"wide\"><caption class=\"heard\">Slices "
                     "that hold most of what is left</caption><thead><tr><th scope=\"col\">slice"
                     "</th>");
  head(html, "of the data");
  head(html, "explained");
  head(html, "of what is left");
  cli_html_raw(html, "</tr></thead><tbody>");
  for (int k = 0; k < count; ++k) {
    uint64_t i = indices[k];
    cli_html_raw(html, "<tr>");
    cli_draw_row_head(html, &page->axes[mode], i);
    share(html, data[i]);
    share(html, data[i] > 0 ? 1 - left[i] / data[i] : NAN);
    share(html, left[i] / total);
    cli_html_raw(html, "</tr>\n");
  }
  cli_html_raw(html, "</tbody></table></div>");
}

void cli_page_slices(struct cli_page *page) {
  struct cli_html *html = &page->html;
  if (page->residual.order == 0) {
    if (page->why_no_residual == NULL) return;
    cli_html_raw(html, "<h2 id=\"slices\">What is explained</h2><p>");
    cli_html_raw(html, page->why_no_residual);
    cli_html_raw(html, "</p>");
    return;
  }
  cli_html_raw(html,
               "<h2 id=\"slices\">What is explained</h2><p>For every slice (all entries with one "
               "label), the share of its squared norm that the model explains, 1 − ‖X<sub>i</sub> "
               "− M<sub>i</sub>‖² / ‖X<sub>i</sub>‖², zeros included. Below zero, the model "
               "describes the slice worse than nothing at all would. Tables name the slices that "
               "hold most of what is left.</p><div class=\"panels broad\">");
  for (int n = 0; n < page->residual.order; ++n) {
    const struct cli_axis *axis = &page->axes[n];
    cli_html_raw(html, "<section class=\"panel\"><h4>");
    cli_draw_mode_name(html, axis);
    cli_html_raw(html, "</h4>");
    if (axis->sorted != NULL && axis->length > 1) {
      for (uint64_t i = 0; i < axis->length; ++i) {
        double data = page->residual.data[n][i], left = page->residual.left[n][i];
        page->column[i] = data > 0 ? 1 - left / data : NAN;
      }
      cli_draw_series(html, axis, page->column, "Share explained");
    }
    draw_worst(page, n);
    cli_html_raw(html, "</section>\n");
  }
  cli_html_raw(html, "</div>");
}
