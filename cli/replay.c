/* polyad replay: does a run again that left a JSON object, and says whether the same came out.
 *
 * The options are those of the manifest, but for those that name files to be written, and the
 * number of threads, on which rounding depends, is that of the recorded run. The run is another
 * process of this command, whose JSON object is compared with the recorded one, member by member:
 * the data, what was chosen, how the iterations went, and the hash of the model's bits. */
#include "command.h"
#include "json.h"
#include "phases.h"
#include "self.h"
#include "text.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct replay {
  struct cli_session session;
  const char *file;
  cJSON *recorded, *now, *differences;
  char **arguments;
  uint64_t differing;
};

static const struct cli_option option_table[] = {CLI_TALK_OPTIONS(struct replay)};

static const struct cli_usage usage = {
    .command = "replay",
    .synopsis = "RUN.json [options]",
    .summary = "Does a run of cpd or tucker again from the object that its --json wrote, without\n"
               "writing its files, and compares: data, choices, iterations and the model's bits.\n"
               "Start it in the directory of the run, so that the names of files are right. Exit\n"
               "status 0: the same bits came out; 1: they did not, and what differs is listed.",
    .example = "  polyad cpd rides.csv -r 8 --json run.json\n  polyad replay run.json",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1};

/* ---- files and processes ------------------------------------------------------------------------
 */

/* Everything up to the end, ended by a zero; NULL when that is not possible (errno says why). */
static char *read_all(int file) {
  size_t length = 0, room = 1 << 16;
  char *text = malloc(room);
  while (text != NULL) {
    ssize_t got = read(file, text + length, room - length - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) {
      text[length] = '\0';
      return text;
    }
    length += (size_t)got;
    if (room - length > 1) continue;
    char *longer = room < (size_t)1 << 30 ? realloc(text, 2 * room) : NULL;
    if (longer == NULL) break;
    text = longer;
    room *= 2;
  }
  free(text);
  return NULL;
}

static const char *text_of(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

static int read_recorded(struct replay *replay) {
  FILE *file = fopen(replay->file, "rb");
  char *text = file == NULL ? NULL : read_all(fileno(file));
  if (text == NULL) {
    int status = cli_failure("%s: %s", replay->file, strerror(errno));
    if (file != NULL) (void)fclose(file);
    return status;
  }
  (void)fclose(file);
  replay->recorded = cJSON_Parse(text);
  free(text);
  if (replay->recorded == NULL)
    return cli_failure("%s: no JSON found; expected what --json of cpd or tucker wrote",
                       replay->file);
  const cJSON *manifest = cJSON_GetObjectItemCaseSensitive(replay->recorded, "manifest");
  const char *command = text_of(manifest, "command");
  if (command == NULL || (strcmp(command, "cpd") != 0 && strcmp(command, "tucker") != 0) ||
      !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(manifest, "arguments")) ||
      !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(manifest, "threads")))
    return cli_failure("%s: no manifest found; expected what --json of cpd or tucker wrote",
                       replay->file);
  return 0;
}

/* Options with a value: names of files to be written, and what is set anew. */
static const char *const left_out[] = {"--json",   "--log",        "--output", "--checkpoint",
                                       "--report", "--tune-cache", "--threads"};
enum { LEFT_OUT = sizeof left_out / sizeof *left_out };

static bool is_left_out(const char *word) {
  for (int k = 0; k < LEFT_OUT; ++k)
    if (strcmp(word, left_out[k]) == 0) return true;
  return false;
}

/* A manifest has the whole names of options, and their values in words of their own. A file made by
 * somebody else could hide an option that writes a file behind another spelling. */
static bool is_foreign(const char *word) {
  if (word[0] != '-') return false;
  if (word[1] != '-') return isalpha((unsigned char)word[1]) != 0;
  if (strchr(word, '=') != NULL) return true;
  for (int k = 0; k < LEFT_OUT && word[2] != '\0'; ++k)
    if (strncmp(left_out[k], word, strlen(word)) == 0 && strcmp(left_out[k], word) != 0)
      return strcmp(word, "--tune") != 0;
  return false;
}

