/* polyad anomalies: what in a tensor its model does not explain. */
#include "command.h"
#include "new_data.h"
#include "parsed.h"
#include "phases.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20, NAME_BYTES = 64 };

/* Choices in the order of the library's enumerations. */
#define UNITS "cell slice index"
#define TAILS "both upper lower"
#define CELLS "all file"

struct anomalies {
  struct cli_session session;
  struct cli_new_data data;
  const char *by, *mode_text, *tail, *cells, *output;
  double fdr;
  uint64_t top;
  polyad_anomaly_options options;
  polyad_anomaly_result result;
};

static const struct cli_option option_table[] = {
    CLI_HEADING("anomalies"),
    CLI_OPTION(struct anomalies, CHOICE, by, "by", "UNIT",
               "cell (default); slice: the sum of each index of a\nmode; index: the cells of each "
               "index of a mode",
               .choices = UNITS),
    CLI_OPTION(struct anomalies, TEXT, mode_text, "mode", "LIST",
               "slices and indices of these modes, by number (from 1)\nor name (default: all)",
               .letter = 'm'),
    CLI_OPTION(
        struct anomalies, CHOICE, data.kind, "model-kind", "KIND",
        "poisson: p-values of counts; gaussian: residuals in a\nrobust scale; auto (default): "
        "poisson where all values\nare counts and no number of the model is negative",
        .choices = "auto gaussian poisson"),
    CLI_OPTION(struct anomalies, SHARE, fdr, "fdr", "X",
               "false-discovery rate: the share of false ones among\nthose found (default 0.05)"),
    CLI_OPTION(struct anomalies, COUNT, top, "top", "K",
               "the K oddest, found or not (default: all that are\nfound, of which 20 are shown)",
               .least = 1),
    CLI_OPTION(struct anomalies, CHOICE, tail, "tail", "WHICH",
               "both (default), upper: more than expected, lower", .choices = TAILS),
    CLI_OPTION(struct anomalies, CHOICE, cells, "cells", "WHICH",
               "of counts: all (default): every cell of the tensor is\na test, absent ones zeros; "
               "file: those in FILE alone",
               .choices = CELLS),
    CLI_MATCH_OPTIONS(struct anomalies),
    CLI_HEADING("output"),
    CLI_OPTION(struct anomalies, RESULT, output, "output", "FILE",
               "write the table as comma-separated text; - is standard\noutput", .letter = 'o'),
    CLI_READ_OPTIONS(struct anomalies),
    CLI_TRANSFORM_OPTIONS(struct anomalies),
    CLI_COMMON_OPTIONS_ON(struct anomalies, CLI_DEVICE_ONE)};

const struct cli_usage cli_anomalies_usage = {
    .command = "anomalies",
    .synopsis = "MODEL FILE [options]",
    .summary =
        "Finds what in the tensor in FILE the MODEL (a file of polyad cpd) does not explain:\n"
        "cells, slices or indices with far more or less than expected, so chosen that the\n"
        "share of false ones stays below --fdr. Labels are matched by name; polyad project\n"
        "gives new slices their rows first.",
    .example = "  polyad anomalies rides.ptm rides.csv --by slice --mode date",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2};

/* ---- the search ----------------------------------------------------------------------------- */

static int choose_rules(void *user, polyad_match_rule *rule) {
  struct anomalies *a = user;
  (void)rule; /* every index is the model's */
  if (a->mode_text == NULL) return 0;
  return cli_read_modes(&a->data, "--mode", a->mode_text, a->options.modes, &a->options.mode_count);
}

static void set_options(struct anomalies *a) {
  polyad_anomaly_options *options = &a->options;
  if (strcmp(a->data.kind, "poisson") == 0) options->kind = POLYAD_KIND_POISSON;
  if (strcmp(a->data.kind, "gaussian") == 0) options->kind = POLYAD_KIND_SIGNED;
  options->unit = (polyad_anomaly_unit)cli_choice(UNITS, a->by);
  options->tail = (polyad_tail)cli_choice(TAILS, a->tail);
  options->cells = (polyad_tested_cells)cli_choice(CELLS, a->cells);
  options->fdr = a->fdr;
  options->top = a->top;
}

static int compute(struct anomalies *a) {
  struct cli_session *session = &a->session;
  cli_iterations_begin(session);
  polyad_status done =
      polyad_anomalies(session->context, a->data.model, a->data.tensor, &a->options, &a->result);
  return cli_iterations_end(session, done);
}

/* ---- results -------------------------------------------------------------------------------- */

static bool is_poisson(const struct anomalies *a) { return a->result.kind == POLYAD_KIND_POISSON; }

/* Label of an index, or NULL. */
static const char *label(const struct anomalies *a, int mode, uint64_t index) {
  return polyad_tensor_label(a->data.tensor, mode, index, NULL);
}

static void mode_title(const struct anomalies *a, int mode, char title[NAME_BYTES]) {
  const char *name = polyad_tensor_mode_name(a->data.tensor, mode);
  if (name != NULL)
    snprintf(title, NAME_BYTES, "%.50s", name);
  else
    snprintf(title, NAME_BYTES, "mode%d", mode + 1);
}

