/* Timing of kernels that are called with arrays of the host. */
#ifndef PD_MEASURE_H
#define PD_MEASURE_H

#include "plan/host_call.h"
#include <polyad/measure.h>

/** How a call is timed, and what came out. */
struct pd_timing {
  const polyad_measure_options *options;
  double *seconds; /* options->runs */
  int done;
};

/** Runs the call's kernel as its timing says, on matrices of the plan's device. */
polyad_status pd_timed_runs(polyad_context *context, const struct pd_host_call *call,
                            const struct pd_matrix *const *factors, struct pd_matrix *out);

#endif
