/* The loop of iterations that all algorithms have: stopping rules, the caller's functions, the
 * record. */
#ifndef PD_RUN_STEPS_H
#define PD_RUN_STEPS_H

#include "core/core.h"
#include <polyad/plan.h>
#include <polyad/run.h>

struct pd_run {
  polyad_context *context;
  int order; /* times of kernels kept for each iteration; 0: none */
  int max_iterations;
  double max_seconds;    /* 0: no limit */
  double started;        /* clock at the start of the run */
  double seconds_before; /* that a resumed checkpoint had taken */
  double start_seconds;  /* pd_run_seconds() when the running start began to iterate */
  int restart;           /* which start this is */
  int first_iteration;   /* iterations that a resumed checkpoint had done */
  int iteration;         /* done */
  double change;         /* of the fit, or where there is none of the log-likelihood, in the last
                            iteration; NaN at first */
  int room;              /* iterations that the next two have room for */
  polyad_trace_row *trace;
  double *kernel_seconds; /* `order` numbers per iteration */
  /* Of all starts; see run_starts.h. */
  polyad_start *starts;
  int start_count;
  double noted_seconds; /* pd_run_seconds() when the last start was recorded */
  double seconds_init, seconds_iterations;
};

/** What differs between algorithms. `state` is the algorithm's own. */
struct pd_run_steps {
  /** One iteration: fills in the row but for its number and time, and puts the seconds of its
   *  kernels into `kernel_seconds`. run->iteration counts those done before. */
  polyad_status (*iterate)(void *state, polyad_trace_row *row, double *kernel_seconds);
  /** Called after an iteration that is not recorded yet: whether the run broke down in it. Then the
   *  state has gone back to that of the iteration before, and the row is forgotten. NULL: never. */
  polyad_status (*judge)(void *state, const polyad_trace_row *row, bool *breaks);
  /** Whether the last iteration met the tolerance. */
  bool (*converged)(const void *state);
  /** Saves the state after an iteration, when that is due; NULL: nothing is saved. */
  polyad_status (*save)(void *state, bool end);
};

/** Makes room for the iterations of a run of up to 2^16: they allocate nothing.
 *  pd_run_clear() frees it. */
polyad_status pd_run_open(struct pd_run *run);
void pd_run_clear(struct pd_run *run);

/** Makes room for this many iterations. */
polyad_status pd_run_reserve(struct pd_run *run, int iterations);

/** Goes back to iteration 0, for another start. */
void pd_run_restart(struct pd_run *run, int restart);
/** First factors are ready, or those of a checkpoint: time is taken from here on. */
void pd_run_begin(struct pd_run *run);

/** Seconds since the start of the run, those before a resumed checkpoint included. */
static inline double pd_run_seconds(const struct pd_run *run) {
  return run->seconds_before + (pd_seconds() - run->started);
}

/** Whether the fit grew by less than the tolerance (0: never) in the last iteration. A fall is no
 *  convergence. */
bool pd_run_growth_below(const struct pd_run *run, double tolerance);

/** Iterates until a stopping rule holds. */
polyad_status pd_run_loop(struct pd_run *run, const struct pd_run_steps *steps, void *state,
                          polyad_reason *reason);

/** Threads that kernels over a plan's nonzeros use with `columns` columns (the rank; of a chain, a
 *  product of ranks), for polyad_run_info; said at level info. */
int pd_run_threads(polyad_context *context, const polyad_plan *plan, uint64_t columns);

/** Writes what a run knows of itself over `info`: reason, iterations, trace and times; fit,
 *  log-likelihood and KKT violation as in the last row of the trace, or NaN. */
polyad_status pd_run_report(const struct pd_run *run, polyad_reason reason, polyad_run_info *info);

#endif