/* One comma-separated field, in quotes where it has to be. */
static void put_field(FILE *to, const char *text) {
  if (strpbrk(text, ",\"\r\n") == NULL) {
    fputs(text, to);
    return;
  }
  fputc('"', to);
  for (; *text != '\0'; ++text) {
    if (*text == '"') fputc('"', to);
    fputc(*text, to);
  }
  fputc('"', to);
}

static void put_index(const struct anomalies *a, FILE *to, int mode, uint64_t index) {
  const char *text = label(a, mode, index);
  if (text != NULL)
    put_field(to, text);
  else
    fprintf(to, "%llu", (unsigned long long)index + 1);
}

static void put_number(FILE *to, double number) {
  fputc(',', to);
  if (!isnan(number)) fprintf(to, "%.17g", number);
}

static void put_table(const struct anomalies *a, FILE *to) {
  char title[NAME_BYTES];
  bool cells = a->options.unit == POLYAD_ANOMALY_CELL;
  int order = polyad_tensor_order(a->data.tensor);
  for (int n = 0; cells && n < order; ++n) {
    mode_title(a, n, title);
    if (n > 0) fputc(',', to);
    put_field(to, title);
  }
  if (!cells) fputs("mode,index", to);
  fputs(",value,expected,score,p_upper,p_lower,p,q\n", to);
  for (uint64_t k = 0; k < a->result.row_count; ++k) {
    const polyad_anomaly *row = &a->result.rows[k];
    for (int n = 0; cells && n < order; ++n) {
      if (n > 0) fputc(',', to);
      put_index(a, to, n, row->index[n]);
    }
    if (!cells) {
      mode_title(a, row->mode, title);
      put_field(to, title);
      fputc(',', to);
      put_index(a, to, row->mode, row->index[row->mode]);
    }
    const double numbers[] = {row->value,   row->expected, row->score, row->p_upper,
                              row->p_lower, row->p,        row->q};
    for (size_t j = 0; j < sizeof numbers / sizeof *numbers; ++j)
      put_number(to, numbers[j]);
    fputc('\n', to);
  }
}

static int write_table(const struct anomalies *a) {
  if (a->output == NULL) return 0;
  char *text = NULL;
  size_t length = 0;
  FILE *to = open_memstream(&text, &length);
  if (to == NULL) return cli_failure("out of memory");
  put_table(a, to);
  bool failed = ferror(to) != 0;
  int status = fclose(to) != 0 || failed ? cli_failure("out of memory") : 0;
  if (status == 0 && polyad_text_write(a->session.context, a->output, text, length) != POLYAD_OK)
    status = cli_library_failure(a->session.context);
  free(text);
  return status;
}

static cJSON *row_object(const struct anomalies *a, const polyad_anomaly *row) {
  cJSON *item = cJSON_CreateObject(), *labels = cJSON_CreateArray();
  uint64_t modes[POLYAD_MAX_ORDER], index[POLYAD_MAX_ORDER];
  int order = polyad_tensor_order(a->data.tensor), count = 0;
  for (int n = 0; n < order; ++n) {
    if (row->mode >= 0 && row->mode != n) continue;
    const char *text = label(a, n, row->index[n]);
    cJSON_AddItemToArray(labels, cli_json_text_item(text));
    modes[count] = (uint64_t)n + 1;
    index[count++] = row->index[n] + 1;
  }
  cli_json_counts(item, "modes", modes, count);
  cli_json_counts(item, "index", index, count);
  cJSON_AddItemToObject(item, "labels", labels);
  cli_json_real(item, "value", row->value);
  cli_json_real(item, "expected", row->expected);
  cli_json_real(item, "score", row->score);
  cli_json_real(item, "p_upper", row->p_upper);
  cli_json_real(item, "p_lower", row->p_lower);
  cli_json_real(item, "p", row->p);
  cli_json_real(item, "q", row->q);
  return item;
}

static int write_json(struct anomalies *a) {
  if (a->session.json == NULL) return 0;
  cJSON *object = cJSON_CreateObject();
  cli_json_new_data(object, &a->data);
  cli_json_text(object, "model_kind", is_poisson(a) ? "poisson" : "gaussian");
  cli_json_text(object, "by", a->by);
  cli_json_text(object, "tail", a->tail);
  cli_json_text(object, "cells", is_poisson(a) ? a->cells : NULL);
  cli_json_real(object, "fdr", a->fdr);
  cli_json_counts(object, "dims", polyad_tensor_dims(a->data.tensor),
                  polyad_tensor_order(a->data.tensor));
  cli_json_count(object, "nnz", polyad_tensor_nnz(a->data.tensor));
  cli_json_real(object, "tested", a->result.tested);
  cli_json_count(object, "found", a->result.found);
  cli_json_real(object, "center", a->result.center);
  cli_json_real(object, "scale", a->result.scale);
  cli_json_text(object, "device", a->result.device);
  cli_json_real(object, "seconds", a->result.seconds);
  cJSON *rows = cJSON_AddArrayToObject(object, "rows");
  for (uint64_t k = 0; k < a->result.row_count; ++k)
    cJSON_AddItemToArray(rows, row_object(a, &a->result.rows[k]));
  return cli_json_write(&a->session, object);
}

