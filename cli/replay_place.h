/* The directory in which polyad replay lets a run write. */
#ifndef CLI_REPLAY_PLACE_H
#define CLI_REPLAY_PLACE_H

/** Makes a directory of this process's own under $TMPDIR, or /tmp. NULL after an error was
 * printed. */
char *cli_replay_place(void);
/** Removes it with all that is in it, and gives the name back. It may be NULL. */
void cli_replay_place_remove(char *directory);

#endif
