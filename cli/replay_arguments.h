/* The arguments with which polyad replay starts a recorded run again. */
#ifndef CLI_REPLAY_ARGUMENTS_H
#define CLI_REPLAY_ARGUMENTS_H

#include "json.h"

struct cli_replay_arguments {
  const char *file;                                         /* where the object was found */
  const char *directory;                                    /* that gets what the run writes */
  const struct cli_usage *(*usage_of)(const char *command); /* NULL: it is not done again */
  /* made: a command line, ended by NULL, whose words are in the object or here */
  char **words;
  char threads[24];
  char **places;
  size_t place_count;
};

/** Makes the words from the object that --json wrote, which may be NULL or anything else. They are
 *  given back by cli_replay_arguments_clear(), also after an error.
 *  @return 0, or an exit status after an error was printed; then there are no words */
int cli_replay_arguments(struct cli_replay_arguments *replay, const cJSON *recorded);
void cli_replay_arguments_clear(struct cli_replay_arguments *replay);

#endif
