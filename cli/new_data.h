/* What subcommands share that take a model and new data: options, reading, matching by label. */
#ifndef CLI_NEW_DATA_H
#define CLI_NEW_DATA_H

#include "json.h"

struct cli_new_data {
  const char *model_file, *file;
  const char *kind, *match, *unseen;
  polyad_ktensor *model;
  polyad_tensor *outline; /* names and labels that the model's file has, or NULL */
  polyad_tensor *tensor;  /* matched */
  uint64_t skipped;       /* nonzeros that were left out */
};

/* clang-format off */
/** Options that expand inside a cli_option table of a type `t` with a member `data`. */
#define CLI_MATCH_OPTIONS(t)                                                                       \
  CLI_OPTION(t, CHOICE, data.match, "match", "HOW",                                                \
             "indices: auto (default) by label, or by number where\n"                              \
             "neither has labels; number: labels do not count", .choices = "auto number"),         \
  CLI_OPTION(t, CHOICE, data.unseen, "unseen", "HOW",                                              \
             "indices that the model lacks, where it needs them:\n"                                \
             "error (default), or skip their nonzeros", .choices = "error skip")
/* clang-format on */

/** Defaults; called before parsing. */
void cli_new_data_init(struct cli_new_data *data);
/** Reads the model and the tensor, and matches them: `rule` has a rule for each mode of the model,
 *  which `choose` fills in once the model is read. 0, or an exit status. */
int cli_new_data_read(struct cli_new_data *data, struct cli_session *session,
                      int (*choose)(void *user, polyad_match_rule *rule), void *user);
void cli_new_data_clear(struct cli_new_data *data);

/** Puts a tensor in the terms of a model's labels, or of another tensor's, where both have labels
 *  (polyad_tensor_match_labels()). 0, or an exit status. */
int cli_match_labels(struct cli_session *session, const polyad_tensor *labels,
                     polyad_tensor **tensor);

/** What --model-kind says. */
#define CLI_MODEL_KINDS "auto signed nonnegative poisson"
polyad_model_kind cli_model_kind(const char *name);
/** Modes of a model from a list such as 1,3: numbers from 1 or names, different. 0, or an exit
 *  status; `option` is for messages. */
int cli_read_modes(const struct cli_new_data *data, const char *option, const char *text,
                   int *modes, int *count);

/** The mode that the first `length` characters name, from 0; -1 when there is none. */
int cli_find_mode(const struct cli_new_data *data, const char *text, size_t length);

/** Members that all these subcommands have: model, file, match, skipped. */
void cli_json_new_data(cJSON *object, const struct cli_new_data *data);

#endif
