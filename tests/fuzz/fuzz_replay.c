/* Manifests that polyad replay is asked to do again. The first byte says what the rest is: a JSON
 * text, or lines that are the words of a manifest of cpd or of tucker.
 *
 * The arguments that come out are parsed as the command itself would: whatever the manifest said,
 * the run writes to no file, and reads no standard input. */
#include "fuzz_command.h"
#include "fuzz_input.h"

#include "cpd_options.h"
#include "replay_arguments.h"
#include "tucker_options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1, TUCKER = 2 };

static cJSON *manifest_of(const char *command, char *lines) {
  cJSON *object = cJSON_CreateObject(), *manifest = cJSON_AddObjectToObject(object, "manifest");
  cJSON_AddStringToObject(manifest, "command", command);
  cJSON_AddNumberToObject(manifest, "threads", 2);
  cJSON *words = cJSON_AddArrayToObject(manifest, "arguments");
  while (lines != NULL)
    cJSON_AddItemToArray(words, cJSON_CreateString(strsep(&lines, "\n")));
  return object;
}

static void require_no_output(const struct cli_session *session, const char *output,
                              const char *report, const char *checkpoint) {
  fuzz_require(output == NULL && report == NULL && checkpoint == NULL && session->log == NULL,
               "no file that is written");
  fuzz_require(session->json != NULL && strcmp(session->json, "-") == 0, "JSON goes to the reader");
  fuzz_require(!session->tune ||
                   (session->tune_cache != NULL && strcmp(session->tune_cache, "none") == 0),
               "measurements are not kept");
}

/* The command's parser takes the words apart. */
static void try_arguments(char **words) {
  struct cpd cpd = {.rank = 0};
  struct tucker tucker = {.top = 0};
  bool is_tucker = strcmp(words[0], "tucker") == 0;
  int count = 0, first = 0;
  while (words[count] != NULL)
    ++count;
  fuzz_command_begin();
  int status = is_tucker ? cli_parse(&cli_tucker_usage, count, words, &tucker, &first)
                         : cli_parse(&cli_cpd_usage, count, words, &cpd, &first);
  fuzz_command_end(status > 0);
  fuzz_require(status == 0 || status == 2, "a run or an error");
  if (is_tucker)
    require_no_output(&tucker.session, tucker.output, tucker.report, NULL);
  else
    require_no_output(&cpd.session, cpd.output, cpd.report, cpd.run.checkpoint);
  for (int k = first; status == 0 && k < count; ++k)
    fuzz_require(strcmp(words[k], "-") != 0, "no standard input");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t how = fuzz_take_byte(&data, &size);
  char *text = malloc(size + 1), threads[CLI_REPLAY_THREADS], **arguments;
  fuzz_require(text != NULL, "memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  cJSON *recorded = (how & WORDS) == 0 ? cJSON_Parse(text)
                                       : manifest_of((how & TUCKER) != 0 ? "tucker" : "cpd", text);
  fuzz_command_begin();
  int status = cli_replay_arguments("run.json", recorded, threads, &arguments);
  fuzz_command_end(status != 0);
  fuzz_require((status == 0) == (arguments != NULL), "arguments or an error");
  if (status == 0) {
    fuzz_require(strcmp(arguments[0], "polyad") == 0, "the command itself");
    try_arguments(arguments + 1);
  }
  free(arguments);
  cJSON_Delete(recorded);
  free(text);
  return 0;
}