/* Words are copied as they are: `arguments` points into the recorded object. */
static int make_arguments(struct replay *replay, char threads[24]) {
  static char name[] = "polyad", cache[] = "--tune-cache", none[] = "none", json[] = "--json",
              standard[] = "-", of_threads[] = "--threads";
  char quoted[CLI_QUOTE_BYTES];
  const cJSON *manifest = cJSON_GetObjectItemCaseSensitive(replay->recorded, "manifest");
  const cJSON *words = cJSON_GetObjectItemCaseSensitive(manifest, "arguments"), *word;
  char **to = calloc(2 * (size_t)cJSON_GetArraySize(words) + 8, sizeof *to);
  if (to == NULL) return cli_failure("out of memory");
  replay->arguments = to;
  snprintf(threads, 24, "%.0f", cJSON_GetObjectItemCaseSensitive(manifest, "threads")->valuedouble);
  *to++ = name;
  *to++ = cJSON_GetObjectItemCaseSensitive(manifest, "command")->valuestring;
  *to++ = json;
  *to++ = standard;
  *to++ = of_threads;
  *to++ = threads;
  bool skip = false, files = false;
  cJSON_ArrayForEach(word, words) {
    if (!cJSON_IsString(word))
      return cli_failure("%s: the manifest's arguments are not all text", replay->file);
    if (files && strcmp(word->valuestring, "-") == 0)
      return cli_failure("the run read standard input, which is gone; expected a file");
    if (!files && is_foreign(word->valuestring))
      return cli_failure(
          "%s: the manifest has the option %s; expected options as a run writes them", replay->file,
          cli_quote(quoted, word->valuestring));
    bool out = !files && !skip && is_left_out(word->valuestring);
    if (!skip && !out) *to++ = word->valuestring;
    if (!skip && !files && strcmp(word->valuestring, "--tune") == 0) {
      *to++ = cache; /* measures again, and keeps nothing */
      *to++ = none;
    }
    files = files || (!skip && strcmp(word->valuestring, "--") == 0);
    skip = out;
  }
  return 0;
}

static int run_again(struct replay *replay) {
  char threads[24];
  int output, state = 0, status = make_arguments(replay, threads);
  if (status != 0) return status;
  pid_t child = cli_self_start_child(replay->arguments, CLI_SHARE_ERRORS, &output);
  if (child < 0) return cli_failure("the run cannot be started in a process of its own");
  char *text = read_all(output);
  close(output);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    continue;
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    free(text);
    return cli_failure(
        "the run failed this time; it was recorded in directory %s",
        text_of(cJSON_GetObjectItemCaseSensitive(replay->recorded, "manifest"), "directory"));
  }
  replay->now = text == NULL ? NULL : cJSON_Parse(text);
  free(text);
  return replay->now == NULL ? cli_failure("the run wrote no JSON that can be read") : 0;
}

/* ---- comparing ----------------------------------------------------------------------------------
 */

/* Numbers are compared as they were read: 17 digits tell all doubles apart. */
static void compare(struct replay *replay, const char *what, const cJSON *was, const cJSON *is) {
  if (was == NULL && is == NULL) return; /* not a member of this algorithm's object */
  if (cJSON_Compare(was, is, true)) return;
  ++replay->differing;
  cJSON *row = cJSON_CreateObject();
  cli_json_text(row, "what", what);
  cJSON_AddItemToObject(row, "was", was == NULL ? cJSON_CreateNull() : cJSON_Duplicate(was, true));
  cJSON_AddItemToObject(row, "is", is == NULL ? cJSON_CreateNull() : cJSON_Duplicate(is, true));
  cJSON_AddItemToArray(replay->differences, row);
}

static void compare_members(struct replay *replay, const cJSON *was, const cJSON *is,
                            const char *const *keys, const char *prefix) {
  for (; *keys != NULL; ++keys) {
    char what[96];
    snprintf(what, sizeof what, "%s%s", prefix, *keys);
    compare(replay, what, cJSON_GetObjectItemCaseSensitive(was, *keys),
            cJSON_GetObjectItemCaseSensitive(is, *keys));
  }
}

