/* What the starts of a run gave, and how long they took to begin and to iterate. */
#ifndef PD_RUN_STARTS_H
#define PD_RUN_STARTS_H

#include "algorithms/run_steps.h"

/** Records the start that has just ended: what it maximised (`what` names it in a message at level
 *  info), its iterations and why it ended. */
polyad_status pd_run_note_start(struct pd_run *run, const char *what, double objective,
                                polyad_reason reason);

/** Gives what is known of all starts to `info`, after the last pd_run_report(). */
void pd_run_report_starts(struct pd_run *run, polyad_run_info *info);

#endif
