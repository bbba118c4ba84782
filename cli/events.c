/* The log of a command: what it was asked, its steps, messages, iterations and errors, and how it
 * ended.
 *
 * Every event is one line with one JSON object, and is handed to the system at once: a line that
 * can be read was written whole, and a log without the event "end" is that of a command that was
 * killed. Events that come before it is known that the log is no input of the command wait in
 * memory. */
#include "events.h"
#include "json.h"
#include "text.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A stage that goes on is logged this often. */
static const double stage_seconds = 10;

static struct {
  const char *path;
  FILE *file;
  int error; /* errno of the first line that could not be written */
  struct timespec begin;
  cJSON *waiting;      /* events from before the log was opened */
  const char *stage;   /* logged last */
  double stage_logged; /* seconds of the computation then */
} events;

static double seconds_since_begin(const struct timespec *now) {
  return (double)(now->tv_sec - events.begin.tv_sec) +
         (double)(now->tv_nsec - events.begin.tv_nsec) * 1e-9;
}

static void add_time(cJSON *event) {
  struct timespec clock, now;
  struct tm utc;
  char text[40];
  timespec_get(&clock, TIME_UTC);
  clock_gettime(CLOCK_MONOTONIC, &now);
  gmtime_r(&clock.tv_sec, &utc);
  size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(text + length, sizeof text - length, ".%03ldZ", clock.tv_nsec / 1000000);
  cli_json_text(event, "time", text);
  cli_json_real(event, "seconds", seconds_since_begin(&now));
}

/* NULL where nobody wants it: outside a command, or when there is no memory. */
static cJSON *new_event(const char *name) {
  if (events.file == NULL && events.waiting == NULL) return NULL;
  cJSON *event = cJSON_CreateObject();
  if (event == NULL) return NULL;
  add_time(event);
  cli_json_text(event, "event", name);
  return event;
}

static void write_line(const cJSON *event) {
  char *line = cJSON_PrintUnformatted(event);
  errno = 0;
  if (line == NULL || fprintf(events.file, "%s\n", line) < 0 || fflush(events.file) != 0)
    if (events.error == 0) events.error = line == NULL ? ENOMEM : errno != 0 ? errno : EIO;
  cJSON_free(line);
}

static void put(cJSON *event) {
  if (event == NULL) return;
  if (events.file == NULL) {
    cJSON_AddItemToArray(events.waiting, event);
    return;
  }
  write_line(event);
  cJSON_Delete(event);
}

void cli_events_begin(int argc, char **argv) {
  clock_gettime(CLOCK_MONOTONIC, &events.begin);
  events.waiting = cJSON_CreateArray();
  cJSON *event = new_event("begin");
  if (event == NULL) return;
  cli_json_text(event, "version", polyad_version());
  cJSON *words = cJSON_AddArrayToObject(event, "arguments");
  for (int k = 1; k < argc; ++k) {
    cJSON *word = cJSON_CreateObject(); /* cli_json_text() makes the text valid UTF-8 */
    cli_json_text(word, "text", argv[k]);
    cJSON_AddItemToArray(words, cJSON_DetachItemFromObject(word, "text"));
    cJSON_Delete(word);
  }
  put(event);
}

int cli_events_open(struct cli_session *session) {
  if (session->log == NULL || events.file != NULL) return 0;
  if (events.waiting == NULL) return cli_failure("out of memory");
  char quoted[CLI_QUOTE_BYTES];
  if (strcmp(session->log, "-") == 0) return cli_usage_error("--log - found; expected a file");
  events.path = session->log;
  events.file = fopen(session->log, "we");
  if (events.file == NULL)
    return cli_failure("--log %s: %s", cli_quote(quoted, session->log), strerror(errno));
  for (const cJSON *event = events.waiting->child; event != NULL; event = event->next)
    write_line(event);
  return 0;
}

void cli_events_step(const char *step, const char *file) {
  cJSON *event = new_event("step");
  if (event == NULL) return;
  cli_json_text(event, "step", step);
  if (file != NULL) cli_json_text(event, "file", file);
  put(event);
}

void cli_events_message(polyad_log_level level, const char *text) {
  static const char *const levels[] = {"warning", "info", "debug"};
  cJSON *event = new_event("message");
  if (event == NULL) return;
  cli_json_text(event, "level", levels[level]);
  cli_json_text(event, "text", text);
  put(event);
}

void cli_events_error(const char *text) {
  cJSON *event = new_event("error");
  if (event == NULL) return;
  cli_json_text(event, "text", text);
  put(event);
}

static void add_where_known(cJSON *event, const char *key, double value) {
  if (isfinite(value)) cli_json_real(event, key, value);
}

/* About twice a second while a stage lasts: too often for a log. */
static bool is_news(const polyad_progress *p) {
  if (events.stage != NULL && strcmp(events.stage, p->stage) == 0 &&
      p->seconds - events.stage_logged < stage_seconds)
    return false;
  events.stage = p->stage;
  events.stage_logged = p->seconds;
  return true;
}

void cli_events_progress(const polyad_progress *p) {
  if (p->stage != NULL && !is_news(p)) return;
  cJSON *event = new_event(p->stage != NULL ? "stage" : "iteration");
  if (event == NULL) return;
  if (p->stage != NULL) {
    cli_json_text(event, "stage", p->stage);
  } else {
    cli_json_count(event, "iteration", (uint64_t)p->iteration);
    cli_json_count(event, "start", (uint64_t)p->restart + 1);
  }
  add_where_known(event, "fit", p->fit);
  add_where_known(event, "change", p->change);
  add_where_known(event, "log_likelihood", p->log_likelihood);
  add_where_known(event, "kkt_violation", p->kkt_violation);
  cli_json_real(event, "seconds_computing", p->seconds);
  put(event);
}

int cli_events_end(int status) {
  cJSON *event = events.file == NULL ? NULL : new_event("end");
  if (event != NULL) {
    cli_json_count(event, "status", (uint64_t)status);
    put(event);
  }
  cJSON_Delete(events.waiting);
  events.waiting = NULL;
  if (events.file == NULL) return status;
  if (fclose(events.file) != 0 && events.error == 0) events.error = errno;
  events.file = NULL;
  char quoted[CLI_QUOTE_BYTES];
  if (events.error == 0) return status;
  int failed = cli_failure("--log %s: %s", cli_quote(quoted, events.path), strerror(events.error));
  return status == 0 ? failed : status;
}
