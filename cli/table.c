/* Parquet and Arrow files by polyad-table, which has pyarrow. A tensor comes from it through a pipe
 * that becomes standard input. A model is written as .ptm into a folder of its own, and
 * polyad-table makes the file that was asked for of that. */
#define _GNU_SOURCE /* pipe2 */
#include "table.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char model_name[] = "/model.ptm";

bool cli_is_table_name(const char *path) {
  const char *dot = path == NULL ? NULL : strrchr(path, '.');
  return dot != NULL && strcmp(dot, ".parquet") == 0;
}

/* Starts polyad-table; `actions` may be NULL. 0, or 1 after an error. */
static int start(const char *path, char *const *arguments,
                 const posix_spawn_file_actions_t *actions, pid_t *child) {
  char quoted[CLI_QUOTE_BYTES];
  int failed = posix_spawnp(child, arguments[0], actions, NULL, arguments, environ);
  if (failed == 0) return 0;
  if (failed == ENOENT)
    return cli_failure("%s: polyad-table, which is for such files, is not installed; expected the "
                       "Python package on the PATH (pip install 'polyad[tables]')",
                       cli_quote(quoted, path));
  return cli_failure("%s: cannot start polyad-table: %s", cli_quote(quoted, path),
                     strerror(failed));
}

/* 0 when the process did its work; else it has said why not, unless it was killed. */
static int finish(const char *path, pid_t child) {
  char quoted[CLI_QUOTE_BYTES];
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR) return cli_failure("cannot wait for polyad-table: %s", strerror(errno));
  if (WIFEXITED(ended)) return WEXITSTATUS(ended) == 0 ? 0 : 1;
  return cli_failure("%s: polyad-table was ended by signal %d", cli_quote(quoted, path),
                     WTERMSIG(ended));
}

static int run(const char *path, char *const *arguments) {
  pid_t child;
  int status = start(path, arguments, NULL, &child);
  return status == 0 ? finish(path, child) : status;
}

int cli_table_check(const char *path) {
  return run(path, (char *[]){"polyad-table", "--check", NULL});
}

bool cli_is_table_input(const char *path) {
  static const char *const extensions[] = {".parquet", ".arrow", ".feather", ".ipc"};
  const char *dot = strrchr(path, '.');
  for (size_t k = 0; dot != NULL && k < sizeof extensions / sizeof *extensions; ++k)
    if (strcmp(dot, extensions[k]) == 0) return true;
  return false;
}

/* --columns=… with the text of all options that name columns, which is where polyad-table looks for
 * names; without --columns all are needed. NULL: out of memory. */
static char *wanted(const polyad_read_options *options) {
  static const char begin[] = "--columns=";
  if (options->columns == NULL) return strdup("--");
  const char *value = options->value != NULL ? options->value : "value";
  const char *where = options->where != NULL ? options->where : "";
  size_t room = sizeof begin + strlen(options->columns) + strlen(value) + strlen(where) + 2;
  char *text = malloc(room);
  if (text != NULL) snprintf(text, room, "%s%s %s %s", begin, options->columns, value, where);
  return text;
}

int cli_table_open(const char *path, polyad_read_options *options, pid_t *child) {
  int ends[2], status = 1;
  posix_spawn_file_actions_t actions;
  *child = 0;
  if (options->format != POLYAD_FILE_AUTO || options->delimiter != 0 || !cli_is_table_input(path))
    return 0;
  char *columns = wanted(options), *file = strdup(path);
  if (columns == NULL || file == NULL || posix_spawn_file_actions_init(&actions) != 0) {
    (void)cli_failure("out of memory");
  } else if (pipe2(ends, O_CLOEXEC) != 0) {
    (void)cli_failure("%s: %s", path, strerror(errno));
    posix_spawn_file_actions_destroy(&actions);
  } else {
    char *arguments[] = {"polyad-table", columns, "--", file, NULL};
    if (strcmp(columns, "--") == 0) memmove(arguments + 1, arguments + 2, 3 * sizeof *arguments);
    if (posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0)
      status = start(path, arguments, &actions, child);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (status == 0 && dup2(ends[0], STDIN_FILENO) < 0) status = cli_failure("%s", strerror(errno));
    close(ends[0]);
    options->format = POLYAD_FILE_DELIMITED;
    options->delimiter = ',';
  }
  free(columns);
  free(file);
  return status;
}

int cli_table_close(const char *path, pid_t child) {
  if (child == 0) return 0;
  /* A process that has not closed its end was cut short by the reader, who has said why. */
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  bool whole = poll(&input, 1, 0) == 1 && (input.revents & (POLLHUP | POLLIN)) == POLLHUP;
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) close(STDIN_FILENO);
  if (nothing > STDIN_FILENO) close(nothing);
  if (whole) return finish(path, child);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
    ;
  return 0;
}

char *cli_table_begin(const char *path) {
  char *name = NULL;
  if (!cli_is_table_name(path)) {
    name = strdup(path);
  } else {
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0') folder = "/tmp";
    size_t room = strlen(folder) + sizeof "/polyad-XXXXXX" + sizeof model_name;
    name = malloc(room);
    if (name != NULL) {
      snprintf(name, room, "%s/polyad-XXXXXX", folder);
      if (mkdtemp(name) == NULL) {
        (void)cli_failure("%s: %s", name, strerror(errno));
        free(name);
        return NULL;
      }
      memcpy(name + strlen(name), model_name, sizeof model_name);
    }
  }
  if (name == NULL) (void)cli_failure("out of memory");
  return name;
}

int cli_table_end(const char *path, char *written, int status) {
  if (cli_is_table_name(path)) {
    static const char begin[] = "--output=";
    size_t room = sizeof begin + strlen(path);
    char *output = status == 0 ? malloc(room) : NULL;
    if (output != NULL) {
      snprintf(output, room, "%s%s", begin, path);
      status = run(path, (char *[]){"polyad-table", output, "--", written, NULL});
      free(output);
    } else if (status == 0) {
      status = cli_failure("out of memory");
    }
    (void)unlink(written);
    written[strlen(written) - strlen(model_name)] = '\0';
    (void)rmdir(written);
  }
  free(written);
  return status;
}
