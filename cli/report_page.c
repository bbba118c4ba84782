/* A report as a whole: its frame, and its sections in order. */
#include "manifest.h"
#include "phases.h"
#include "report_draw.h"
#include "report_parts.h"

#include "report_style.h"
#include "text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Products of a nonzero and a core's number: beyond, the residuals would take minutes. */
static const double most_products = 2e11;

static bool is_page(const char *path) {
  const char *name = cli_base_name(path), *dot = strrchr(name, '.');
  return dot != NULL && dot != name && (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0);
}

int cli_check_report_name(const char *option, const char *path) {
  char quoted[CLI_QUOTE_BYTES];
  if (path == NULL || is_page(path)) return 0;
  return cli_usage_error("%s %s found; expected a name that ends in .html", option,
                         cli_quote(quoted, path));
}

int cli_output_is_page(const char **output, const char **report) {
  if (*output == NULL || !is_page(*output)) return 0;
  if (*report != NULL)
    return cli_usage_error("--output and --report both ask for a page; expected --output with the "
                           "name of a model, such as model.ptm");
  *report = *output;
  *output = NULL;
  return 0;
}

const char *cli_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static const char *title_of(const struct cli_report *report) {
  if (report->title != NULL) return report->title;
  if (report->file != NULL && strcmp(report->file, "-") != 0) return cli_base_name(report->file);
  return report->model_file != NULL ? cli_base_name(report->model_file) : "polyad";
}

/* "CP decomposition (als), rank 5, of 365 × 16 × 3 × 105" */
static void draw_lead(struct cli_page *page) {
  struct cli_html *html = &page->html;
  const struct cli_model *model = &page->report->model;
  const char *algorithm = cli_page_text(page, "algorithm");
  int order = cli_model_order(model);
  cli_html_raw(html, model->ktensor != NULL ? "CP decomposition" : "Tucker decomposition");
  if (algorithm != NULL) {
    cli_html_raw(html, " (");
    cli_html_string(html, algorithm);
    cli_html_raw(html, ")");
  }
  if (model->ktensor != NULL) {
    cli_html_raw(html, ", rank ");
    cli_html_count(html, polyad_ktensor_rank(model->ktensor));
  } else {
    cli_html_raw(html, ", core ");
    cli_html_sizes(html, polyad_ttensor_ranks(model->ttensor), order);
  }
  cli_html_raw(html, ", of a tensor ");
  for (int n = 0; n < order; ++n) {
    if (n > 0) cli_html_raw(html, " × ");
    cli_html_count(html, cli_model_dims(model)[n]);
    cli_html_raw(html, " ");
    cli_draw_mode_name(html, &page->axes[n]);
  }
}

/* Links to the sections that the page has. */
static void draw_links(struct cli_page *page) {
  static const struct {
    const char *mark, *name;
  } sections[] = {
      {"summary", "Summary"},       {"trace", "Course of the run"}, {"core", "Core"},
      {"components", "Components"}, {"factors", "Factors"},         {"slices", "What is explained"},
      {"origin", "How it was made"}};
  cli_html_raw(&page->html, "<nav aria-label=\"Sections\">");
  for (size_t k = 0; k < sizeof sections / sizeof *sections; ++k) {
    bool kruskal = page->report->model.ktensor != NULL;
    const char *mark = sections[k].mark;
    if (strcmp(mark, "trace") == 0 && !cli_page_has_trace(page)) continue;
    if (strcmp(mark, "components") == 0 && !kruskal) continue;
    if ((strcmp(mark, "core") == 0 || strcmp(mark, "factors") == 0) && kruskal) continue;
    if (strcmp(mark, "slices") == 0 && page->residual.order == 0 && page->why_no_residual == NULL)
      continue;
    cli_html_print(&page->html, "<a href=\"#%s\">%s</a>", mark, sections[k].name);
  }
  cli_html_raw(&page->html, "</nav>");
}

