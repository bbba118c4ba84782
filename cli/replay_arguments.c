/* A recorded run as a command line that does it again and writes to one directory alone.
 *
 * The manifest may have been made by anybody. Its words are therefore read by the table of options
 * of its command, as getopt reads them afterwards: an option by its whole name, its value in a word
 * of its own (a list of modes behind = in the same one), then -- and files. Results, whose options
 * are of kind CLI_RESULT or which are the last files, go into the directory under their last names;
 * other options that write are left out with their values; the object goes to standard output, and
 * the number of threads, on which rounding depends, is that of the recorded run. */
#include "replay_arguments.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The option that a word names in full, perhaps with a list of modes behind =, or NULL. */
static const struct cli_option *option_of(const struct cli_usage *usage, const char *word) {
  if (strncmp(word, "--", 2) != 0) return NULL;
  for (int k = 0; k < usage->option_count; ++k) {
    const struct cli_option *option = &usage->options[k];
    size_t length = option->kind == CLI_MODES ? strcspn(word + 2, "=") : strlen(word + 2);
    if (option->kind != CLI_GROUP && strlen(option->name) == length &&
        memcmp(option->name, word + 2, length) == 0)
      return option;
  }
  return NULL;
}

static int add_place(struct cli_replay_arguments *replay, const char *path, char **to) {
  enum { NAME_MOST = 200 }; /* with a number in front it is a file's name everywhere */
  char quoted[CLI_QUOTE_BYTES];
  size_t end = strlen(path), slashes = 0;
  while (end > 0 && path[end - 1] == '/') {
    --end;
    slashes = 1; /* a directory's name */
  }
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/')
    --begin;
  if (begin == end || end - begin > NAME_MOST)
    return cli_failure("%s: the manifest has the file %s; expected a name of at most %d bytes",
                       replay->file, cli_quote(quoted, path), NAME_MOST);
  size_t bytes = strlen(replay->directory) + (end - begin) + 32;
  char *place = malloc(bytes);
  if (place == NULL) return cli_failure("out of memory");
  snprintf(place, bytes, "%s/%zu-%.*s%s", replay->directory, replay->place_count,
           (int)(end - begin), path + begin, slashes > 0 ? "/" : "");
  replay->places[replay->place_count++] = place;
  *to = place;
  return 0;
}

/* From -- on. */
static int copy_files(struct cli_replay_arguments *replay, const struct cli_usage *usage,
                      const cJSON *word, char **to) {
  int left = -1; /* the word -- */
  for (const cJSON *one = word; one != NULL; one = one->next)
    ++left;
  for (; word != NULL; word = word->next, --left) {
    bool is_result = left >= 0 && left < usage->result_arguments;
    if (strcmp(word->valuestring, "-") == 0)
      return cli_failure("the run %s; expected a file",
                         is_result ? "wrote to standard output, which nothing keeps"
                                   : "read standard input, which is gone");
    *to = word->valuestring;
    int status = is_result ? add_place(replay, word->valuestring, to) : 0;
    if (status != 0) return status;
    ++to;
  }
  return 0;
}

/* An option that is taken over, with its value. */
static int copy_option(struct cli_replay_arguments *replay, const struct cli_option *option,
                       const cJSON *word, const cJSON *value, char ***to) {
  static char cache[] = "--tune-cache", none[] = "none";
  bool result = option->kind == CLI_RESULT;
  bool left_out = option->kind == CLI_OUTPUT || strcmp(option->name, "threads") == 0 ||
                  (result && strcmp(value->valuestring, "-") == 0);
  if (left_out) return 0;
  *(*to)++ = word->valuestring;
  if (value != NULL) *(*to)++ = value->valuestring;
  if (strcmp(option->name, "tune") == 0) { /* measures again, and keeps nothing */
    *(*to)++ = cache;
    *(*to)++ = none;
  }
  return result ? add_place(replay, value->valuestring, *to - 1) : 0;
}

static int copy_words(struct cli_replay_arguments *replay, const struct cli_usage *usage,
                      const cJSON *word, char **to) {
  char quoted[CLI_QUOTE_BYTES];
  for (; word != NULL && strcmp(word->valuestring, "--") != 0; word = word->next) {
    const struct cli_option *option = option_of(usage, word->valuestring);
    const cJSON *value = option != NULL && CLI_TAKES_WORD(option) ? word->next : NULL;
    if (option == NULL || (value == NULL && CLI_TAKES_WORD(option)))
      return cli_failure(
          "%s: the manifest has the option %s; expected options as a run writes them", replay->file,
          cli_quote(quoted, word->valuestring));
    int status = copy_option(replay, option, word, value, &to);
    if (status != 0) return status;
    if (value != NULL) word = value;
  }
  return copy_files(replay, usage, word, to);
}

static int check_words(const char *file, const cJSON *words) {
  const cJSON *word;
  cJSON_ArrayForEach(word, words) if (!cJSON_IsString(word)) return cli_failure(
      "%s: the manifest's arguments are not all text", file);
  return 0;
}

static int make_words(struct cli_replay_arguments *replay, const struct cli_usage *usage,
                      char *command, const cJSON *words) {
  static char name[] = "polyad", json[] = "--json", standard[] = "-", threads[] = "--threads";
  size_t count = (size_t)cJSON_GetArraySize(words), at = 0;
  replay->words = calloc(3 * count + 8, sizeof *replay->words); /* --tune becomes three words */
  replay->places = calloc(count + 1, sizeof *replay->places);
  if (replay->words == NULL || replay->places == NULL) return cli_failure("out of memory");
  char *const begin[] = {name, command, json, standard, threads, replay->threads};
  /* What computes nothing in parallel has no option for threads. */
  while (at < (option_of(usage, threads) != NULL ? 6 : 4)) {
    replay->words[at] = begin[at];
    ++at;
  }
  return copy_words(replay, usage, words->child, replay->words + at);
}

int cli_replay_arguments(struct cli_replay_arguments *replay, const cJSON *recorded) {
  const char *file = replay->file;
  if (recorded == NULL)
    return cli_failure("%s: no JSON found; expected what --json of a run wrote", file);
  const cJSON *manifest = cJSON_GetObjectItemCaseSensitive(recorded, "manifest");
  const cJSON *command = cJSON_GetObjectItemCaseSensitive(manifest, "command");
  const cJSON *words = cJSON_GetObjectItemCaseSensitive(manifest, "arguments");
  const cJSON *number = cJSON_GetObjectItemCaseSensitive(manifest, "threads");
  const struct cli_usage *usage =
      cJSON_IsString(command) ? replay->usage_of(command->valuestring) : NULL;
  if (usage == NULL || !cJSON_IsArray(words) || !cJSON_IsNumber(number))
    return cli_failure("%s: no manifest found; expected what --json of a run wrote", file);
  int status = check_words(file, words);
  snprintf(replay->threads, sizeof replay->threads, "%.0f", number->valuedouble);
  if (status == 0) status = make_words(replay, usage, command->valuestring, words);
  if (status != 0) cli_replay_arguments_clear(replay);
  return status;
}

void cli_replay_arguments_clear(struct cli_replay_arguments *replay) {
  for (size_t k = 0; k < replay->place_count; ++k)
    free(replay->places[k]);
  free(replay->places);
  free(replay->words);
  replay->places = replay->words = NULL;
  replay->place_count = 0;
}
