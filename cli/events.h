/* The log that --log asks for: one JSON object a line, written when it happens. */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include "session.h"

/** Remembers when the process began and what it was asked: called first of all. */
void cli_events_begin(int argc, char **argv);
/** The session's --log may be opened from here on: it is none of the run's inputs and outputs. What
 *  happened before is written now. 0, or an exit status after an error was printed. */
int cli_events_open(struct cli_session *session);
/** A step of the command begins, such as "read"; `file` is what it works on, or NULL. */
void cli_events_step(const char *step, const char *file);
void cli_events_message(polyad_log_level level, const char *text);
void cli_events_error(const char *text);
void cli_events_progress(const polyad_progress *progress);
/** The command ends with this exit status. Returns it, or 1 after an error of the log was printed.
 */
int cli_events_end(int status);

#endif
