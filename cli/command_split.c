/* polyad split: deals the entries of a tensor out at random, into files for fitting and testing. */
#include "command.h"
#include "json.h"
#include "names.h"
#include "phases.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 3, NAME_BYTES = 4096 };

struct split {
  struct cli_session session;
  const char *file, *output, *type, *mode_text;
  double test, validation; /* NaN: not given */
  uint64_t negatives;
  int mode; /* in which negatives differ */
  char name[PARTS][NAME_BYTES];
  polyad_tensor *tensor, *part[PARTS]; /* test, validation, train */
};

static const char *const words[PARTS] = {"test", "validation", "train"};

static const struct cli_option option_table[] = {
    CLI_HEADING("parts"),
    CLI_OPTION(struct split, SHARE, test, "test", "SHARE",
               "share of the entries in PREFIX-test (default 0.1)"),
    CLI_OPTION(struct split, SHARE, validation, "validation", "SHARE",
               "share of the entries in PREFIX-validation (default: none)"),
    CLI_OPTION(struct split, COUNT, negatives, "negatives", "K",
               "for every entry of PREFIX-test K cells of value 0 that FILE\nhas not: equal but in "
               "the mode of --mode (default: none)",
               .most = 1000000),
    CLI_OPTION(struct split, TEXT, mode_text, "mode", "N",
               "the mode in which they differ, by number (from 1) or name\n(default: the last)",
               .letter = 'm'),
    CLI_HEADING("output"),
    CLI_OPTION(struct split, RESULT, output, "output", "PREFIX",
               "beginning of the files' names (required)", .letter = 'o'),
    CLI_OPTION(struct split, TEXT, type, "type", "EXTENSION",
               "of the files: ptn (default), or another of polyad help files"),
    CLI_READ_OPTIONS(struct split),
    CLI_TRANSFORM_OPTIONS(struct split),
    CLI_COMMON_OPTIONS_ON(struct split, CLI_DEVICE_CPU)};

const struct cli_usage cli_split_usage = {
    .command = "split",
    .synopsis = "FILE --output PREFIX [options]",
    .summary =
        "Deals the entries of the tensor in FILE out at random, by --seed, to PREFIX-train,\n"
        "PREFIX-test and PREFIX-validation, all with the lengths and labels of FILE. Zeros in\n"
        "FILE are entries, unless --zeros drop is given.",
    .example = "  polyad split ratings.csv --test 0.1 --validation 0.1 --output ratings",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1};

static int parse(struct split *split, int argc, char **argv) {
  int first, status = cli_parse(&cli_split_usage, argc, argv, split, &first);
  if (status != 0) return status;
  split->file = argv[first];
  if (split->output == NULL)
    return cli_usage_error("the files' names are missing; give --output PREFIX");
  if (split->mode_text != NULL && split->negatives == 0)
    return cli_usage_error("--mode found without cells that differ in it; add --negatives K");
  if (strcmp(split->output, "-") == 0)
    return cli_usage_error("--output - found; expected the beginning of the files' names");
  if (!isnan(split->validation) && split->test + split->validation >= 1)
    return cli_usage_error("--test %g and --validation %g leave nothing to fit to", split->test,
                           split->validation);
  if (split->session.zeros == NULL) split->session.zeros = "keep";
  const char *type = split->type[0] == '.' ? split->type + 1 : split->type;
  for (int k = 0; k < PARTS; ++k)
    if (snprintf(split->name[k], NAME_BYTES, "%s-%s.%s", split->output, words[k], type) >=
        NAME_BYTES)
      return cli_usage_error("--output is too long");
  return cli_check_tensor_name(split->name[0]);
}

/* The file of part k, or NULL where there is no such part. */
static const char *file_of(const struct split *split, int k) {
  return k == 1 && isnan(split->validation) ? NULL : split->name[k];
}

/* Negatives are drawn at random: where few cells are free, many draws are in vain. */
static void tell_of_few(const struct split *split, uint64_t found) {
  double wanted = (double)split->negatives * (double)polyad_tensor_nnz(split->part[0]);
  if ((double)found < wanted)
    cli_talk(&split->session,
             "polyad: %llu negatives of %.0f: cells of FILE and cells drawn twice do not count\n",
             (unsigned long long)found, wanted);
}

