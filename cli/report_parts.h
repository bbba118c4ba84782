/* The sections of a report. */
#ifndef CLI_REPORT_PARTS_H
#define CLI_REPORT_PARTS_H

#include "report.h"
#include "report_axis.h"
#include "report_html.h"

/** What all sections read: made once by cli_report_write(). */
struct cli_page {
  struct cli_html html;
  const struct cli_report *report;
  struct cli_axis axes[POLYAD_MAX_ORDER];
  struct cli_residual residual; /* order 0: not known */
  const char *why_no_residual;
  double *column; /* room for a column of the longest factor, and for another one */
  double *beside;
};

/** The page up to its lead, the first words below the title. */
void cli_page_begin(struct cli_html *html, const char *title);

/** Numbers of the run or of the tensor that say how good the model is. */
void cli_page_summary(struct cli_page *page);
/** The fit or log-likelihood of each iteration, where the run is known. */
void cli_page_trace(struct cli_page *page);
bool cli_page_has_trace(const struct cli_page *page);
/** Components of a Kruskal tensor, or core and factors of a Tucker tensor. */
void cli_page_components(struct cli_page *page);
void cli_page_core(struct cli_page *page);
/** What is explained of each slice. */
void cli_page_slices(struct cli_page *page);
/** How the model and the page were made. */
void cli_page_origin(struct cli_page *page);

/** The member of the run's JSON object, or NULL. */
const cJSON *cli_page_member(const struct cli_page *page, const char *key);
/** A number of the run; NaN where there is none. */
double cli_page_number(const struct cli_page *page, const char *key);
/** A text of the run; NULL where there is none. */
const char *cli_page_text(const struct cli_page *page, const char *key);

#endif
