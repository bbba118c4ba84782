/* polyad replay: does a run again that left a JSON object, and says whether the same came out.
 *
 * The run is another process of this command, with the arguments that replay_arguments.c makes. Its
 * JSON object is compared with the recorded one, member by member: the data, what was chosen, how
 * the iterations went, and the hash of the model's bits. */
#include "command.h"
#include "json.h"
#include "phases.h"
#include "replay_arguments.h"
#include "self.h"
#include "text.h"
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
  return 0;
}

static int run_again(struct replay *replay) {
  char threads[CLI_REPLAY_THREADS];
  int output, state = 0;
  int status = cli_replay_arguments(replay->file, replay->recorded, threads, &replay->arguments);
  if (status != 0) return status;
  pid_t child = cli_self_start_child(replay->arguments, CLI_SHARE_ERRORS, &output);
  if (child < 0) return cli_failure("the run cannot be started in a process of its own");
  char *text = read_all(output);
  close(output);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    continue;
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    free(text);
    const char *directory =
        text_of(cJSON_GetObjectItemCaseSensitive(replay->recorded, "manifest"), "directory");
    return cli_failure("the run failed this time; it was recorded in directory %s",
                       directory == NULL ? "(not said)" : directory);
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
