/* Progress on standard error: a line that changes where that is a terminal, else one a minute. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "session.h"

/** Shows what takes longer than a second beside iterations: reading, building, writing. Ended by
 *  cli_progress_unwatch(), which may be called without it. */
void cli_progress_watch(const struct cli_session *session);
void cli_progress_unwatch(void);
/** Shows each iteration of the session's computations. */
void cli_progress_start(struct cli_session *session);
/** Removes the line, so that other text can be printed. */
void cli_progress_clear(void);

#endif