static polyad_status deal(struct split *split) {
  polyad_context *context = split->session.context;
  const double shares[] = {split->test, split->validation};
  polyad_tensor *parts[PARTS] = {NULL};
  bool validation = !isnan(split->validation);
  polyad_status status =
      polyad_tensor_split(context, split->tensor, validation ? 2 : 1, shares, parts);
  split->part[0] = parts[0];
  split->part[1] = validation ? parts[1] : NULL;
  split->part[2] = validation ? parts[2] : parts[1];
  if (status != POLYAD_OK || split->negatives == 0) return status;
  polyad_tensor *more = NULL;
  status = polyad_tensor_add_negatives(context, split->part[0], split->tensor,
                                       (int)split->negatives, split->mode, &more);
  if (status != POLYAD_OK) return status;
  tell_of_few(split, polyad_tensor_nnz(more) - polyad_tensor_nnz(split->part[0]));
  polyad_tensor_destroy(split->part[0]);
  split->part[0] = more;
  return POLYAD_OK;
}

static int write_parts(struct split *split) {
  polyad_context *context = split->session.context;
  for (int k = 0; k < PARTS; ++k)
    if (split->part[k] != NULL &&
        polyad_tensor_write(context, split->part[k], split->name[k], POLYAD_FILE_AUTO) != POLYAD_OK)
      return cli_library_failure(context);
  return 0;
}

static int report(struct split *split) {
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "file", split->file);
  cli_json_count(object, "nnz", polyad_tensor_nnz(split->tensor));
  cli_json_counts(object, "dims", polyad_tensor_dims(split->tensor),
                  polyad_tensor_order(split->tensor));
  cli_json_count(object, "seed", split->session.seed);
  cli_json_count(object, "negatives", split->negatives);
  cJSON *parts = cJSON_AddArrayToObject(object, "parts");
  for (int k = 0; k < PARTS; ++k) {
    if (split->part[k] == NULL) continue;
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "part", words[k]);
    cli_json_text(item, "file", split->name[k]);
    cli_json_count(item, "nnz", polyad_tensor_nnz(split->part[k]));
    cJSON_AddItemToArray(parts, item);
    if (cli_shows_results(&split->session, NULL))
      printf("%s: %llu entries\n", split->name[k],
             (unsigned long long)polyad_tensor_nnz(split->part[k]));
  }
  int status = cli_json_write(&split->session, object);
  return status == 0 ? cli_finish_output() : status;
}

static int run(struct split *split) {
  struct cli_session *session = &split->session;
  const struct cli_output outputs[] = {{"PREFIX-test", split->name[0]},
                                       {"PREFIX-train", split->name[2]},
                                       {"--json", session->json},
                                       {"PREFIX-validation", file_of(split, 1)}};
  int status = cli_session_open_on_cpu(session);
  if (status == 0) status = cli_check_outputs(session, outputs, 4, &split->file, 1);
  if (status == 0) status = cli_read_tensor(session, split->file, &split->tensor);
  if (status == 0) status = cli_mode_or_last(split->tensor, split->mode_text, &split->mode);
  if (status != 0) return status;
  cli_phase(CLI_ITERATIONS);
  cli_computing_begin(session); /* a signal must not leave half a file */
  polyad_status done = deal(split);
  cli_phase(CLI_WRITE);
  status = done == POLYAD_OK ? write_parts(split) : cli_library_failure(session->context);
  cli_computing_end();
  return status == 0 ? report(split) : status;
}

int cli_split(int argc, char **argv) {
  struct split split = {.test = 0.1, .validation = NAN, .type = "ptn"};
  cli_session_init(&split.session);
  split.session.zeros = NULL;
  int status = parse(&split, argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = run(&split);
  polyad_tensor_destroy(split.tensor);
  for (int k = 0; k < PARTS; ++k)
    polyad_tensor_destroy(split.part[k]);
  cli_session_close(&split.session);
  return status;
}
