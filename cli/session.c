#include "session.h"
#include "device_trial.h"
#include "events.h"
#include "heap.h"
#include "manifest.h"
#include "names.h"
#include "parsed.h"
#include "phases.h"
#include "processes.h"
#include "progress.h"
#include "self.h"
#include "table.h"
#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MOST = 256, WARNINGS_SHOWN = 10 };

void cli_session_init(struct cli_session *session) {
  *session = (struct cli_session){
      .device = "auto", .precision = "f64", .index_base = 1, .duplicates = "sum", .zeros = "drop"};
}

static void log_message(void *user, polyad_log_level level, const char *message) {
  struct cli_session *session = user;
  cli_events_message(level, message);
  if (session->quiet || (level != POLYAD_LOG_WARNING && !session->verbose)) return;
  cli_progress_clear();
  if (level != POLYAD_LOG_WARNING)
    fprintf(stderr, "%s\n", message);
  else if (++session->warnings <= WARNINGS_SHOWN)
    fprintf(stderr, "polyad: warning: %s\n", message);
}

static int set_threads(struct cli_session *session) {
  int processors = polyad_threads(session->context);
  uint64_t most = processors > THREADS_MOST ? (uint64_t)processors : THREADS_MOST;
  if (session->threads > most) {
    cli_talk(session, "polyad: note: %llu threads are more than useful; using %llu\n",
             (unsigned long long)session->threads, (unsigned long long)most);
    session->threads = most;
  }
  if (polyad_set_threads(session->context, (int)session->threads) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}

/* Whether every thread finds a processor on which nothing else runs at this moment. */
static bool processors_are_free(uint64_t threads) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN), running = 0;
  FILE *file = fopen("/proc/loadavg", "re");
  if (file == NULL) return false;
  bool found = fscanf(file, "%*s %*s %*s %ld/", &running) == 1; /* this program is one of them */
  fclose(file);
  return found && processors > 0 && (uint64_t)running + threads <= (uint64_t)processors + 1;
}

/* By default libgomp's threads spin for milliseconds before they sleep, in which a busy machine
 * lets neither the others nor itself get on; a thousand turns last longer than the gaps between
 * kernels, and no longer. On free processors spinning hinders nobody, and a thread that sleeps
 * misses the start of the next kernel. libgomp reads the number when it is loaded. */
static void spin_briefly(const struct cli_session *session) {
  uint64_t threads =
      session->threads > 0 ? session->threads : (uint64_t)polyad_threads(session->context);
  if (threads < 2 || getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL ||
      processors_are_free(threads))
    return;
  if (setenv("GOMP_SPINCOUNT", "1000", 0) == 0) cli_self_start_again();
}

int cli_session_open(struct cli_session *session) {
  if (session->tune_cache != NULL && !session->tune)
    return cli_usage_error("--tune-cache found without measurements to keep there; add --tune");
  if (polyad_context_create(&session->context) != POLYAD_OK) return cli_failure("out of memory");
  spin_briefly(session);
  bool all = session->verbose || session->log != NULL;
  polyad_set_log(session->context, all ? POLYAD_LOG_DEBUG : POLYAD_LOG_WARNING, log_message,
                 session);
  polyad_set_seed(session->context, session->seed);
  if (polyad_set_message_base(session->context, 1) != POLYAD_OK) /* as people count */
    return cli_library_failure(session->context);
  int status = set_threads(session);
  if (status != 0) return status;
  cli_progress_watch(session);
  if (session->memory_limit > 0 &&
      polyad_set_memory_limit(session->context, session->memory_limit) != POLYAD_OK)
    return cli_library_failure(session->context);
  status = cli_device_try(session->device); /* by a child, which MPI may not like */
  if (status == 0 && session->joins) status = cli_team_join(session);
  if (status != 0) return status;
  if (!session->joins) {
    cli_team_missing(session);
    if (polyad_team_share_machine(session->context) != POLYAD_OK)
      return cli_library_failure(session->context);
  }
  polyad_status set = polyad_team_set_device(session->context, session->team, session->device);
  return cli_library_status(session->context, set);
}

int cli_session_open_on_cpu(struct cli_session *session) {
  char quoted[CLI_QUOTE_BYTES];
  if (strcmp(session->device, "auto") != 0 && strcmp(session->device, "cpu") != 0)
    return cli_usage_error("--device %s found; this is computed on the CPU: expected cpu or auto",
                           cli_quote(quoted, session->device));
  session->device = "cpu";
  return cli_session_open(session);
}

int cli_session_open_on_one(struct cli_session *session) {
  char quoted[CLI_QUOTE_BYTES];
  const char *device = session->device, *number = device + strlen("cuda");
  bool gpu = strncmp(device, "cuda", strlen("cuda")) == 0 &&
             (*number == '\0' || (number[0] == ':' && number[1] != '\0' &&
                                  strspn(number + 1, "0123456789") == strlen(number + 1)));
  if (!gpu && strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0)
    return cli_usage_error("--device %s found; this is computed on the CPU or on one GPU of CUDA: "
                           "expected auto, cpu, cuda or cuda:1",
                           cli_quote(quoted, device));
  return cli_session_open(session);
}

void cli_session_settle(struct cli_session *session) { (void)polyad_device(session->context); }

void cli_session_close(struct cli_session *session) {
  cli_computing_end();
  cli_progress_unwatch();
  if (session->warnings > WARNINGS_SHOWN)
    fprintf(stderr, "polyad: warning: ... and %d more\n", session->warnings - WARNINGS_SHOWN);
  polyad_context_destroy(session->context);
  session->context = NULL;
}

