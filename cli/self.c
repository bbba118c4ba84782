#define _GNU_SOURCE /* O_CLOEXEC pipes */
#include "self.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char **environ;

static char **kept;

void cli_self_keep(int argc, char **argv) {
  kept = calloc((size_t)argc + 1, sizeof *kept);
  if (kept != NULL && argc > 0) memcpy(kept, argv, (size_t)argc * sizeof *kept);
}

/* The file that the kernel was told to execute; what /proc/self/exe leads to would change the name
 * that `ps` shows. NULL where it is not this program: under the dynamic loader called by name (then
 * the kernel maps no interpreter), and under valgrind, which would lose sight of what it runs. */
static const char *own_file(void) {
  const char *preloaded = getenv("LD_PRELOAD");
  if (getauxval(AT_BASE) == 0) return NULL;
  if (preloaded != NULL && strstr(preloaded, "vgpreload") != NULL) return NULL;
  /* The kernel hands over an address as a number. */
  return (const char *)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr)
}

void cli_self_start_again(void) {
  const char *file = own_file();
  if (file != NULL && kept != NULL && kept[0] != NULL) (void)execv(file, kept);
}

pid_t cli_self_start_child(char *const *arguments, enum cli_errors errors, int *output) {
  const char *file = own_file();
  posix_spawn_file_actions_t actions;
  int ends[2];
  pid_t child = -1;
  if (file == NULL || pipe2(ends, O_CLOEXEC) != 0) return -1;
  if (posix_spawn_file_actions_init(&actions) == 0) {
    bool ready =
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0 &&
        (errors == CLI_SHARE_ERRORS ||
         posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0);
    if (!ready || posix_spawn(&child, file, &actions, NULL, arguments, environ) != 0) child = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  if (child < 0)
    close(ends[0]);
  else
    *output = ends[0];
  return child;
}
