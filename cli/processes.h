/* The command as one of several processes that mpirun or another launcher has started: the first
 * one talks, writes and tells errors; the others compute, and are silent. */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H

#include "json.h"
#include "session.h"

/** Joins the others, where a launcher has started several processes: session->team. 0, or an exit
 *  status. */
int cli_team_join(struct cli_session *session);
/** Warns, in the first process, where a launcher has started several of a subcommand that shares no
 *  work: they may be independent, on files of their own, or a mistake. */
void cli_team_missing(const struct cli_session *session);
/** Whether this process is the first, or the only one. */
bool cli_team_first(const struct cli_session *session);
/** Meets the others at the end of a step that may have failed in one of them: 0 when it has failed
 * in none. The first process tells the error of another. */
int cli_team_agree(struct cli_session *session, int status);
/** Leaves the others. */
void cli_team_leave(struct cli_session *session);

/** What all members of a team have done, processes or devices of this one, for the JSON object;
 *  asked of all processes, and freed with free(). NULL where the plan has no team. 0, or an exit
 *  status. */
int cli_team_gather(struct cli_session *session, const polyad_plan *plan,
                    polyad_team_info **members);
/** Members "processes", "grid", "imbalance" and "members" of the object. */
void cli_json_team(cJSON *object, const polyad_plan *plan, const polyad_team_info *members);

#endif
