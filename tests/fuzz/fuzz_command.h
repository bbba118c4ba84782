/* Parts of the command inside a fuzz target: what they print is caught and looked at. */
#ifndef PD_FUZZ_COMMAND_H
#define PD_FUZZ_COMMAND_H

#include <stdbool.h>

/** From here on what is printed goes into memory. getopt_long() starts anew. */
void fuzz_command_begin(void);
/** Requires one line of bounded length without control bytes on standard error where there was an
 *  error, else nothing. */
void fuzz_command_end(bool failed);

#endif
