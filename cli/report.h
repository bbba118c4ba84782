/* Reports: a model as one HTML page that needs nothing else, neither scripts nor other files. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "json.h"
#include "report_residual.h"

/** What a report is about. Everything but the session and one of the models may be NULL or 0. */
struct cli_report {
  struct cli_session *session;
  struct cli_model model;
  const polyad_tensor *outline; /* names and labels */
  const polyad_tensor *tensor;  /* with nonzeros: the fit and the residuals come from it */
  const cJSON *run;             /* the JSON object of cpd or tucker */
  const cJSON *borders;         /* GeoJSON whose lines maps have */
  bool is_run_of_another;       /* it comes from another command than this one */
  const char *title;            /* default: the name of the data or of the model */
  const char *file, *model_file;
  char *const *arguments; /* the command line */
  int argument_count;
  uint64_t top, components; /* entries and components shown */
};

/** Writes the page. `explained` (may be NULL) gets the share of the tensor's squared norm that the
 *  model explains, NaN where it is not known. 0, or an exit status after an error was printed. */
int cli_report_write(const struct cli_report *report, const char *path, double *explained);

/** The same at the end of a run of cpd or tucker, whose JSON object it takes; the page is as long
 * as one is where nothing else is asked for. */
int cli_report_of_run(struct cli_report *report, cJSON *run, const char *path);

/** Checks the name of a page: it ends in .html or .htm; NULL is fine. 0, or 2 after an error.
 *  `option` is what asked for it, such as "--report". */
int cli_check_report_name(const char *option, const char *path);
/** An --output whose name ends like that of a page is a --report. 0, or 2 after an error where both
 *  are given. */
int cli_output_is_page(const char **output, const char **report);
/** What comes after the last slash. */
const char *cli_base_name(const char *path);
/** How many entries and components a page shows where nothing else is asked for. */
enum { CLI_REPORT_TOP = 10, CLI_REPORT_COMPONENTS = 30 };

#endif
