#include "phases.h"
#include <stdatomic.h>
#include <time.h>

static const char *const keys[CLI_PHASES] = {
    "seconds_start",      "seconds_read",   "seconds_build", "seconds_init",
    "seconds_iterations", "seconds_finish", "seconds_write"};

static const char *const words[CLI_PHASES] = {"starting",  "reading",   "building", "starting",
                                              "computing", "finishing", "writing"};

/* The command runs once in a process. */
static struct {
  enum cli_phase phase;
  double began, seconds[CLI_PHASES];
} course;

/* The same for other threads. */
static struct {
  atomic_int phase;
  _Atomic double began;
} shown;

static double seconds_on(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double cli_now(void) { return seconds_on(CLOCK_MONOTONIC); }

void cli_phases_begin(void) {
  course.began = cli_now() - seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  atomic_store(&shown.began, course.began);
}

double cli_phase(enum cli_phase phase) {
  double now = cli_now(), took = now - course.began;
  course.seconds[course.phase] += took;
  course.began = now;
  if (course.phase != phase) {
    atomic_store(&shown.began, now);
    atomic_store(&shown.phase, (int)phase);
  }
  course.phase = phase;
  return took;
}

const char *cli_phase_now(double *seconds) {
  *seconds = cli_now() - atomic_load(&shown.began);
  return words[atomic_load(&shown.phase)];
}

void cli_phase_of_run(const polyad_run_info *info) {
  double took = cli_phase(CLI_FINISH);
  course.seconds[CLI_INIT] += info->seconds_init;
  course.seconds[CLI_ITERATIONS] += info->seconds_iterations - took;
  course.seconds[CLI_FINISH] += took - info->seconds_init - info->seconds_iterations;
}

void cli_json_phases(cJSON *object) {
  double sum = 0;
  cli_phase(course.phase);
  for (int k = 0; k < CLI_PHASES; ++k) {
    cJSON_AddNumberToObject(object, keys[k], course.seconds[k]);
    sum += course.seconds[k];
  }
  cJSON_AddNumberToObject(object, "seconds_wall", sum);
}
