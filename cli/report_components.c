/* The middle of a report: components and factors, mode by mode. */
#include "report_draw.h"
#include "report_map.h"
#include "report_parts.h"
#include "strongest.h"
#include <math.h>
#include <stdlib.h>

/* The map that a mode has a part in; a mode that a map shows has no panel of its own. */
struct maps {
  struct cli_map maps[POLYAD_MAX_ORDER]; /* at the mode of the latitudes */
  int east_of[POLYAD_MAX_ORDER];         /* mode of the longitudes; -1: no map begins here */
  bool is_east[POLYAD_MAX_ORDER];
};

static void fill_column(struct cli_page *page, int mode, uint64_t column, double *values) {
  const struct cli_model *model = &page->report->model;
  for (uint64_t i = 0; i < page->axes[mode].length; ++i)
    values[i] = cli_model_factor(model, mode, i, column);
}

/* How much each index weighs over all columns. */
static void fill_mass(struct cli_page *page, int mode, double *mass) {
  const struct cli_model *model = &page->report->model;
  uint64_t columns = cli_model_columns(model, mode);
  for (uint64_t i = 0; i < page->axes[mode].length; ++i) {
    mass[i] = 0;
    for (uint64_t r = 0; r < columns; ++r) {
      double weight = model->ktensor != NULL ? fabs(cli_model_weight(model, r)) : 1;
      mass[i] += weight * fabs(cli_model_factor(model, mode, i, r));
    }
  }
}

static void make_maps(struct cli_page *page, struct maps *maps) {
  const struct cli_report *report = page->report;
  int order = cli_model_order(&report->model);
  for (int n = 0; n < order; ++n)
    maps->east_of[n] = -1;
  for (int n = 0; n < order && !page->html.failed; ++n) {
    const struct cli_axis *north = &page->axes[n];
    int east = north->kind == CLI_AXIS_PLACES ? n : -1;
    /* Columns of different modes belong together in a Kruskal tensor only. */
    for (int m = 0; m < order && east < 0 && report->model.ktensor != NULL; ++m)
      if (m != n && !maps->is_east[m] && cli_axis_is_map(north, &page->axes[m])) east = m;
    if (east < 0) continue;
    fill_mass(page, n, page->column);
    fill_mass(page, east, page->beside);
    if (!cli_map_make(&maps->maps[n], north, &page->axes[east], page->column, page->beside,
                      report->tensor)) {
      page->html.failed = true;
      return;
    }
    maps->maps[n].borders = report->borders;
    maps->east_of[n] = east;
    if (east != n) maps->is_east[east] = true;
  }
}

static void free_maps(struct maps *maps) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    cli_map_free(&maps->maps[n]);
}

static void begin_panel(struct cli_page *page, int mode, int beside) {
  cli_html_raw(&page->html, "<section class=\"panel\"><h4>");
  cli_draw_mode_name(&page->html, &page->axes[mode]);
  if (beside != mode) {
    cli_html_raw(&page->html, " and ");
    cli_draw_mode_name(&page->html, &page->axes[beside]);
  }
  cli_html_raw(&page->html, "</h4>");
}

/* One column of one mode, drawn as its labels ask. */
static void draw_panel(struct cli_page *page, struct maps *maps, int mode, uint64_t column) {
  struct cli_html *html = &page->html;
  const struct cli_axis *axis = &page->axes[mode];
  int east = maps->east_of[mode];
  if (maps->is_east[mode]) return;
  begin_panel(page, mode, east >= 0 ? east : mode);
  fill_column(page, mode, column, page->column);
  if (east >= 0) {
    if (east != mode) fill_column(page, east, column, page->beside);
    cli_map_draw(html, &maps->maps[mode], page->column, east != mode ? page->beside : NULL);
  } else if (axis->kind == CLI_AXIS_LINE || axis->kind == CLI_AXIS_COLUMNS) {
    cli_draw_series(html, axis, page->column, "Strengths");
  } else {
    cli_draw_bars(html, axis, page->column, (int)page->report->top,
                  "Strongest entries: label, bar, strength");
  }
  cli_html_raw(html, "</section>\n");
}

/* The two components that are most alike: their congruence is the product over modes of the cosines
 * of their columns. */
static void tell_alike(struct cli_page *page) {
  const struct cli_model *model = &page->report->model;
  struct cli_html *html = &page->html;
  uint64_t rank = cli_model_columns(model, 0), first = 0, second = 0;
  double *product = malloc(rank * rank * sizeof *product), most = -1;
  for (uint64_t k = 0; product != NULL && k < rank * rank; ++k)
    product[k] = 1;
  for (int n = 0; n < cli_model_order(model) && product != NULL; ++n) {
    double *gram = cli_model_gram(model, n);
    for (uint64_t r = 0; r < rank && gram != NULL; ++r)
      for (uint64_t s = 0; s < rank; ++s) {
        double lengths = sqrt(gram[r * rank + r]) * sqrt(gram[s * rank + s]);
        product[r * rank + s] *= lengths > 0 ? gram[r * rank + s] / lengths : 0;
      }
    if (gram == NULL) html->failed = true;
    free(gram);
  }
  for (uint64_t r = 0; r < rank && product != NULL; ++r)
    for (uint64_t s = r + 1; s < rank; ++s)
      if (fabs(product[r * rank + s]) > most) {
        most = fabs(product[r * rank + s]);
        first = r;
        second = s;
      }
  if (product == NULL) html->failed = true;
  if (product != NULL && most >= 0) {
    cli_html_print(html,
                   "<p>Most alike are components %llu and %llu: their congruence (product of "
                   "the modes' cosines) is ",
                   (unsigned long long)first + 1, (unsigned long long)second + 1);
    double congruence = product[first * rank + second];
    cli_html_real(html, fabs(congruence) < 0.00005 ? 0 : round(1e4 * congruence) / 1e4);
    cli_html_raw(html, most > 0.85 ? ". Components so alike are hard to tell apart, and their "
                                     "weights may cancel: try a smaller rank.</p>"
                                   : ".</p>");
  }
  free(product);
}

