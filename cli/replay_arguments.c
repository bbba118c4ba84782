/* A recorded run as a command line that does it again and writes nothing.
 *
 * The manifest may have been made by anybody. Its words are therefore read by the table of options
 * of its command, as getopt reads them afterwards: an option by its whole name, its value in a word
 * of its own, then -- and files. Options whose kind says that they write are left out with their
 * values; the object goes to standard output, and the number of threads, on which rounding depends,
 * is that of the recorded run. */
#include "replay_arguments.h"
#include "cpd_options.h"
#include "text.h"
#include "tucker_options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_usage *usage_of(const char *command) {
  const struct cli_usage *const usages[] = {&cli_cpd_usage, &cli_tucker_usage};
  for (size_t k = 0; k < sizeof usages / sizeof *usages; ++k)
    if (strcmp(usages[k]->command, command) == 0) return usages[k];
  return NULL;
}

/* The option that a word names in full, or NULL. */
static const struct cli_option *option_of(const struct cli_usage *usage, const char *word) {
  if (strncmp(word, "--", 2) != 0) return NULL;
  for (int k = 0; k < usage->option_count; ++k) {
    const struct cli_option *option = &usage->options[k];
    if (option->kind != CLI_GROUP && strcmp(option->name, word + 2) == 0) return option;
  }
  return NULL;
}

static int copy_files(const cJSON *word, char **to) {
  for (; word != NULL; word = word->next) {
    if (strcmp(word->valuestring, "-") == 0)
      return cli_failure("the run read standard input, which is gone; expected a file");
    *to++ = word->valuestring;
  }
  return 0;
}

static int copy_words(const char *file, const struct cli_usage *usage, const cJSON *word,
                      char **to) {
  static char cache[] = "--tune-cache", none[] = "none";
  char quoted[CLI_QUOTE_BYTES];
  for (; word != NULL && strcmp(word->valuestring, "--") != 0; word = word->next) {
    const struct cli_option *option = option_of(usage, word->valuestring);
    const cJSON *value = option != NULL && option->kind != CLI_FLAG ? word->next : NULL;
    if (option == NULL || (value == NULL && option->kind != CLI_FLAG))
      return cli_failure(
          "%s: the manifest has the option %s; expected options as a run writes them", file,
          cli_quote(quoted, word->valuestring));
    if (option->kind != CLI_OUTPUT && strcmp(option->name, "threads") != 0) {
      *to++ = word->valuestring;
      if (value != NULL) *to++ = value->valuestring;
    }
    if (strcmp(option->name, "tune") == 0) { /* measures again, and keeps nothing */
      *to++ = cache;
      *to++ = none;
    }
    if (value != NULL) word = value;
  }
  return copy_files(word, to); /* from -- on */
}

static int check_words(const char *file, const cJSON *words) {
  const cJSON *word;
  cJSON_ArrayForEach(word, words) if (!cJSON_IsString(word)) return cli_failure(
      "%s: the manifest's arguments are not all text", file);
  return 0;
}

int cli_replay_arguments(const char *file, const cJSON *recorded, char threads[CLI_REPLAY_THREADS],
                         char ***arguments) {
  static char name[] = "polyad", json[] = "--json", standard[] = "-", of_threads[] = "--threads";
  *arguments = NULL;
  if (recorded == NULL)
    return cli_failure("%s: no JSON found; expected what --json of cpd or tucker wrote", file);
  const cJSON *manifest = cJSON_GetObjectItemCaseSensitive(recorded, "manifest");
  const cJSON *command = cJSON_GetObjectItemCaseSensitive(manifest, "command");
  const cJSON *words = cJSON_GetObjectItemCaseSensitive(manifest, "arguments");
  const cJSON *number = cJSON_GetObjectItemCaseSensitive(manifest, "threads");
  const struct cli_usage *usage = cJSON_IsString(command) ? usage_of(command->valuestring) : NULL;
  if (usage == NULL || !cJSON_IsArray(words) || !cJSON_IsNumber(number))
    return cli_failure("%s: no manifest found; expected what --json of cpd or tucker wrote", file);
  int status = check_words(file, words);
  if (status != 0) return status;
  /* --tune becomes three words. */
  char **made = calloc(3 * (size_t)cJSON_GetArraySize(words) + 8, sizeof *made);
  if (made == NULL) return cli_failure("out of memory");
  snprintf(threads, CLI_REPLAY_THREADS, "%.0f", number->valuedouble);
  char *const begin[] = {name, command->valuestring, json, standard, of_threads, threads};
  memcpy(made, begin, sizeof begin);
  status = copy_words(file, usage, words->child, made + sizeof begin / sizeof *begin);
  if (status != 0)
    free(made);
  else
    *arguments = made;
  return status;
}
