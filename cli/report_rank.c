/* A scan of ranks as one HTML page: what is recommended and why, a chart of each measure against
 * the rank with a line at the recommended one, and the table. */
#include "report_rank.h"
#include "report_draw.h"
#include "report_parts.h"
#include "text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t offset;
} measures[] = {{"best fit", offsetof(polyad_rank_row, fit_best)},
                {"median fit", offsetof(polyad_rank_row, fit_median)},
                {"core consistency", offsetof(polyad_rank_row, core_consistency)},
                {"stability", offsetof(polyad_rank_row, stability)},
                {"replicability", offsetof(polyad_rank_row, replicability)},
                {"held-out error", offsetof(polyad_rank_row, holdout_error)}};
enum { MEASURES = sizeof measures / sizeof *measures };

static double measure_of(const polyad_rank_row *row, size_t which) {
  double value;
  memcpy(&value, (const char *)row + measures[which].offset, sizeof value);
  return value;
}

/* Below zero a core consistency says no more than that the rank is too large, and its size would
 * flatten the chart. */
static double drawn(const polyad_rank_row *row, size_t which) {
  double value = measure_of(row, which);
  bool consistency = measures[which].offset == offsetof(polyad_rank_row, core_consistency);
  return consistency && value < 0 ? 0 : value;
}

static void draw_charts(struct cli_html *html, const polyad_rank_result *result, double *x,
                        double *y) {
  cli_html_raw(html, "<div class=\"panels\">");
  for (size_t m = 0; m < MEASURES; ++m) {
    bool known = false;
    for (int k = 0; k < result->row_count; ++k) {
      x[k] = (double)result->rows[k].rank;
      y[k] = drawn(&result->rows[k], m);
      known = known || isfinite(y[k]);
    }
    if (!known) continue;
    bool consistency = measures[m].offset == offsetof(polyad_rank_row, core_consistency);
    cli_html_print(html, "<section class=\"panel\"><h4>%s%s</h4>", measures[m].name,
                   consistency ? " (below 0: 0)" : "");
    cli_draw_trace(html, &(struct cli_trace){
                             .x = x,
                             .y = y,
                             .count = result->row_count,
                             .what = measures[m].name,
                             .unit = "rank",
                             .mark = result->recommended > 0 ? (double)result->recommended : NAN});
    cli_html_raw(html, "</section>");
  }
  cli_html_raw(html, "</div>");
}

static void draw_table(struct cli_html *html, const polyad_rank_result *result) {
  cli_html_raw(html, "<h2>All ranks</h2><div class=\"scroll\"><table class=\"wide\"><thead><tr>"
                     "<th scope=\"col\">rank</th>");
  for (size_t m = 0; m < MEASURES; ++m)
    cli_html_print(html, "<th scope=\"col\" class=\"number\">%s</th>", measures[m].name);
  cli_html_raw(html, "<th scope=\"col\" class=\"number\">starts at best</th></tr></thead>"
                     "<tbody>\n");
  for (int k = 0; k < result->row_count; ++k) {
    const polyad_rank_row *row = &result->rows[k];
    cli_html_print(html, "<tr><th scope=\"row\">%llu</th>", (unsigned long long)row->rank);
    for (size_t m = 0; m < MEASURES; ++m) {
      cli_html_raw(html, "<td class=\"number\">");
      if (isnan(measure_of(row, m)))
        cli_html_raw(html, "–");
      else
        cli_html_real(html, measure_of(row, m));
      cli_html_raw(html, "</td>");
    }
    cli_html_print(html, "<td class=\"number\">%d of %d</td></tr>\n", row->starts_at_best,
                   row->starts);
  }
  cli_html_raw(html, "</tbody></table></div>");
}

static void draw_scan(struct cli_html *html, const struct cli_rank_page *page, double *room) {
  const polyad_rank_result *result = page->result;
  cli_page_begin(html, strcmp(page->file, "-") == 0 ? "polyad rank" : cli_base_name(page->file));
  cli_html_raw(html, "How many components? A tensor ");
  cli_html_sizes(html, page->dims, page->order);
  cli_html_raw(html, ", ");
  cli_html_count(html, page->nnz);
  cli_html_print(html, " nonzeros; %s, ", page->algorithm);
  cli_html_count(html, page->starts);
  cli_html_print(html, " starts of each rank, seed %llu, polyad %s</p></header>\n<main>\n<h2>",
                 (unsigned long long)page->seed, polyad_version());
  if (result->recommended > 0)
    cli_html_print(html, "Recommended: rank %llu", (unsigned long long)result->recommended);
  else
    cli_html_raw(html, "No rank is recommended");
  cli_html_raw(html, "</h2><p>");
  cli_html_string(html, result->reason);
  cli_html_raw(html, "</p>");
  if (result->row_count > 1) draw_charts(html, result, room, room + result->row_count);
  if (result->row_count > 0) draw_table(html, result);
  cli_html_raw(html, "</main></body></html>\n");
}

int cli_rank_page_write(const struct cli_session *session, const struct cli_rank_page *page,
                        const char *path) {
  struct cli_html html = {0};
  double *room = calloc(2 * (size_t)page->result->row_count + 1, sizeof *room);
  int status = 0;
  if (room != NULL) draw_scan(&html, page, room);
  if (room == NULL || html.failed)
    status = cli_failure("out of memory");
  else if (polyad_text_write(session->context, path, html.text, html.length) != POLYAD_OK)
    status = cli_library_failure(session->context);
  cli_html_free(&html);
  free(room);
  return status;
}