void cli_page_begin(struct cli_html *html, const char *title) {
  cli_html_raw(html, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'\">\n");
  cli_html_print(html, "<meta name=\"generator\" content=\"polyad %s\">\n<title>",
                 polyad_version());
  cli_html_string(html, title);
  cli_html_raw(html, "</title>\n<style>\n");
  cli_html_raw(html, cli_report_style);
  cli_html_raw(html, "</style></head>\n<body><header><h1>");
  cli_html_string(html, title);
  cli_html_raw(html, "</h1><p class=\"lead\">");
}

static void draw_page(struct cli_page *page) {
  struct cli_html *html = &page->html;
  cli_page_begin(html, title_of(page->report));
  draw_lead(page);
  cli_html_raw(html, "</p>");
  draw_links(page);
  cli_html_raw(html, "</header>\n<main>\n");
  cli_page_summary(page);
  cli_page_trace(page);
  cli_page_core(page);
  cli_page_components(page);
  cli_page_slices(page);
  cli_page_origin(page);
  cli_html_raw(html, "</main></body></html>\n");
}

/* Residuals where there is a tensor to compare with; else says on the page why there are none. */
static int find_residual(struct cli_page *page) {
  const struct cli_report *report = page->report;
  if (report->tensor == NULL) return 0;
  if (!(polyad_tensor_norm(report->tensor) > 0)) {
    page->why_no_residual = "The tensor has no nonzeros.";
    return 0;
  }
  if (report->model.ttensor != NULL && (double)polyad_ttensor_core_size(report->model.ttensor) *
                                               (double)polyad_tensor_nnz(report->tensor) >
                                           most_products) {
    page->why_no_residual = "Not computed: with so large a core it would take too long.";
    return 0;
  }
  polyad_status status = cli_residual_compute(report->session->context, &report->model,
                                              report->tensor, &page->residual);
  if (status == POLYAD_OUT_OF_MEMORY) return cli_failure("out of memory");
  return status == POLYAD_OK ? 0 : cli_library_failure(report->session->context);
}

static int make(struct cli_page *page) {
  const struct cli_report *report = page->report;
  int order = cli_model_order(&report->model);
  uint64_t longest = 1;
  for (int n = 0; n < order; ++n) {
    uint64_t length = cli_model_dims(&report->model)[n];
    if (length > longest) longest = length;
    if (!cli_axis_make(&page->axes[n], report->outline, n, length))
      return cli_failure("out of memory");
  }
  page->column = malloc(longest * sizeof *page->column);
  page->beside = malloc(longest * sizeof *page->beside);
  if (page->column == NULL || page->beside == NULL) return cli_failure("out of memory");
  int status = find_residual(page);
  if (status != 0) return status;
  draw_page(page);
  return page->html.failed ? cli_failure("out of memory") : 0;
}

int cli_report_write(const struct cli_report *report, const char *path, double *explained) {
  struct cli_page *page = calloc(1, sizeof *page);
  if (page == NULL) return cli_failure("out of memory");
  page->report = report;
  int status = make(page);
  if (status == 0 && polyad_text_write(report->session->context, path, page->html.text,
                                       page->html.length) != POLYAD_OK)
    status = cli_library_failure(report->session->context);
  if (explained != NULL)
    *explained = page->residual.order > 0 ? 1 - page->residual.total_left : NAN;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    cli_axis_free(&page->axes[n]);
  cli_residual_free(&page->residual);
  cli_html_free(&page->html);
  free(page->column);
  free(page->beside);
  free(page);
  return status;
}

int cli_report_of_run(struct cli_report *report, cJSON *run, const char *path) {
  cli_json_manifest(run, report->session);
  cli_json_phases(run);
  report->run = run;
  report->top = CLI_REPORT_TOP;
  report->components = CLI_REPORT_COMPONENTS;
  int status = cli_report_write(report, path, NULL);
  cJSON_Delete(run);
  return status;
}
