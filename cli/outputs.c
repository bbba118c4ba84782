/* Where results go: checked before any work. */
#include "events.h"
#include "manifest.h"
#include "session.h"
#include "text.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_is_directory_name(const char *path) {
  size_t length = strlen(path);
  return length > 0 && path[length - 1] == '/';
}

/* Whether two names of files that need not exist are the same name in the same directory. */
static bool is_same_place(const char *a, const char *b) {
  const char *paths[] = {a, b};
  struct stat directory[2];
  const char *name[2];
  for (int k = 0; k < 2; ++k) {
    char parent[4096] = ".";
    const char *slash = strrchr(paths[k], '/');
    name[k] = slash == NULL ? paths[k] : slash + 1;
    if (slash != NULL) snprintf(parent, sizeof parent, "%.*s", (int)(name[k] - paths[k]), paths[k]);
    if (stat(parent, &directory[k]) != 0) return false;
  }
  return *name[0] != '\0' && strcmp(name[0], name[1]) == 0 &&
         directory[0].st_dev == directory[1].st_dev && directory[0].st_ino == directory[1].st_ino;
}

/* Whether two names lead to one file, also through symbolic and hard links. */
static bool is_same_file(const char *a, const char *b) {
  struct stat one, other;
  if (strcmp(a, b) == 0) return true;
  if (stat(a, &one) != 0 || stat(b, &other) != 0) return is_same_place(a, b);
  return S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* A directory that is to be made, in one that can be written. */
static int check_new_directory(struct cli_session *session, const struct cli_output *output) {
  char quoted[CLI_QUOTE_BYTES];
  struct stat about;
  if (lstat(output->path, &about) == 0)
    return cli_failure("%s %s exists; expected a directory that is not there yet", output->name,
                       cli_quote(quoted, output->path));
  char *beside = strdup(output->path);
  if (beside == NULL) return cli_failure("out of memory");
  for (size_t k = strlen(beside); k > 1 && beside[k - 1] == '/'; --k)
    beside[k - 1] = '\0';
  polyad_status status = polyad_output_check(session->context, beside);
  free(beside);
  return status == POLYAD_OK ? 0 : cli_library_failure(session->context);
}

int cli_check_inputs(const struct cli_output *outputs, int count, const char *const *inputs,
                     int input_count) {
  char quoted[CLI_QUOTE_BYTES];
  for (int k = 0; k < count; ++k) {
    const struct cli_output *output = &outputs[k];
    if (output->path == NULL || strcmp(output->path, "-") == 0) continue;
    for (int i = 0; i < input_count; ++i)
      if (inputs[i] != NULL && is_same_file(output->path, inputs[i]))
        return cli_failure("%s %s is the input; expected another file", output->name,
                           cli_quote(quoted, output->path));
  }
  return 0;
}

static int check_output(struct cli_session *session, const struct cli_output *output,
                        const char *const *inputs, int input_count) {
  if (output->path == NULL || strcmp(output->path, "-") == 0) return 0;
  int status = cli_check_inputs(output, 1, inputs, input_count);
  if (status != 0) return status;
  if (cli_is_directory_name(output->path)) return check_new_directory(session, output);
  if (polyad_output_check(session->context, output->path) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}

/* The log is checked against all others, but not for being writable: it is opened at once. */
static int open_log(struct cli_session *session, const struct cli_output *outputs, int count,
                    const char *const *inputs, int input_count) {
  const struct cli_output log = {"--log", session->log};
  if (log.path == NULL) return 0;
  for (int k = 0; k < count; ++k)
    if (outputs[k].path != NULL && is_same_file(outputs[k].path, log.path))
      return cli_usage_error("%s and --log both go to the same file; expected two places",
                             outputs[k].name);
  int status = cli_check_inputs(&log, 1, inputs, input_count);
  return status == 0 ? cli_events_open(session) : status;
}

int cli_check_outputs(struct cli_session *session, const struct cli_output *outputs, int count,
                      const char *const *inputs, int input_count) {
  for (int i = 0; i < count; ++i)
    for (int j = i + 1; j < count; ++j)
      if (outputs[i].path != NULL && outputs[j].path != NULL &&
          is_same_file(outputs[i].path, outputs[j].path))
        return cli_usage_error(
            "%s and %s both go to %s; expected two places", outputs[i].name, outputs[j].name,
            strcmp(outputs[i].path, "-") == 0 ? "standard output" : "the same file");
  for (int k = 0; k < count; ++k) {
    int status = check_output(session, &outputs[k], inputs, input_count);
    if (status != 0) return status;
  }
  cli_manifest_files(outputs, count, inputs, input_count);
  return open_log(session, outputs, count, inputs, input_count);
}

/* Whether standard output is a pipe that nobody reads any more. */
static bool reader_has_gone(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int cli_finish_output(void) {
  bool failed = ferror(stdout) != 0;
  errno = 0;
  if (fflush(stdout) == 0 && !failed) return 0;
  if (errno == EPIPE || reader_has_gone()) return CLI_PIPE_CLOSED;
  return cli_failure("cannot write to standard output: %s", strerror(errno != 0 ? errno : EIO));
}
