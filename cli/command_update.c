/* polyad update: a model goes on with new slices. */
#include "command.h"
#include "components.h"
#include "manifest.h"
#include "names.h"
#include "new_data.h"
#include "phases.h"
#include "text.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct update {
  struct cli_session session;
  struct cli_new_data data;
  const char *mode_text, *output;
  const char *nonnegative; /* a list of modes, CLI_ALL_MODES, or NULL */
  uint64_t rounds, top;
  double forget;
  char *old_state, *new_state;   /* files with sums; new_state NULL: there is no place for one */
  char *old_before, *new_before; /* where those before are until the model is written, too */
  bool resumed;                  /* the sums came from a file */
  polyad_update_options options;
  polyad_updater *updater;
  polyad_ktensor *updated;
  polyad_update_info info;
};

static const struct cli_option option_table[] = {
    CLI_HEADING("update"),
    CLI_OPTION(struct update, TEXT, mode_text, "mode", "N",
               "mode that grows, by number (from 1) or name (required)", .letter = 'm'),
    CLI_OPTION(struct update, REAL, forget, "forget", "X",
               "weight of all that came before, such as 0.98, above 0\nand at most 1 (default 1: "
               "nothing is forgotten)"),
    CLI_OPTION(struct update, COUNT, rounds, "rounds", "N",
               "how often new rows and factors are improved in turn\n(default 1)", .least = 1,
               .most = 1000000),
    CLI_OPTION(struct update, CHOICE, data.kind, "model-kind", "KIND",
               "auto (default): nonnegative where the model is, else\nsigned; poisson: counts",
               .choices = CLI_MODEL_KINDS),
    CLI_OPTION(
        struct update, MODES, nonnegative, "nonnegative", "MODES",
        "of signed models: keep factors nonnegative all the same, of\nall modes or of a list "
        "such as 1,3 or origin,date"),
    CLI_MATCH_OPTIONS(struct update),
    CLI_HEADING("output"),
    CLI_OPTION(struct update, RESULT, output, "output", "PATH",
               "write the updated model (required; it may be MODEL), and\nPATH.state.ptm, with "
               "which the next update goes on",
               .letter = 'o'),
    CLI_OPTION(struct update, COUNT, top, "top", "K",
               "entries shown per mode and component (default 0: none)", .most = 100),
    CLI_READ_OPTIONS(struct update),
    CLI_COMMON_OPTIONS_ON(struct update, CLI_DEVICE_ONE)};

const struct cli_usage cli_update_usage = {
    .command = "update",
    .synopsis = "MODEL NEW --mode N -o PATH [options]",
    .summary =
        "Lets a model (a file of polyad cpd) go on with the slices of a mode that the tensor in\n"
        "NEW adds, without the data that it was made of: new labels of the mode are appended,\n"
        "known ones get more data, and all other factors follow. Takes time for NEW, not for\n"
        "what came before.",
    .example = "  polyad update rides.ptm today.csv --mode date --forget 0.98 -o rides.ptm",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2};

/* ---- files ---------------------------------------------------------------------------------- */

/* PATH, without slashes at its end, and an ending; NULL: no memory. */
static char *name_beside(const char *path, const char *ending) {
  size_t length = strlen(path), more = strlen(ending) + 1;
  while (length > 1 && path[length - 1] == '/')
    --length;
  char *name = malloc(length + more);
  if (name == NULL) return NULL;
  memcpy(name, path, length);
  memcpy(name + length, ending, more);
  return name;
}

static int name_states(const char *path, char **state, char **before) {
  *state = name_beside(path, ".state.ptm");
  *before = name_beside(path, ".state.ptm.prev");
  return *state != NULL && *before != NULL ? 0 : cli_failure("out of memory");
}

static int find_states(struct update *u) {
  int status = name_states(u->data.model_file, &u->old_state, &u->old_before);
  if (status == 0 && strcmp(u->output, "-") != 0)
    status = name_states(u->output, &u->new_state, &u->new_before);
  return status;
}

static int check_files(struct update *u) {
  const struct cli_output outputs[] = {
      {"--output", u->output}, {"--json", u->session.json}, {"--output", u->new_state}};
  const char *const inputs[] = {u->data.file};
  int status = cli_check_outputs(&u->session, outputs, 3, inputs, 1);
  if (status == 0) status = cli_check_inputs(&outputs[1], 1, &u->data.model_file, 1);
  cli_manifest_replaced(&u->session, u->data.model_file);
  cli_manifest_replaced(&u->session, u->old_state);
  return status;
}

