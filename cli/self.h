/* Running the command once more: in a child process, or in place of itself. */
#ifndef CLI_SELF_H
#define CLI_SELF_H

#include <stdbool.h>
#include <sys/types.h>

/** Called before the arguments are parsed, which reorders them: keeps them for another start. */
void cli_self_keep(int argc, char **argv);

/** Replaces the process by a fresh start of the same command with the same arguments. Returns
 *  only where that is not possible, or cli_self_keep() was not called. */
void cli_self_start_again(void);

/** Where a child process says what goes wrong. */
enum cli_errors { CLI_NO_ERRORS, CLI_SHARE_ERRORS };
/** Starts the command with other arguments (argv[0] its name, ended by NULL) in a child process.
 *  Its standard output can be read from *output; its standard error is nowhere or that of this
 *  process. -1: that is not possible. */
pid_t cli_self_start_child(char *const *arguments, enum cli_errors errors, int *output);

#endif
