/* polyad project: rows of a model for new indices. */
#include "command.h"
#include "components.h"
#include "names.h"
#include "new_data.h"
#include "phases.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct project {
  struct cli_session session;
  struct cli_new_data data;
  const char *mode_text, *rows, *fixed_text, *output;
  uint64_t max_iterations, top;
  double tolerance;
  polyad_project_options options;
  polyad_fixed_entry *fixed;
  polyad_ktensor *projected;
  polyad_project_info info;
};

static const struct cli_option option_table[] = {
    CLI_HEADING("projection"),
    CLI_OPTION(struct project, TEXT, mode_text, "mode", "LIST",
               "mode that gets new rows, by number (from 1) or name\n(required); several, such as "
               "1,3, take turns",
               .letter = 'm'),
    CLI_OPTION(struct project, CHOICE, data.kind, "model-kind", "KIND",
               "auto (default): nonnegative where the model is, else\nsigned; poisson for models "
               "of counts (cpd apr-...)",
               .choices = CLI_MODEL_KINDS),
    CLI_OPTION(struct project, CHOICE, rows, "rows", "WHICH",
               "all (default): every index of NEW; unseen: only those\nwhose label the model lacks",
               .choices = "all unseen"),
    CLI_OPTION(struct project, TEXT, fixed_text, "fix", "LIST",
               "entries that are known, MODE:COMPONENT=VALUE for all\nrows, "
               "MODE:COMPONENT:INDEX=VALUE for one (its label, or\nnumber), separated by commas"),
    CLI_MATCH_OPTIONS(struct project),
    CLI_OPTION(struct project, COUNT, max_iterations, "max-iters", "N",
               "of several modes: most rounds (default 1000)", .letter = 'i', .least = 1,
               .most = 999999999),
    CLI_OPTION(struct project, REAL, tolerance, "tol", "X",
               "of several modes: stop when no row changes by more\n(default 1e-10)"),
    CLI_HEADING("output"),
    CLI_OPTION(struct project, RESULT, output, "output", "PATH",
               "write the model with the new rows, as polyad cpd does", .letter = 'o'),
    CLI_OPTION(struct project, COUNT, top, "top", "K",
               "entries shown per mode and component (default 5)", .most = 100),
    CLI_READ_OPTIONS(struct project),
    CLI_COMMON_OPTIONS(struct project)};

const struct cli_usage cli_project_usage = {
    .command = "project",
    .synopsis = "MODEL NEW --mode N [options]",
    .summary =
        "Gives the indices of a mode of the tensor in NEW their rows in MODEL (a file of polyad\n"
        "cpd), all other factors held fast: what the known components say of new slices. Labels\n"
        "of the other modes are matched by name. Cells that are not in NEW count as zeros.",
    .example = "  polyad project rides.ptm august.csv --mode date -o august.ptm",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2};

/* ---- what stays and what is known ----------------------------------------------------------- */

static int choose_rules(void *user, polyad_match_rule *rule) {
  struct project *p = user;
  int status =
      cli_read_modes(&p->data, "--mode", p->mode_text, p->options.modes, &p->options.mode_count);
  if (status != 0) return status;
  bool unseen = strcmp(p->rows, "unseen") == 0;
  for (int k = 0; k < p->options.mode_count; ++k)
    rule[p->options.modes[k]] = unseen ? POLYAD_MATCH_NEW : POLYAD_MATCH_OWN;
  return 0;
}

static bool find_index(const struct project *p, int mode, const char *text, uint64_t *index) {
  const polyad_tensor *tensor = p->data.tensor;
  uint64_t length = polyad_tensor_dims(tensor)[mode];
  if (polyad_tensor_label(tensor, mode, 0, NULL) == NULL)
    return cli_read_count(text, index) && *index >= 1 && (*index)-- <= length;
  for (*index = 0; *index < length; ++*index)
    if (strcmp(polyad_tensor_label(tensor, mode, *index, NULL), text) == 0) return true;
  return false;
}

/* MODE:COMPONENT=VALUE or MODE:COMPONENT:INDEX=VALUE; false when it is malformed. A label may have
 * colons and equals signs in it. */
static bool read_fixed(const struct project *p, char *text, polyad_fixed_entry *entry) {
  char *value = strrchr(text, '='), *component = strchr(text, ':');
  if (value == NULL || component == NULL || component > value) return false;
  *value++ = *component++ = '\0';
  char *index = strchr(component, ':');
  if (index != NULL) *index++ = '\0';
  entry->mode = cli_find_mode(&p->data, text, strlen(text));
  entry->index = POLYAD_EVERY_INDEX;
  bool negative = *value == '-';
  if (entry->mode < 0 || !cli_read_count(component, &entry->component) || entry->component < 1 ||
      !cli_read_real(value + negative, &entry->value))
    return false;
  if (negative) entry->value = -entry->value;
  --entry->component;
  return index == NULL || find_index(p, entry->mode, index, &entry->index);
}