static void print_index(const struct anomalies *a, int mode, uint64_t index) {
  char quoted[CLI_QUOTE_BYTES];
  const char *text = label(a, mode, index);
  if (text == NULL) {
    printf("  %llu", (unsigned long long)index + 1);
    return;
  }
  cli_quote(quoted, text);
  printf("  %.*s", (int)strlen(quoted) - 2, quoted + 1); /* without the quotes */
}

static void print_row(const struct anomalies *a, const polyad_anomaly *row) {
  char title[NAME_BYTES];
  printf("%10.6g  %10.4g  %8.3f  %9.2e  %9.2e%s", row->value, row->expected, row->score, row->p,
         row->q, row->q <= a->fdr ? "" : "  (not found)");
  if (row->mode >= 0) {
    mode_title(a, row->mode, title);
    printf("  %s", title);
    print_index(a, row->mode, row->index[row->mode]);
  }
  for (int n = 0; row->mode < 0 && n < polyad_tensor_order(a->data.tensor); ++n)
    print_index(a, n, row->index[n]);
  puts("");
}

static int report(const struct anomalies *a) {
  const polyad_anomaly_result *result = &a->result;
  if (!cli_shows_results(&a->session, a->output)) return 0;
  printf("%llu of %.15g %s found at a false-discovery rate of %g (%s model), on %s, %.2f s\n",
         (unsigned long long)result->found, result->tested,
         a->options.unit == POLYAD_ANOMALY_CELL    ? "cells"
         : a->options.unit == POLYAD_ANOMALY_SLICE ? "slices"
                                                   : "indices",
         a->fdr, is_poisson(a) ? "poisson" : "gaussian", result->device, result->seconds);
  uint64_t shown = result->row_count;
  if (a->top == 0 && shown > SHOWN) shown = SHOWN;
  if (shown > 0)
    printf("\n%10s  %10s  %8s  %9s  %9s  %s\n", "value", "expected", "score", "p", "q",
           a->options.unit == POLYAD_ANOMALY_CELL ? "cell" : "where");
  for (uint64_t k = 0; k < shown; ++k)
    print_row(a, &result->rows[k]);
  if (shown < result->row_count)
    printf("... and %llu more (--output has all)\n",
           (unsigned long long)(result->row_count - shown));
  return cli_finish_output();
}

static int run(struct anomalies *a) {
  struct cli_session *session = &a->session;
  const struct cli_output outputs[] = {{"--output", a->output}, {"--json", session->json}};
  const char *const inputs[] = {a->data.model_file, a->data.file};
  int status = cli_session_open_on_one(session);
  if (status == 0) status = cli_check_outputs(session, outputs, 2, inputs, 2);
  if (status == 0) status = cli_new_data_read(&a->data, session, choose_rules, a);
  if (status == 0) status = compute(a);
  if (status == 0 && a->options.unit == POLYAD_ANOMALY_INDEX && !is_poisson(a) &&
      a->options.tail != POLYAD_TAIL_BOTH)
    cli_talk(session, "polyad: note: of values that are no counts indices are judged by their "
                      "squared residuals, and --tail does not count\n");
  cli_phase(CLI_WRITE);
  if (status == 0) status = write_table(a);
  if (status != 0) return status;
  int told = report(a); /* the object has the time of that */
  status = write_json(a);
  return status == 0 ? told : status;
}

int cli_anomalies(int argc, char **argv) {
  struct anomalies a = {.by = "cell", .tail = "both", .cells = "all", .fdr = 0.05};
  cli_session_init(&a.session);
  cli_new_data_init(&a.data);
  polyad_anomaly_options_init(&a.options);
  int first, status = cli_parse(&cli_anomalies_usage, argc, argv, &a, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  if (a.mode_text != NULL && strcmp(a.by, "cell") == 0)
    return cli_usage_error("--mode found; expected it with --by slice or --by index");
  bool gaussian = a.data.kind != NULL && strcmp(a.data.kind, "gaussian") == 0;
  if (gaussian && cli_parsed_has("cells"))
    return cli_usage_error("--cells found with --model-kind gaussian; it is for counts");
  if (gaussian && strcmp(a.by, "index") == 0 && strcmp(a.tail, "both") != 0)
    return cli_usage_error("--tail found with --by index and --model-kind gaussian, which looks "
                           "for large squared residuals alone");
  a.data.model_file = argv[first];
  a.data.file = argv[first + 1];
  set_options(&a);
  status = run(&a);
  polyad_anomaly_result_clear(&a.result);
  cli_new_data_clear(&a.data);
  cli_session_close(&a.session);
  return status;
}
