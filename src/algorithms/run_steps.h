/* Iterations of a run: stopping rules, the caller's functions, the record. */
#ifndef PD_RUN_STEPS_H
#define PD_RUN_STEPS_H

#include "core/core.h"
#include <polyad/cp_als.h>

struct pd_run {
  polyad_context *context;
  int order, max_iterations;
  double tolerance, max_seconds;
  double started;       /* clock */
  double start_seconds; /* pd_run_seconds() when the first iteration began */
  int iteration;        /* done */
  double fit, residual, change;
  int room;
  polyad_trace_row *trace;
  double *kernel_seconds; /* `order` numbers per iteration */
};

/** Makes room for the first iterations; pd_run_clear() frees it. */
polyad_status pd_run_open(struct pd_run *run);
void pd_run_clear(struct pd_run *run);

static inline double pd_run_seconds(const struct pd_run *run) {
  return pd_seconds() - run->started;
}

/** Where the running iteration puts the seconds of its kernels. */
polyad_status pd_run_next(struct pd_run *run, double **kernel_seconds);
/** Records an iteration that ended with this fit, tells the caller, and says whether the run ends
 *  and why. */
void pd_run_done(struct pd_run *run, double fit, double residual, bool *ends,
                 polyad_reason *reason);
/** Fills in what a run knows of itself: reason, iterations, fit, trace and times. */
polyad_status pd_run_report(struct pd_run *run, polyad_reason reason, polyad_run_info *info);

#endif
