#include "device_trial.h"
#include "phases.h"
#include "self.h"
#include "text.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 60 /* seconds */, MOST_BYTES = 64 << 10 };

bool cli_device_trial_start(struct cli_device_trial *trial, const char *kind) {
  char kind_of[16];
  snprintf(kind_of, sizeof kind_of, "%s", kind);
  char *arguments[] = {"polyad", "devices", "--kind", kind_of, "--json", "-", NULL};
  trial->kind = kind;
  trial->child = cli_self_start_child(arguments, CLI_NO_ERRORS, &trial->output);
  return trial->child >= 0;
}

/* What the child writes until it ends; false when it takes too long. */
static bool read_answer(int from, char text[MOST_BYTES]) {
  double end = cli_now() + PATIENCE;
  size_t used = 0;
  text[0] = '\0';
  for (;;) {
    struct pollfd file = {.fd = from, .events = POLLIN};
    double left = end - cli_now();
    int ready = left <= 0 ? 0 : poll(&file, 1, (int)(1000 * left) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t got = read(from, text + used, MOST_BYTES - 1 - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    used += (size_t)got;
    text[used] = '\0';
  }
}

cJSON *cli_device_trial_finish(struct cli_device_trial *trial, char why[CLI_TRIAL_BYTES]) {
  char *text = malloc(MOST_BYTES);
  int status = 0;
  bool answered = text != NULL && read_answer(trial->output, text);
  if (!answered) (void)kill(trial->child, SIGKILL);
  while (waitpid(trial->child, &status, 0) < 0 && errno == EINTR) {
  }
  close(trial->output);
  cJSON *object = answered && WIFEXITED(status) ? cJSON_Parse(text) : NULL;
  free(text);
  if (object != NULL) return object;
  if (!answered)
    snprintf(why, CLI_TRIAL_BYTES, "its driver did not answer within %d s", PATIENCE);
  else if (WIFSIGNALED(status))
    snprintf(why, CLI_TRIAL_BYTES, "its driver ended the process that opened it (signal %d, %s)",
             WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    snprintf(why, CLI_TRIAL_BYTES, "its driver ended the process that opened it (exit status %d)",
             WIFEXITED(status) ? WEXITSTATUS(status) : 0);
  return NULL;
}

int cli_device_try(const char *devices) {
  struct cli_device_trial trial;
  char why[CLI_TRIAL_BYTES];
  if (strstr(devices, "opencl") == NULL || !cli_device_trial_start(&trial, "opencl")) return 0;
  cJSON *object = cli_device_trial_finish(&trial, why);
  if (object == NULL) return cli_failure("device opencl cannot be used: %s", why);
  cJSON_Delete(object);
  return 0;
}
