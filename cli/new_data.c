/* A model and new data. */
#include "new_data.h"
#include "names.h"
#include "phases.h"
#include "text.h"
#include <string.h>

void cli_new_data_init(struct cli_new_data *data) {
  *data = (struct cli_new_data){.kind = "auto", .match = "auto", .unseen = "error"};
}

polyad_model_kind cli_model_kind(const char *name) {
  return (polyad_model_kind)cli_choice(CLI_MODEL_KINDS, name);
}

int cli_match_labels(struct cli_session *session, const polyad_tensor *labels,
                     polyad_tensor **tensor) {
  polyad_tensor *matched = NULL;
  if (polyad_tensor_match_labels(session->context, labels, *tensor, POLYAD_UNSEEN_ERROR, NULL,
                                 &matched) != POLYAD_OK)
    return cli_library_failure(session->context);
  if (matched == NULL) return 0;
  polyad_tensor_destroy(*tensor);
  *tensor = matched;
  return 0;
}

static int match(struct cli_new_data *data, struct cli_session *session, polyad_tensor *given,
                 const polyad_match_options *options) {
  polyad_status status = polyad_tensor_match(session->context, data->model, data->outline, given,
                                             options, &data->skipped, &data->tensor);
  if (status != POLYAD_OK) return cli_library_failure(session->context);
  if (data->skipped > 0)
    cli_talk(session, "polyad: %llu nonzeros left out\n", (unsigned long long)data->skipped);
  return 0;
}

int cli_new_data_read(struct cli_new_data *data, struct cli_session *session,
                      int (*choose)(void *user, polyad_match_rule *rule), void *user) {
  polyad_tensor *given = NULL;
  polyad_match_options options;
  polyad_match_options_init(&options);
  if (strcmp(data->match, "number") == 0) options.by = POLYAD_MATCH_NUMBER;
  if (strcmp(data->unseen, "skip") == 0) options.unseen = POLYAD_UNSEEN_SKIP;
  cli_phase(CLI_READ);
  if (polyad_ktensor_read_labelled(session->context, data->model_file, cli_precision(session),
                                   &data->model, &data->outline) != POLYAD_OK)
    return cli_library_failure(session->context);
  int status = choose(user, options.rule);
  if (status == 0) status = cli_read_tensor(session, data->file, &given);
  if (status == 0) status = match(data, session, given, &options);
  polyad_tensor_destroy(given);
  return status;
}

void cli_new_data_clear(struct cli_new_data *data) {
  polyad_ktensor_destroy(data->model);
  polyad_tensor_destroy(data->outline);
  polyad_tensor_destroy(data->tensor);
}

int cli_find_mode(const struct cli_new_data *data, const char *text, size_t length) {
  return cli_mode_of(data->outline, polyad_ktensor_order(data->model), text, length);
}

static bool has_names(const struct cli_new_data *data) {
  for (int n = 0; data->outline != NULL && n < polyad_ktensor_order(data->model); ++n)
    if (polyad_tensor_mode_name(data->outline, n) != NULL) return true;
  return false;
}

int cli_read_modes(const struct cli_new_data *data, const char *option, const char *text,
                   int *modes, int *count) {
  char quoted[CLI_QUOTE_BYTES];
  *count = 0;
  for (const char *at = text;; ++at) {
    size_t length = strcspn(at, ",");
    int mode = cli_find_mode(data, at, length);
    for (int k = 0; k < *count; ++k)
      if (modes[k] == mode) mode = -1;
    if (mode < 0)
      return cli_usage_error("%s %s found; expected different modes of the model, by number (1 to "
                             "%d)%s",
                             option, cli_quote(quoted, text), polyad_ktensor_order(data->model),
                             has_names(data) ? " or name"
                                             : "; it has no names (.ptm files keep those of "
                                               "modes; those of a .ktensor lie in FILE.labels)");
    modes[(*count)++] = mode;
    at += length;
    if (*at == '\0') return 0;
  }
}

void cli_json_new_data(cJSON *object, const struct cli_new_data *data) {
  cli_json_text(object, "model", data->model_file);
  cli_json_text(object, "file", data->file);
  cli_json_text(object, "match", data->match);
  cli_json_count(object, "skipped", data->skipped);
}
