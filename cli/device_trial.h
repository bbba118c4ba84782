/* Opening a kind of device in a child process first.
 *
 * A driver may end the process that opens it: PoCL aborts on a machine without /sys, for one. What
 * the command is not sure to survive, `polyad devices --kind KIND` tries in a process of its own,
 * whose JSON object says what is there. CUDA's driver answers with errors, so a run on a GPU opens
 * it at once and pays for its start once; only `polyad devices`, which then opens nothing itself,
 * asks about every kind in this way. */
#ifndef CLI_DEVICE_TRIAL_H
#define CLI_DEVICE_TRIAL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

enum { CLI_TRIAL_BYTES = 200 };

struct cli_device_trial {
  const char *kind;
  pid_t child; /* -1: none */
  int output;
};

/** Starts the trial of a kind of device, "cuda" or "opencl". False: there can be none here. */
bool cli_device_trial_start(struct cli_device_trial *trial, const char *kind);

/** Waits for it. The object of `polyad devices --kind KIND --json -`, or NULL: then `why` says in
 *  one line what happened to the process. */
cJSON *cli_device_trial_finish(struct cli_device_trial *trial, char why[CLI_TRIAL_BYTES]);

/** Whether the devices that --device names can be opened here without harm. 0, or an exit status
 *  after an error was printed. */
int cli_device_try(const char *devices);

#endif