static void tell_count(struct cli_page *page, uint64_t shown, uint64_t all, const char *what) {
  if (shown == all) return;
  cli_html_raw(&page->html, "<p>The first ");
  cli_html_count(&page->html, shown);
  cli_html_raw(&page->html, " of ");
  cli_html_count(&page->html, all);
  cli_html_print(&page->html, " %s are shown.</p>", what);
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void draw_components(struct cli_page *page, struct maps *maps) {
  const struct cli_model *model = &page->report->model;
  struct cli_html *html = &page->html;
  uint64_t rank = cli_model_columns(model, 0), shown = least(rank, page->report->components);
  double mean = 0; /* the sum of weights may be more than a double holds */
  for (uint64_t r = 0; r < rank; ++r)
    mean += fabs(cli_model_weight(model, r)) / (double)rank;
  cli_html_raw(html, "<h2 id=\"components\">Components</h2><p>The model is the sum of its "
                     "components; each is its weight times one column of strengths for every "
                     "mode. ");
  cli_html_raw(html, "Bars show the strongest entries, lines and columns all entries in order."
                     "</p>");
  tell_alike(page);
  tell_count(page, shown, rank, "components");
  for (uint64_t r = 0; r < shown; ++r) {
    double weight = cli_model_weight(model, r);
    cli_html_print(html, "<section><h3 id=\"component-%llu\">Component %llu: weight ",
                   (unsigned long long)r + 1, (unsigned long long)r + 1);
    cli_html_real(html, weight);
    if (mean > 0) {
      cli_html_raw(html, " (");
      cli_html_percent(html, fabs(weight) / mean / (double)rank);
      cli_html_raw(html, " of all weights)");
    }
    cli_html_raw(html, "</h3><div class=\"panels\">");
    for (int n = 0; n < cli_model_order(model); ++n)
      draw_panel(page, maps, n, r);
    cli_html_raw(html, "</div></section>\n");
  }
}

static void draw_factors(struct cli_page *page, struct maps *maps) {
  const struct cli_model *model = &page->report->model;
  struct cli_html *html = &page->html;
  cli_html_raw(html, "<h2 id=\"factors\">Factors</h2><p>Each column of a mode's factor is a "
                     "direction in it; the core says how the columns of all modes combine.</p>");
  for (int n = 0; n < cli_model_order(model); ++n) {
    uint64_t columns = cli_model_columns(model, n),
             shown = least(columns, page->report->components);
    cli_html_raw(html, "<section><h3>Columns of ");
    cli_draw_mode_name(html, &page->axes[n]);
    cli_html_raw(html, "</h3>");
    tell_count(page, shown, columns, "columns");
    cli_html_raw(html, "<div class=\"panels\">");
    for (uint64_t r = 0; r < shown; ++r) {
      cli_html_print(html, "<div><p class=\"lead\">column %llu</p>", (unsigned long long)r + 1);
      draw_panel(page, maps, n, r);
      cli_html_raw(html, "</div>");
    }
    cli_html_raw(html, "</div></section>\n");
  }
}

void cli_page_components(struct cli_page *page) {
  struct maps *maps = calloc(1, sizeof *maps);
  if (maps == NULL) {
    page->html.failed = true;
    return;
  }
  make_maps(page, maps);
  if (!page->html.failed)
    (page->report->model.ktensor != NULL ? draw_components : draw_factors)(page, maps);
  free_maps(maps);
  free(maps);
}

void cli_page_core(struct cli_page *page) {
  const polyad_ttensor *ttensor = page->report->model.ttensor;
  struct cli_html *html = &page->html;
  if (ttensor == NULL) return;
  struct cli_core_entry entries[CLI_STRONGEST_MOST];
  int order = polyad_ttensor_order(ttensor);
  int count = cli_core_strongest(ttensor, (int)page->report->top, entries);
  cli_html_raw(html, "<h2 id=\"core\">Core</h2><p>");
  cli_html_sizes(html, polyad_ttensor_ranks(ttensor), order);
  cli_html_raw(html, "; the strongest entries, and the columns of each mode that they "
                     "join.</p><div class=\"scroll\"><table class=\"wide\"><thead><tr>");
  for (int n = 0; n < order; ++n) {
    cli_html_raw(html, "<th scope=\"col\">");
    cli_draw_mode_name(html, &page->axes[n]);
    cli_html_raw(html, "</th>");
  }
  cli_html_raw(html, "<th scope=\"col\" class=\"number\">value</th><th scope=\"col\" "
                     "class=\"number\">of the core's squared norm</th></tr></thead><tbody>");
  for (int e = 0; e < count; ++e) {
    cli_html_raw(html, "<tr>");
    for (int n = 0; n < order; ++n)
      cli_html_print(html, "<td>column %llu</td>", (unsigned long long)entries[e].column[n] + 1);
    cli_html_raw(html, "<td class=\"number\">");
    cli_html_real(html, entries[e].value);
    cli_html_raw(html, "</td><td class=\"number\">");
    cli_html_percent(html, entries[e].share);
    cli_html_raw(html, "</td></tr>\n");
  }
  cli_html_raw(html, "</tbody></table></div>");
}