/* Of the iterations only the first that differs is of interest. */
static void compare_traces(struct replay *replay) {
  static const char *const keys[] = {"iteration",      "fit",           "residual",
                                     "log_likelihood", "kkt_violation", NULL};
  const cJSON *was = cJSON_GetObjectItemCaseSensitive(replay->recorded, "trace");
  const cJSON *is = cJSON_GetObjectItemCaseSensitive(replay->now, "trace");
  int rows = cJSON_GetArraySize(was), rows_now = cJSON_GetArraySize(is);
  uint64_t before = replay->differing;
  for (int k = 0; k < rows && k < rows_now && replay->differing == before; ++k) {
    char prefix[48];
    snprintf(prefix, sizeof prefix, "iteration %d: ", k + 1);
    compare_members(replay, cJSON_GetArrayItem(was, k), cJSON_GetArrayItem(is, k), keys, prefix);
  }
}

static void compare_runs(struct replay *replay) {
  static const char *const made_of[] = {"version", "device_name", "capability", "tensor_hash",
                                        NULL};
  static const char *const chosen[] = {"order",     "dims",   "nnz",     "rank",   "ranks",
                                       "algorithm", "format", "variant", "device", "precision",
                                       "threads",   "seed",   NULL};
  static const char *const found[] = {"iterations",     "reason",        "fit",
                                      "log_likelihood", "kkt_violation", NULL};
  static const char *const model[] = {"model_hash", NULL};
  const cJSON *was = cJSON_GetObjectItemCaseSensitive(replay->recorded, "manifest");
  const cJSON *is = cJSON_GetObjectItemCaseSensitive(replay->now, "manifest");
  compare_members(replay, was, is, made_of, "");
  compare_members(replay, replay->recorded, replay->now, chosen, "");
  compare_traces(replay);
  compare_members(replay, replay->recorded, replay->now, found, "");
  compare_members(replay, was, is, model, "");
}

static void print_item(const cJSON *item) {
  char *text = item == NULL ? NULL : cJSON_PrintUnformatted(item);
  fputs(text == NULL ? "nothing" : text, stdout);
  cJSON_free(text);
}

static bool same_model(const struct replay *replay) {
  const char *was =
      text_of(cJSON_GetObjectItemCaseSensitive(replay->recorded, "manifest"), "model_hash");
  const char *is = text_of(cJSON_GetObjectItemCaseSensitive(replay->now, "manifest"), "model_hash");
  return was != NULL && is != NULL && strcmp(was, is) == 0;
}

static int report(struct replay *replay) {
  bool same = same_model(replay);
  if (cli_shows_results(&replay->session, NULL)) {
    const cJSON *row;
    cJSON_ArrayForEach(row, replay->differences) {
      printf("%s: ", text_of(row, "what"));
      print_item(cJSON_GetObjectItemCaseSensitive(row, "was"));
      fputs(" then, ", stdout);
      print_item(cJSON_GetObjectItemCaseSensitive(row, "is"));
      fputs(" now\n", stdout);
    }
    puts(same ? "the model has the same bits" : "the model differs");
  }
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "file", replay->file);
  cli_json_bool(object, "same", same);
  cJSON_AddItemToObject(object, "differences", cJSON_Duplicate(replay->differences, true));
  int status = cli_json_write(&replay->session, object);
  if (status == 0) status = cli_finish_output();
  return status == 0 && !same ? 1 : status;
}

static int run(struct replay *replay) {
  const struct cli_output outputs[] = {{"--json", replay->session.json}};
  int status = cli_session_open(&replay->session);
  if (status == 0) status = cli_check_outputs(&replay->session, outputs, 1, &replay->file, 1);
  if (status == 0) status = read_recorded(replay);
  cli_phase(CLI_ITERATIONS);
  if (status == 0) status = run_again(replay);
  if (status != 0) return status;
  replay->differences = cJSON_CreateArray();
  compare_runs(replay);
  return report(replay);
}

int cli_replay(int argc, char **argv) {
  struct replay replay = {0};
  int first;
  cli_session_init(&replay.session);
  int status = cli_parse(&usage, argc, argv, &replay, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  replay.file = argv[first];
  status = run(&replay);
  cJSON_Delete(replay.recorded);
  cJSON_Delete(replay.now);
  cJSON_Delete(replay.differences);
  free(replay.arguments);
  cli_session_close(&replay.session);
  return status;
}
