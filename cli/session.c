#include "session.h"
#include "progress.h"
#include "text.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS_MOST = 256 };

void cli_session_init(struct cli_session *session) {
  *session = (struct cli_session){
      .device = "auto", .precision = "f64", .index_base = 1, .duplicates = "sum"};
}

static void log_message(void *user, polyad_log_level level, const char *message) {
  const struct cli_session *session = user;
  if (session->quiet) return;
  cli_progress_clear();
  if (level == POLYAD_LOG_WARNING)
    fprintf(stderr, "polyad: warning: %s\n", message);
  else
    fprintf(stderr, "%s\n", message);
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

int cli_session_open(struct cli_session *session) {
  if (polyad_context_create(&session->context) != POLYAD_OK) return cli_failure("out of memory");
  polyad_set_log(session->context, session->verbose ? POLYAD_LOG_DEBUG : POLYAD_LOG_WARNING,
                 log_message, session);
  polyad_set_seed(session->context, session->seed);
  int status = set_threads(session);
  if (status != 0) return status;
  if (session->memory_limit > 0 &&
      polyad_set_memory_limit(session->context, session->memory_limit) != POLYAD_OK)
    return cli_library_failure(session->context);
  polyad_status set = polyad_set_device(session->context, session->device);
  if (set != POLYAD_OK) {
    (void)cli_library_failure(session->context);
    return set == POLYAD_INVALID_ARGUMENT ? 2 : 1;
  }
  return 0;
}

void cli_session_close(struct cli_session *session) {
  polyad_context_destroy(session->context);
  session->context = NULL;
}

polyad_type cli_precision(const struct cli_session *session) {
  return strcmp(session->precision, "f32") == 0 ? POLYAD_F32 : POLYAD_F64;
}

static polyad_duplicates duplicates_of(const char *name) {
  static const char *const names[] = {"sum", "max", "min", "first", "error"};
  for (int k = 0; k < 5; ++k)
    if (strcmp(names[k], name) == 0) return (polyad_duplicates)k;
  return POLYAD_DUPLICATES_SUM;
}

static int read_options(struct cli_session *session, polyad_read_options *options) {
  char quoted[CLI_QUOTE_BYTES];
  polyad_read_options_init(options);
  options->type = cli_precision(session);
  options->index_base = (int)session->index_base;
  options->pattern = session->pattern;
  options->duplicates = duplicates_of(session->duplicates);
  options->labels = session->labels;
  options->columns = session->columns;
  options->value = session->value;
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

int cli_read_tensor(struct cli_session *session, const char *path, polyad_tensor **tensor) {
  polyad_read_options options;
  int status = read_options(session, &options);
  if (status != 0) return status;
  if (polyad_tensor_read(session->context, path, &options, tensor) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}

int cli_check_output(struct cli_session *session, const char *output, const char *input) {
  if (output == NULL || strcmp(output, "-") == 0) return 0;
  char quoted[CLI_QUOTE_BYTES];
  struct stat a, b;
  if (input != NULL && stat(output, &a) == 0 && stat(input, &b) == 0 && a.st_dev == b.st_dev &&
      a.st_ino == b.st_ino)
    return cli_failure("output %s is the input; expected another file", cli_quote(quoted, output));
  size_t length = strlen(output);
  if (output[length - 1] == '/') { /* a directory that is to be made */
    if (stat(output, &a) == 0)
      return cli_failure("output %s exists; expected a directory that is not there yet",
                         cli_quote(quoted, output));
    char *beside = strdup(output);
    if (beside == NULL) return cli_failure("out of memory");
    for (size_t k = length; k > 1 && beside[k - 1] == '/'; --k)
      beside[k - 1] = '\0';
    polyad_status status = polyad_output_check(session->context, beside);
    free(beside);
    return status == POLYAD_OK ? 0 : cli_library_failure(session->context);
  }
  if (polyad_output_check(session->context, output) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}

void cli_talk(const struct cli_session *session, const char *format, ...) {
  if (session->quiet) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
}

/* ---- signals ---- */

static volatile sig_atomic_t signal_met;
static polyad_context *volatile computing;
static const int handled[] = {SIGINT, SIGTERM, SIGHUP};

static void on_signal(int number) {
  polyad_context *context = computing;
  if (context == NULL || signal_met != 0) _exit(128 + number);
  signal_met = number;
  polyad_cancel(context);
}

void cli_computing_begin(struct cli_session *session) {
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  computing = session->context;
  for (size_t k = 0; k < sizeof handled / sizeof *handled; ++k) {
    struct sigaction before;
    /* A signal that the parent told us to ignore (nohup) stays ignored. */
    if (sigaction(handled[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(handled[k], &action, NULL);
  }
}

void cli_computing_end(struct cli_session *session) {
  (void)session;
  /* What is left is writing results: it takes moments and should not be cut short. */
}

int cli_signal_status(void) { return signal_met == 0 ? 0 : 128 + signal_met; }

int cli_finish_output(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
  if (errno != EPIPE) (void)cli_failure("cannot write to standard output: %s", strerror(errno));
  return 1;
}