/* ---- the update ----------------------------------------------------------------------------- */

static int choose_rules(void *user, polyad_match_rule *rule) {
  struct update *u = user;
  int modes[POLYAD_MAX_ORDER], count;
  int status = cli_read_modes(&u->data, "--mode", u->mode_text, modes, &count);
  if (status != 0) return status;
  if (count > 1) return cli_usage_error("--mode has %d modes; expected one that grows", count);
  status = cli_nonnegative_modes(u->data.outline, polyad_ktensor_order(u->data.model),
                                 u->nonnegative, &u->options.nonnegative_modes);
  if (status != 0) return status;
  u->options.mode = modes[0];
  rule[modes[0]] = POLYAD_MATCH_EXTEND;
  return 0;
}

static polyad_status read_sums(struct update *u, const char *path) {
  polyad_status status =
      polyad_updater_read(u->session.context, path, u->data.model, &u->options, &u->updater);
  u->resumed = status == POLYAD_OK;
  return status;
}

/* With the sums beside the model where they belong to it, else from the model alone: which is said.
 */
static int make_updater(struct update *u) {
  polyad_context *context = u->session.context;
  cli_phase(CLI_INIT);
  if (access(u->old_before, F_OK) == 0 && read_sums(u, u->old_before) == POLYAD_OK) return 0;
  if (access(u->old_state, F_OK) == 0) {
    polyad_status status = read_sums(u, u->old_state);
    if (u->resumed) return 0;
    if (status != POLYAD_MISMATCH) return cli_library_failure(context);
    cli_talk(&u->session, "polyad: warning: %s\n", polyad_last_error(context));
  }
  char quoted[CLI_QUOTE_BYTES];
  cli_talk(&u->session, "polyad: no sums for the model in %s: taken from the model itself\n",
           cli_quote(quoted, u->old_state));
  polyad_status made = polyad_updater_create(context, u->data.model, &u->options, &u->updater);
  return made == POLYAD_OK ? 0 : cli_library_failure(context);
}

static int compute(struct update *u) {
  struct cli_session *session = &u->session;
  uint64_t old = polyad_updater_rows(u->updater);
  uint64_t slices = polyad_tensor_dims(u->data.tensor)[u->options.mode];
  uint64_t *rows = calloc(slices, sizeof *rows);
  if (rows == NULL) return cli_failure("out of memory");
  for (uint64_t i = 0; i < slices; ++i)
    rows[i] = i < old ? i : POLYAD_NEW_ROW;
  cli_iterations_begin(session);
  polyad_status done =
      polyad_updater_add(session->context, u->updater, u->data.tensor, rows, &u->info);
  free(rows);
  int status = cli_iterations_end(session, done);
  if (status != 0) return status;
  done = polyad_updater_model(session->context, u->updater, &u->updated);
  return done == POLYAD_OK ? 0 : cli_library_failure(session->context);
}

/* ---- results -------------------------------------------------------------------------------- */

static polyad_status write_model(const struct update *u) {
  return cli_write_ktensor(u->session.context, u->updated, u->data.tensor, u->top, u->output);
}

/* The model comes last: until it is there, the sums of the one before are kept, so that a run that
 * is killed leaves a model with its sums, the old one or the new one. */
static int write_both(const struct update *u) {
  polyad_context *context = u->session.context;
  if (u->new_state == NULL) {
    if (write_model(u) != POLYAD_OK) return cli_library_failure(context);
    cli_talk(&u->session, "polyad: the sums are not kept beside standard output\n");
    return 0;
  }
  bool before = rename(u->new_state, u->new_before) == 0;
  if (!before && errno != ENOENT) return cli_failure("%s: %s", u->new_before, strerror(errno));
  polyad_status status = polyad_updater_write(context, u->updater, u->updated, u->new_state);
  if (status == POLYAD_OK) status = write_model(u);
  if (status == POLYAD_OK) {
    (void)unlink(u->new_before); /* it belongs to no model any more, and may stay */
    return 0;
  }
  int failed = cli_library_failure(context);
  if (before)
    (void)rename(u->new_before, u->new_state);
  else
    (void)unlink(u->new_state);
  return failed;
}

