/* Where the wall-clock time of a command goes: parts each of which ends where the next one begins,
 * so that they add up to the whole. */
#ifndef CLI_PHASES_H
#define CLI_PHASES_H

#include <cjson/cJSON.h>
#include <polyad/run.h>

enum cli_phase {
  CLI_START,      /* the process, options, the device */
  CLI_READ,       /* files that come in */
  CLI_BUILD,      /* a plan */
  CLI_INIT,       /* first factors */
  CLI_ITERATIONS, /* iterations, or what else a command computes */
  CLI_FINISH,     /* of a decomposition: allocation, the normal form, the diagnosis */
  CLI_WRITE,      /* files and results that go out */
  CLI_PHASES
};

/** Seconds on a clock that never goes back. */
double cli_now(void);
/** Called first of all. What the processor has done for the process before (loading it, and where
 * it has started itself again, the time before that) counts as the beginning of CLI_START. */
void cli_phases_begin(void);
/** Ends the part of the command that was under way and begins another, maybe once more.
 *  @return seconds since the one before began */
double cli_phase(enum cli_phase phase);
/** What is under way, in a word, and how many seconds it has been; for any thread. */
const char *cli_phase_now(double *seconds);
/** Begins CLI_FINISH after a whole decomposition, which was under way as CLI_ITERATIONS and whose
 * time is dealt out now. */
void cli_phase_of_run(const polyad_run_info *info);
/** Adds "seconds_start", ..., "seconds_write", of all that was until now, and "seconds_wall". */
void cli_json_phases(cJSON *object);

#endif
