/* The arguments with which polyad replay starts a recorded run again. */
#ifndef CLI_REPLAY_ARGUMENTS_H
#define CLI_REPLAY_ARGUMENTS_H

#include "json.h"

enum { CLI_REPLAY_THREADS = 24 };

/** Makes the words of a command line from the object that --json wrote, which may be NULL or
 *  anything else that was found in `file`. They end with NULL, point into `recorded` and `threads`,
 *  and are given back with free().
 *  @return 0, or an exit status after an error was printed; then *arguments is NULL */
int cli_replay_arguments(const char *file, const cJSON *recorded, char threads[CLI_REPLAY_THREADS],
                         char ***arguments);

#endif