polyad_type cli_precision(const struct cli_session *session) {
  return strcmp(session->precision, "f32") == 0 ? POLYAD_F32 : POLYAD_F64;
}

polyad_compute cli_compute(const struct cli_session *session) {
  return (polyad_compute)cli_choice(CLI_COMPUTES, session->compute);
}

void cli_set_types(const struct cli_session *session, polyad_plan_options *options) {
  options->precision = cli_precision(session);
  options->compute = cli_compute(session);
  options->second_share = session->second_share;
}

const char *cli_reading_given(void) {
  static const char *const option[] = {
      "--input-format", "--index-base", "--pattern", "--duplicates", "--aggregate",
      "--zeros",        "--dims",       "--labels",  "--columns",    "--where",
      "--missing",      "--numbers",    "--value",   "--time-zone",  "--delimiter"};
  for (size_t k = 0; k < sizeof option / sizeof option[0]; ++k)
    if (cli_parsed_has(option[k] + strlen("--"))) return option[k];
  return NULL;
}

int cli_read_options(struct cli_session *session, polyad_read_options *options) {
  char quoted[CLI_QUOTE_BYTES];
  polyad_read_options_init(options);
  options->type = cli_precision(session);
  options->index_base = (int)session->index_base;
  options->pattern = session->pattern;
  options->duplicates = (polyad_duplicates)cli_choice(CLI_DUPLICATES, session->duplicates);
  options->zeros = strcmp(session->zeros, "keep") == 0 ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
  options->labels = session->labels;
  options->columns = session->columns;
  options->value = session->value;
  options->where = session->where;
  options->missing = (polyad_missing)cli_choice(CLI_MISSING, session->missing);
  options->numbers = (polyad_numbers)cli_choice(CLI_NUMBERS, session->numbers);
  options->time_zone = session->time_zone;
  int status = cli_input_format(session->input_format, options);
  if (status != 0) return status;
  options->share = polyad_team_rank(session->team);
  options->shares = polyad_team_size(session->team);
  if (session->delimiter != NULL) {
    const char *d = strcmp(session->delimiter, "\\t") == 0 ? "\t" : session->delimiter;
    if (strlen(d) != 1)
      return cli_usage_error("--delimiter %s found; expected one character",
                             cli_quote(quoted, session->delimiter));
    options->delimiter = d[0];
  }
  if (session->dims == NULL) return 0;
  options->order = cli_read_counts(session->dims, POLYAD_MAX_ORDER, options->dims);
  if (options->order < 1)
    return cli_usage_error("--dims %s found; expected 1 to %d lengths, such as 10,20,30",
                           cli_quote(quoted, session->dims), POLYAD_MAX_ORDER);
  return 0;
}

int cli_try_read_tensor(struct cli_session *session, const char *path, polyad_status *made,
                        polyad_tensor **tensor) {
  polyad_read_options options;
  const struct cli_output log = {"--log", session->log};
  int status = cli_read_options(session, &options);
  *made = POLYAD_OK;
  if (status == 0) status = cli_check_inputs(&log, 1, &path, 1);
  if (status == 0) status = cli_events_open(session);
  if (status != 0) return status;
  cli_phase(CLI_READ);
  cli_events_step("read", path);
  cli_heap_begin(path);
  pid_t child;
  status = cli_table_open(path, &options, &child);
  if (status != 0) return status;
  *made = polyad_tensor_read(session->context, child != 0 ? "-" : path, &options, tensor);
  status = cli_table_close(path, child);
  if (status == 0 && *made != POLYAD_OK) return 0;
  if (status == 0) status = cli_transform(session->context, &session->transforms, tensor);
  if (status == 0) return 0;
  polyad_tensor_destroy(*tensor);
  *tensor = NULL;
  return status;
}

int cli_read_tensor(struct cli_session *session, const char *path, polyad_tensor **tensor) {
  polyad_status made;
  int status = cli_try_read_tensor(session, path, &made, tensor);
  if (status == 0 && made != POLYAD_OK) status = cli_library_failure(session->context);
  /* No process of a team knows the hash of what all of them read, and what is timed is not hashed.
   */
  bool hashed = status == 0 && session->json != NULL && session->team == NULL &&
                !cli_parsed_usage()->measures;
  if (hashed) cli_manifest_tensor(path, polyad_tensor_hash(*tensor));
  return status;
}

polyad_status cli_plan_of(struct cli_session *session, const char *path, polyad_tensor **tensor,
                          const polyad_plan_options *options, bool takes, polyad_plan **plan) {
  polyad_stream_info about;
  polyad_status made = takes ? polyad_plan_create_take(session->context, tensor, options, plan)
                             : polyad_plan_create(session->context, *tensor, options, plan);
  if (made != POLYAD_OK || session->json == NULL || session->team != NULL) return made;
  polyad_plan_stream_info(*plan, &about);
  cli_manifest_tensor(path, about.tensor_hash);
  return made;
}

void cli_iterations_begin(struct cli_session *session) {
  cli_phase(CLI_ITERATIONS);
  cli_progress_start(session);
  cli_computing_begin(session);
}

int cli_iterations_end(struct cli_session *session, polyad_status done) {
  cli_computing_end();
  cli_progress_clear();
  return done == POLYAD_OK ? 0 : cli_library_failure(session->context);
}

bool cli_shows_results(const struct cli_session *session, const char *output) {
  cli_progress_clear();
  return (session->json == NULL || strcmp(session->json, "-") != 0) &&
         (output == NULL || strcmp(output, "-") != 0);
}

void cli_talk(const struct cli_session *session, const char *format, ...) {
  if (session->quiet) return;
  cli_progress_clear();
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
}
