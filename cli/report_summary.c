/* The top and the end of a report: how good the model is, how it came about, how it was made. */
#include "report_draw.h"
#include "report_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const cJSON *cli_page_member(const struct cli_page *page, const char *key) {
  return page->report->run == NULL ? NULL
                                   : cJSON_GetObjectItemCaseSensitive(page->report->run, key);
}

/* Numbers that the command itself put into an object are raw text there. */
static double number_of(const cJSON *item) {
  if (cJSON_IsRaw(item)) return strtod(item->valuestring, NULL);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

double cli_page_number(const struct cli_page *page, const char *key) {
  return number_of(cli_page_member(page, key));
}

const char *cli_page_text(const struct cli_page *page, const char *key) {
  const cJSON *item = cli_page_member(page, key);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

static void begin_tile(struct cli_html *html, const char *name) {
  cli_html_print(html, "<div class=\"tile\"><dt>%s</dt><dd>", name);
}

static void end_tile(struct cli_html *html) { cli_html_raw(html, "</dd></div>"); }

static void real_tile(struct cli_html *html, const char *name, double value) {
  if (!isfinite(value)) return;
  begin_tile(html, name);
  cli_html_real(html, value);
  end_tile(html);
}

/* The fit of the run, with what rounding may have changed it by; else that of the tensor. */
static void fit_tile(struct cli_page *page) {
  struct cli_html *html = &page->html;
  double fit = cli_page_number(page, "fit"), bound = cli_page_number(page, "fit_bound");
  bool measured = !isfinite(fit) && page->residual.order > 0;
  if (measured) fit = 1 - sqrt(page->residual.total_left);
  if (!isfinite(fit)) return;
  begin_tile(html, "fit, 1 − ‖X − M‖ / ‖X‖");
  cli_html_print(html, "%s%.6f", fit < 0 ? "−" : "", fabs(fit));
  if (isfinite(bound) && !measured) {
    cli_html_raw(html, "<small>rounding: at most ± ");
    cli_html_real(html, bound);
    cli_html_raw(html, "</small>");
  }
  end_tile(html);
}

static void reason_tile(struct cli_page *page) {
  struct cli_html *html = &page->html;
  double iterations = cli_page_number(page, "iterations");
  const char *reason = cli_page_text(page, "reason");
  if (!(iterations >= 0 && iterations < 1e15)) return;
  begin_tile(html, "iterations");
  cli_html_count(html, (uint64_t)iterations);
  if (reason != NULL) {
    cli_html_raw(html, "<small>ended by ");
    for (const char *at = reason; *at != '\0'; ++at) /* max_iterations: max iterations */
      (void)cli_html_text(html, *at == '_' ? " " : at, 1, 1);
    cli_html_raw(html, "</small>");
  }
  end_tile(html);
}

void cli_page_summary(struct cli_page *page) {
  struct cli_html *html = &page->html;
  cli_html_raw(html, "<h2 id=\"summary\">Summary</h2><dl class=\"tiles\">");
  fit_tile(page);
  if (page->residual.order > 0 && isfinite(page->residual.total_left)) {
    begin_tile(html, "share of the squared norm explained");
    cli_html_percent(html, 1 - page->residual.total_left);
    end_tile(html);
  }
  real_tile(html, "log-likelihood (Poisson)", cli_page_number(page, "log_likelihood"));
  real_tile(html, "violation of the KKT conditions", cli_page_number(page, "kkt_violation"));
  reason_tile(page);
  real_tile(html, "seconds of computing", cli_page_number(page, "seconds"));
  if (page->report->tensor != NULL) {
    begin_tile(html, "nonzeros");
    cli_html_count(html, polyad_tensor_nnz(page->report->tensor));
    end_tile(html);
    real_tile(html, "norm of the tensor", polyad_tensor_norm(page->report->tensor));
  }
  cli_html_raw(html, "</dl>");
  const char *diagnosis = cli_page_text(page, "diagnosis");
  if (diagnosis != NULL && *diagnosis != '\0') {
    cli_html_raw(html, "<p><strong>Warning of the run:</strong> ");
    cli_html_string(html, diagnosis);
    cli_html_raw(html, "</p>");
  }
}

/* The key of what a run maximised. */
static const char *objective_of(const struct cli_page *page) {
  return isfinite(cli_page_number(page, "log_likelihood")) ? "log_likelihood" : "fit";
}

/* Numbers of the trace's rows that have them; x and y may be NULL. Returns how many there are. */
static int read_trace(const struct cli_page *page, double *x, double *y) {
  const cJSON *rows = cli_page_member(page, "trace"), *row;
  int count = 0;
  if (!cJSON_IsArray(rows)) return 0;
  cJSON_ArrayForEach(row, rows) {
    double at = number_of(cJSON_GetObjectItemCaseSensitive(row, "iteration"));
    double value = number_of(cJSON_GetObjectItemCaseSensitive(row, objective_of(page)));
    if (!isfinite(at) || !isfinite(value)) continue;
    if (x != NULL) x[count] = at;
    if (y != NULL) y[count] = value;
    ++count;
  }
  return count;
}

bool cli_page_has_trace(const struct cli_page *page) { return read_trace(page, NULL, NULL) > 0; }

void cli_page_trace(struct cli_page *page) {
  struct cli_html *html = &page->html;
  size_t count = (size_t)read_trace(page, NULL, NULL);
  bool is_fit = *objective_of(page) == 'f';
  if (count == 0) return;
  double *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
  if (x == NULL || y == NULL) {
    html->failed = true;
  } else {
    (void)read_trace(page, x, y);
    cli_html_raw(html, "<h2 id=\"trace\">Course of the run</h2><div class=\"panels\">"
                       "<section class=\"panel\"><h4>");
    cli_html_raw(html, is_fit ? "fit" : "log-likelihood");
    cli_html_raw(html, " after each iteration</h4>");
    cli_draw_trace(html, &(struct cli_trace){.x = x,
                                             .y = y,
                                             .count = (int)count,
                                             .what = is_fit ? "Fit" : "Log-likelihood",
                                             .unit = "iteration",
                                             .mark = NAN});
    cli_html_raw(html, "</section></div>");
  }
  free(x);
  free(y);
}

static void begin_fact(struct cli_html *html, const char *name) {
  cli_html_print(html, "<tr><th scope=\"row\">%s</th><td>", name);
}

static void end_fact(struct cli_html *html) { cli_html_raw(html, "</td></tr>\n"); }

static void text_fact(struct cli_page *page, const char *name, const char *text) {
  if (text == NULL || *text == '\0') return;
  begin_fact(&page->html, name);
  cli_html_string(&page->html, text);
  end_fact(&page->html);
}

static void count_fact(struct cli_page *page, const char *name, const char *key) {
  double value = cli_page_number(page, key);
  if (!(value >= 0 && value < 9007199254740992.0)) return; /* 2^53: beyond, digits are lost */
  begin_fact(&page->html, name);
  cli_html_count(&page->html, (uint64_t)value);
  end_fact(&page->html);
}

/* A word of a command line, between quotes where a shell would read it as something else. */
static void add_word(struct cli_html *html, const char *word) {
  size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=:,./@%");
  bool quoted = plain == 0 || word[plain] != '\0';
  cli_html_raw(html, quoted ? " &#39;" : " ");
  for (const char *at = word; *at != '\0';) {
    size_t length = strcspn(at, "'");
    (void)cli_html_text(html, at, length, SIZE_MAX);
    at += length;
    if (*at == '\'') cli_html_raw(html, "&#39;\\&#39;&#39;");
    at += *at == '\'';
  }
  if (quoted) cli_html_raw(html, "&#39;");
}

/* The commands that made the page and, where its manifest is known, the model. */
static void command_facts(struct cli_page *page) {
  struct cli_html *html = &page->html;
  const struct cli_report *report = page->report;
  begin_fact(html, "command");
  cli_html_raw(html, "<code>polyad");
  for (int k = 0; k < report->argument_count; ++k)
    add_word(html, report->arguments[k]);
  cli_html_raw(html, "</code>");
  end_fact(html);
  const cJSON *manifest = cli_page_member(page, "manifest"), *word;
  const cJSON *command = cJSON_GetObjectItemCaseSensitive(manifest, "command");
  if (!report->is_run_of_another || !cJSON_IsString(command)) return;
  begin_fact(html, "command of the run");
  cli_html_raw(html, "<code>polyad");
  add_word(html, command->valuestring);
  cJSON_ArrayForEach(
      word, cJSON_GetObjectItemCaseSensitive(manifest, "arguments")) if (cJSON_IsString(word))
      add_word(html, word->valuestring);
  cli_html_raw(html, "</code>");
  end_fact(html);
}

/* How values were changed before: what the run says, or else what this command did. */
static void transform_facts(struct cli_page *page) {
  struct cli_html *html = &page->html;
  cJSON *own = cJSON_CreateObject();
  const cJSON *steps = cli_page_member(page, "transforms"), *step;
  cli_json_transforms(own, &page->report->session->transforms);
  if (steps == NULL) steps = cJSON_GetObjectItemCaseSensitive(own, "transforms");
  if (cJSON_GetArraySize(steps) > 0) {
    begin_fact(html, "values were changed");
    cJSON_ArrayForEach(step, steps) {
      double mode = number_of(cJSON_GetObjectItemCaseSensitive(step, "mode"));
      double documents = number_of(cJSON_GetObjectItemCaseSensitive(step, "documents"));
      const cJSON *kind = cJSON_GetObjectItemCaseSensitive(step, "kind");
      if (step != steps->child) cli_html_raw(html, "; then ");
      cli_html_string(html, cJSON_IsString(kind) ? kind->valuestring : "?");
      if (isfinite(mode)) cli_html_print(html, ", mode %.0f", mode);
      if (isfinite(documents)) cli_html_print(html, ", documents are mode %.0f", documents);
    }
    end_fact(html);
  }
  cJSON_Delete(own);
}

static void tensor_facts(struct cli_page *page) {
  struct cli_html *html = &page->html;
  const polyad_tensor *tensor = page->report->tensor;
  text_fact(page, "data", page->report->file);
  if (tensor == NULL) return;
  begin_fact(html, "tensor");
  cli_html_sizes(html, polyad_tensor_dims(tensor), polyad_tensor_order(tensor));
  cli_html_raw(html, ", ");
  cli_html_count(html, polyad_tensor_nnz(tensor));
  cli_html_raw(html, " nonzeros");
  end_fact(html);
  begin_fact(html, "hash of the tensor");
  cli_html_print(html, "<code>%016llx</code> (coordinates and values as %s)",
                 (unsigned long long)polyad_tensor_hash(tensor),
                 polyad_tensor_type(tensor) == POLYAD_F64 ? "f64" : "f32");
  end_fact(html);
}

void cli_page_origin(struct cli_page *page) {
  struct cli_html *html = &page->html;
  cli_html_raw(html, "<h2 id=\"origin\">How it was made</h2><table class=\"facts\"><tbody>");
  command_facts(page);
  text_fact(page, "version", polyad_version());
  tensor_facts(page);
  transform_facts(page);
  text_fact(page, "model file", page->report->model_file);
  text_fact(page, "algorithm", cli_page_text(page, "algorithm"));
  text_fact(page, "singular vectors", cli_page_text(page, "svd"));
  count_fact(page, "seed", "seed");
  text_fact(page, "precision", cli_page_text(page, "precision"));
  text_fact(page, "storage format", cli_page_text(page, "format"));
  text_fact(page, "variant", cli_page_text(page, "variant"));
  text_fact(page, "device", cli_page_text(page, "device"));
  count_fact(page, "threads", "threads");
  const cJSON *starts = cli_page_member(page, "starts");
  if (cJSON_IsArray(starts) && cJSON_GetArraySize(starts) > 0) {
    begin_fact(html, "starts");
    cli_html_count(html, (uint64_t)cJSON_GetArraySize(starts));
    end_fact(html);
  }
  cli_html_raw(html, "</tbody></table>");
}
