/* polyad replay: does a run again that left a JSON object, and says whether the same came out.
 *
 * The run is another process of this command, with the arguments that replay_arguments.c makes. Its
 * JSON object is compared with the recorded one, member by member (replay_compare.c). */
#include "command.h"
#include "cpd_options.h"
#include "json.h"
#include "phases.h"
#include "replay_arguments.h"
#include "replay_compare.h"
#include "replay_place.h"
#include "self.h"
#include "text.h"
#include "tucker_options.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct replay {
  struct cli_session session;
  const char *file;
  cJSON *recorded, *now;
  struct cli_comparison comparison;
  bool measures; /* what the run tells are times */
};

static const struct cli_option option_table[] = {CLI_TALK_OPTIONS(struct replay)};

static const struct cli_usage usage = {
    .command = "replay",
    .synopsis = "RUN.json [options]",
    .summary = "Does a run of any subcommand again from the object that its --json wrote, and\n"
               "compares: data, choices, iterations, results, the bits of the model and of other\n"
               "files that it writes, which go to a directory under $TMPDIR (else /tmp) and are\n"
               "removed. Times and rates are not compared, nor are pages. Start it in the\n"
               "directory of the run, so that the names of files are right. Exit status 0: the\n"
               "same came out; 1: it did not, and what differs is listed.",
    .example = "  polyad cpd rides.csv -r 8 --json run.json\n  polyad replay run.json",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1,
    .inquires = true};

static const struct cli_usage *usage_of(const char *command) {
  static const struct cli_usage *const usages[] = {
      &cli_anomalies_usage, &cli_bench_usage,    &cli_convert_usage, &cli_core_consistency_usage,
      &cli_cpd_usage,       &cli_generate_usage, &cli_info_usage,    &cli_plan_usage,
      &cli_predict_usage,   &cli_project_usage,  &cli_rank_usage,    &cli_report_usage,
      &cli_score_usage,     &cli_split_usage,    &cli_tucker_usage,  &cli_update_usage};
  for (size_t k = 0; k < sizeof usages / sizeof *usages; ++k)
    if (strcmp(usages[k]->command, command) == 0) return usages[k];
  return NULL;
}

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

/* Until the run tells something or ends. A signal that came to this process alone is passed on. */
static void await_text(int output, pid_t child) {
  struct pollfd there = {.fd = output, .events = POLLIN};
  enum { MILLISECONDS = 100 };
  for (bool passed = false; poll(&there, 1, MILLISECONDS) <= 0;) {
    if (passed || cli_signal_status() == 0) continue;
    (void)kill(child, SIGTERM);
    passed = true;
  }
}

/* Starts the run and reads what it tells. A signal ends the run first, and this process removes
 * what it wrote. */
static int run_words(struct replay *replay, char *const *words) {
  int output, state = 0;
  pid_t child = cli_self_start_child(words, CLI_SHARE_ERRORS, &output);
  if (child < 0) return cli_failure("the run cannot be started in a process of its own");
  cli_computing_begin(&replay->session);
  await_text(output, child);
  char *text = read_all(output);
  close(output);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    continue;
  cli_computing_end();
  if (cli_signal_status() != 0) {
    free(text);
    return cli_signal_status();
  }
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

static int run_again(struct replay *replay) {
  char *directory = cli_replay_place();
  if (directory == NULL) return 1;
  struct cli_replay_arguments arguments = {
      .file = replay->file, .directory = directory, .usage_of = usage_of};
  int status = cli_replay_arguments(&arguments, replay->recorded);
  if (status == 0) {
    replay->measures = usage_of(arguments.words[1])->measures;
    status = run_words(replay, arguments.words);
  }
  cli_replay_arguments_clear(&arguments);
  cli_replay_place_remove(directory);
  return status;
}

/* ---- what is told ------------------------------------------------------------------------------
 */

static void print_item(const cJSON *item) {
  char *text = item == NULL ? NULL : cJSON_PrintUnformatted(item);
  fputs(text == NULL ? "nothing" : text, stdout);
  cJSON_free(text);
}

static void print_differences(const struct replay *replay) {
  const struct cli_comparison *found = &replay->comparison;
  const cJSON *row;
  cJSON_ArrayForEach(row, found->differences) {
    printf("%s: ", text_of(row, "what"));
    print_item(cJSON_GetObjectItemCaseSensitive(row, "was"));
    fputs(" then, ", stdout);
    print_item(cJSON_GetObjectItemCaseSensitive(row, "is"));
    fputs(" now\n", stdout);
  }
  if (replay->measures) puts("times and rates were measured anew and are not compared");
  if (found->has_model && (found->same || !found->same_model))
    puts(found->same ? "the model has the same bits" : "the model differs");
  else
    puts(found->same ? "the same came out" : "what came out differs");
}

static int report(struct replay *replay) {
  bool same = replay->comparison.same;
  if (cli_shows_results(&replay->session, NULL)) print_differences(replay);
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "file", replay->file);
  cli_json_bool(object, "same", same);
  cJSON_AddItemToObject(object, "differences",
                        cJSON_Duplicate(replay->comparison.differences, true));
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
  cli_compare_runs(replay->recorded, replay->now, &replay->comparison);
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
  cJSON_Delete(replay.comparison.differences);
  cli_session_close(&replay.session);
  return status;
}
