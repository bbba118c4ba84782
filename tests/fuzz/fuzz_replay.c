/* Manifests that polyad replay is asked to do again. The first byte says what the rest is: a JSON
 * text, or lines that are the words of a manifest of cpd, of tucker or of a subcommand whose last
 * file is a result.
 *
 * The arguments that come out are parsed as the command itself would: whatever the manifest said,
 * the run writes to the one directory, and reads no standard input. */
#include "fuzz_command.h"
#include "fuzz_input.h"

#include "cpd_options.h"
#include "replay_arguments.h"
#include "tucker_options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1, TUCKER = 2, WRITER = 4 };

/* A subcommand of which all that a manifest can ask for is looked at. */
struct writer {
  struct cli_session session;
  const char *result, *beside, *text;
  bool flag;
};

static const struct cli_option writer_options[] = {
    CLI_OPTION(struct writer, RESULT, result, "result", "FILE", "result"),
    CLI_OPTION(struct writer, OUTPUT, beside, "beside", "FILE", "is not written again"),
    CLI_OPTION(struct writer, TEXT, text, "text", "WORD", "any word"),
    CLI_OPTION(struct writer, FLAG, flag, "flag", NULL, "no word"),
    CLI_COMMON_OPTIONS(struct writer)};

static const struct cli_usage writer_usage = {.command = "writer",
                                              .synopsis = "IN OUT",
                                              .summary = "Writes.",
                                              CLI_OPTIONS(writer_options),
                                              .least_arguments = 1,
                                              .most_arguments = 3,
                                              .result_arguments = 1};

static const struct cli_usage *usage_of(const char *command) {
  if (strcmp(command, "writer") == 0) return &writer_usage;
  if (strcmp(command, "tucker") == 0) return &cli_tucker_usage;
  return strcmp(command, "cpd") == 0 ? &cli_cpd_usage : NULL;
}

static cJSON *manifest_of(const char *command, char *lines) {
  cJSON *object = cJSON_CreateObject(), *manifest = cJSON_AddObjectToObject(object, "manifest");
  cJSON_AddStringToObject(manifest, "command", command);
  cJSON_AddNumberToObject(manifest, "threads", 2);
  cJSON *words = cJSON_AddArrayToObject(manifest, "arguments");
  while (lines != NULL)
    cJSON_AddItemToArray(words, cJSON_CreateString(strsep(&lines, "\n")));
  return object;
}

static const char directory[] = "/the/place";

/* A file of the directory itself, whatever the manifest called it. */
static bool is_inside(const char *path) {
  size_t length = sizeof directory - 1;
  if (strncmp(path, directory, length) != 0 || path[length] != '/') return false;
  const char *name = path + length + 1, *slash = strchr(name, '/');
  return strcmp(name, "..") != 0 && (slash == NULL || (slash > name && slash[1] == '\0'));
}

static void require_no_output(const struct cli_session *session, const char *output,
                              const char *report, const char *checkpoint) {
  fuzz_require(output == NULL || is_inside(output), "results in the directory");
  fuzz_require(report == NULL && checkpoint == NULL && session->log == NULL,
               "no other file that is written");
  fuzz_require(session->json != NULL && strcmp(session->json, "-") == 0, "JSON goes to the reader");
  fuzz_require(!session->tune ||
                   (session->tune_cache != NULL && strcmp(session->tune_cache, "none") == 0),
               "measurements are not kept");
}

static int parse(const struct cli_usage *usage, int count, char **words, void *into, int *first) {
  fuzz_command_begin();
  int status = cli_parse(usage, count, words, into, first);
  fuzz_command_end(status > 0);
  fuzz_require(status == 0 || status == 2, "a run or an error");
  return status;
}

/* The command's parser takes the words apart. */
static void try_arguments(char **words) {
  struct cpd cpd = {.rank = 0};
  struct tucker tucker = {.top = 0};
  struct writer writer = {.flag = false};
  const struct cli_usage *usage = usage_of(words[0]);
  int count = 0, first = 0, status;
  while (words[count] != NULL)
    ++count;
  if (usage == &writer_usage) {
    status = parse(usage, count, words, &writer, &first);
    require_no_output(&writer.session, writer.result, writer.beside, NULL);
    fuzz_require(status != 0 || is_inside(words[count - 1]), "the last file in the directory");
  } else if (usage == &cli_tucker_usage) {
    status = parse(usage, count, words, &tucker, &first);
    require_no_output(&tucker.session, tucker.output, tucker.report, NULL);
  } else {
    status = parse(usage, count, words, &cpd, &first);
    require_no_output(&cpd.session, cpd.output, cpd.report, cpd.run.checkpoint);
  }
  for (int k = first; status == 0 && k < count; ++k)
    fuzz_require(strcmp(words[k], "-") != 0, "no standard input");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t how = fuzz_take_byte(&data, &size);
  char *text = malloc(size + 1);
  fuzz_require(text != NULL, "memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  const char *command = (how & WRITER) != 0 ? "writer" : (how & TUCKER) != 0 ? "tucker" : "cpd";
  cJSON *recorded = (how & WORDS) == 0 ? cJSON_Parse(text) : manifest_of(command, text);
  struct cli_replay_arguments replay = {
      .file = "run.json", .directory = directory, .usage_of = usage_of};
  fuzz_command_begin();
  int status = cli_replay_arguments(&replay, recorded);
  fuzz_command_end(status != 0);
  fuzz_require((status == 0) == (replay.words != NULL), "arguments or an error");
  if (status == 0) {
    fuzz_require(strcmp(replay.words[0], "polyad") == 0, "the command itself");
    try_arguments(replay.words + 1);
  }
  cli_replay_arguments_clear(&replay);
  cJSON_Delete(recorded);
  free(text);
  return 0;
}