static int read_all_fixed(struct project *p) {
  char quoted[CLI_QUOTE_BYTES], word[1024];
  if (p->fixed_text == NULL) return 0;
  size_t most = 1;
  for (const char *at = p->fixed_text; *at != '\0'; ++at)
    most += *at == ',';
  p->fixed = calloc(most, sizeof *p->fixed);
  if (p->fixed == NULL) return cli_failure("out of memory");
  for (const char *at = p->fixed_text;; ++at) {
    size_t length = strcspn(at, ",");
    bool good = length < sizeof word;
    if (good) {
      memcpy(word, at, length);
      word[length] = '\0';
      good = read_fixed(p, word, &p->fixed[p->options.fixed_count]);
    }
    if (!good)
      return cli_usage_error("--fix %s found; expected MODE:COMPONENT=VALUE or "
                             "MODE:COMPONENT:INDEX=VALUE, separated by commas, with an index of "
                             "the new data",
                             cli_quote(quoted, p->fixed_text));
    ++p->options.fixed_count;
    at += length;
    if (*at == '\0') break;
  }
  p->options.fixed = p->fixed;
  return 0;
}

/* ---- results -------------------------------------------------------------------------------- */

static int write_model(const struct project *p) {
  polyad_context *context = p->session.context;
  polyad_status status =
      cli_write_ktensor(context, p->projected, p->data.tensor, p->top, p->output);
  return status == POLYAD_OK ? 0 : cli_library_failure(context);
}

static int write_json(struct project *p) {
  cJSON *object = cJSON_CreateObject();
  uint64_t modes[POLYAD_MAX_ORDER];
  for (int k = 0; k < p->options.mode_count; ++k)
    modes[k] = (uint64_t)p->options.modes[k] + 1;
  cli_json_new_data(object, &p->data);
  cli_json_counts(object, "modes", modes, p->options.mode_count);
  cli_json_text(object, "model_kind", polyad_model_kind_string(p->info.kind));
  cli_json_count(object, "rank", polyad_ktensor_rank(p->projected));
  cli_json_counts(object, "dims", polyad_ktensor_dims(p->projected),
                  polyad_ktensor_order(p->projected));
  cli_json_count(object, "nnz", polyad_tensor_nnz(p->data.tensor));
  cli_json_count(object, "fixed", p->options.fixed_count);
  cli_json_count(object, "seed", p->session.seed);
  cli_json_count(object, "iterations", (uint64_t)p->info.iterations);
  cli_json_bool(object, "converged", p->info.converged);
  cli_json_real(object, "fit", p->info.fit);
  cli_json_text(object, "device", p->info.device);
  cli_json_real(object, "seconds", p->info.seconds);
  return cli_json_write(&p->session, object);
}

static int report(const struct project *p) {
  if (!p->info.converged)
    cli_talk(&p->session, "polyad: warning: not converged after %d rounds\n", p->info.iterations);
  if (!cli_shows_results(&p->session, p->output)) return 0;
  cli_print_dims(polyad_ktensor_dims(p->projected), polyad_ktensor_order(p->projected));
  printf(", %llu nonzeros, %s model of rank %llu, new rows in",
         (unsigned long long)polyad_tensor_nnz(p->data.tensor),
         polyad_model_kind_string(p->info.kind),
         (unsigned long long)polyad_ktensor_rank(p->projected));
  for (int k = 0; k < p->options.mode_count; ++k)
    printf("%s mode %d", k > 0 ? "," : "", p->options.modes[k] + 1);
  printf(" (on %s)", p->info.device);
  if (isnan(p->info.fit))
    puts("");
  else
    printf(": fit %.6f\n", p->info.fit);
  if (p->top > 0) cli_print_components(p->projected, p->data.tensor, (int)p->top);
  return cli_finish_output();
}

static int compute(struct project *p) {
  struct cli_session *session = &p->session;
  p->options.kind = cli_model_kind(p->data.kind);
  p->options.max_iterations = (int)p->max_iterations;
  p->options.tolerance = p->tolerance;
  cli_iterations_begin(session);
  polyad_status done = polyad_project(session->context, p->data.model, p->data.tensor, &p->options,
                                      &p->projected, &p->info);
  return cli_iterations_end(session, done);
}

static int run(struct project *p) {
  struct cli_session *session = &p->session;
  const struct cli_output outputs[] = {{"--output", p->output}, {"--json", session->json}};
  const char *const inputs[] = {p->data.model_file, p->data.file};
  int status = cli_check_model_name("--output", p->output, POLYAD_CONTENTS_KTENSOR);
  if (status == 0) status = cli_session_open(session);
  if (status == 0) status = cli_check_outputs(session, outputs, 2, inputs, 2);
  if (status == 0) status = cli_new_data_read(&p->data, session, choose_rules, p);
  if (status == 0) status = read_all_fixed(p);
  if (status == 0) status = compute(p);
  cli_phase(CLI_WRITE);
  if (status == 0) status = write_model(p);
  if (status != 0) return status;
  int told = report(p); /* the object has the time of that */
  status = write_json(p);
  return status == 0 ? told : status;
}

int cli_project(int argc, char **argv) {
  struct project p = {.rows = "all", .max_iterations = 1000, .tolerance = 1e-10, .top = 5};
  cli_session_init(&p.session);
  cli_new_data_init(&p.data);
  polyad_project_options_init(&p.options);
  int first, status = cli_parse(&cli_project_usage, argc, argv, &p, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  if (p.mode_text == NULL)
    return cli_usage_error("the mode is missing; give it with --mode N (see polyad project "
                           "--help)");
  p.data.model_file = argv[first];
  p.data.file = argv[first + 1];
  status = run(&p);
  free(p.fixed);
  polyad_ktensor_destroy(p.projected);
  cli_new_data_clear(&p.data);
  cli_session_close(&p.session);
  return status;
}