static int write_json(struct update *u) {
  cJSON *object = cJSON_CreateObject();
  cli_json_new_data(object, &u->data);
  cli_json_count(object, "mode", (uint64_t)u->options.mode + 1);
  cli_json_text(object, "model_kind", polyad_model_kind_string(u->info.kind));
  cli_json_modes(object, "nonnegative_modes", u->options.nonnegative_modes,
                 polyad_ktensor_order(u->updated));
  cli_json_real(object, "forget", u->forget);
  cli_json_count(object, "rounds", u->rounds);
  cli_json_bool(object, "resumed", u->resumed);
  cli_json_text(object, "output", u->output);
  cli_json_text(object, "state", u->new_state);
  cli_json_count(object, "rank", polyad_ktensor_rank(u->updated));
  cli_json_counts(object, "dims", polyad_ktensor_dims(u->updated),
                  polyad_ktensor_order(u->updated));
  cli_json_count(object, "nnz", polyad_tensor_nnz(u->data.tensor));
  cli_json_count(object, "appended", u->info.appended);
  cli_json_count(object, "changed", u->info.changed);
  cli_json_real(object, "fit", u->info.fit);
  cli_json_text(object, "device", u->info.device);
  cli_json_real(object, "seconds", u->info.seconds);
  return cli_json_write(&u->session, object);
}

static int report(const struct update *u) {
  if (!cli_shows_results(&u->session, u->output)) return 0;
  cli_print_dims(polyad_ktensor_dims(u->updated), polyad_ktensor_order(u->updated));
  printf(
      ", %s model of rank %llu: %llu nonzeros, %llu slices of mode %d appended, %llu changed",
      polyad_model_kind_string(u->info.kind), (unsigned long long)polyad_ktensor_rank(u->updated),
      (unsigned long long)polyad_tensor_nnz(u->data.tensor), (unsigned long long)u->info.appended,
      u->options.mode + 1, (unsigned long long)u->info.changed);
  if (!isnan(u->info.fit)) printf("; fit of the new data %.6f", u->info.fit);
  printf(" (on %s)\n", u->info.device);
  if (u->top > 0) cli_print_components(u->updated, u->data.tensor, (int)u->top);
  return cli_finish_output();
}

static int run(struct update *u) {
  struct cli_session *session = &u->session;
  int status = cli_check_model_name("--output", u->output, POLYAD_CONTENTS_KTENSOR);
  if (status == 0) status = cli_session_open_on_one(session);
  if (status == 0) status = find_states(u);
  if (status == 0) status = check_files(u);
  if (status == 0) status = cli_new_data_read(&u->data, session, choose_rules, u);
  if (status == 0) status = make_updater(u);
  if (status == 0) status = compute(u);
  cli_phase(CLI_WRITE);
  if (status == 0) status = write_both(u);
  if (status != 0) return status;
  int told = report(u); /* the object has the time of that */
  status = write_json(u);
  return status == 0 ? told : status;
}

static int check_options(struct update *u) {
  if (u->mode_text == NULL)
    return cli_usage_error("the mode is missing; give it with --mode N (see polyad update --help)");
  if (u->output == NULL)
    return cli_usage_error("the updated model has no place; give it with --output PATH");
  if (!(u->forget > 0 && u->forget <= 1))
    return cli_usage_error("--forget %g found; expected a number above 0 and at most 1", u->forget);
  u->options.forget = u->forget;
  u->options.rounds = (int)u->rounds;
  u->options.kind = cli_model_kind(u->data.kind);
  if (u->nonnegative != NULL && u->options.kind == POLYAD_KIND_POISSON)
    return cli_usage_error("--nonnegative found with --model-kind poisson, which keeps all factors "
                           "nonnegative");
  return 0;
}

int cli_update(int argc, char **argv) {
  struct update u = {.forget = 1, .rounds = 1};
  cli_session_init(&u.session);
  cli_new_data_init(&u.data);
  polyad_update_options_init(&u.options);
  int first, status = cli_parse(&cli_update_usage, argc, argv, &u, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = check_options(&u);
  if (status != 0) return status;
  u.data.model_file = argv[first];
  u.data.file = argv[first + 1];
  status = run(&u);
  free(u.old_state);
  free(u.new_state);
  free(u.old_before);
  free(u.new_before);
  polyad_updater_destroy(u.updater);
  polyad_ktensor_destroy(u.updated);
  cli_new_data_clear(&u.data);
  cli_session_close(&u.session);
  return status;
}
