/* Runs of CP-ALS side by side on one plan. Each has its own rank, first factors and end; their
 * MTTKRPs are one, of all their columns. */
#ifndef PD_ALS_TOGETHER_H
#define PD_ALS_TOGETHER_H

#include "plan/plan.h"
#include <polyad/cp_als.h>

/** One run, with one start. */
struct pd_als_task {
  polyad_cp_als_options options; /* run.max_seconds counts from the call */
  int start;                     /* which random start it is, for random first factors */
  /* Out. */
  polyad_ktensor *model; /* in its normal form, the caller's; NULL: all runs ended before it did */
  double fit;
  polyad_reason reason; /* CANCELLED, MAX_SECONDS: all runs have ended */
};

struct pd_als_tasks {
  struct pd_als_task *task;
  int count;
  void (*announce)(void *user, int task); /* called before the context's progress function hears of
                                             an iteration of this task; or NULL */
  void (*ended)(void *user, int task, polyad_run_info *info); /* called when a task is done, with
                                                                 what its run reports; or NULL */
  void *user;
  double seconds_init; /* out: that first factors took */
};

/** Whether runs on this plan can be done side by side: on one device, with kernels of its
 * precision. */
bool pd_als_can_share(const polyad_plan *plan);
/** Whether there is room for at least two runs of this rank side by side. */
bool pd_als_gains_together(polyad_context *context, const polyad_plan *plan, uint64_t rank);

/** Does all tasks, in all of which the same modes are nonnegative; when the caller wants the runs
 * to end, those that have begun hand over what they have. Their models are those of
 * polyad_cp_als(), to rounding: sums over nonzeros may be split between threads at other places,
 * for their number follows from the number of columns. */
polyad_status pd_als_together(polyad_context *context, const polyad_plan *plan,
                              struct pd_als_tasks *tasks);

/** polyad_cp_als() of several starts, side by side: the model of the best of them. */
polyad_status pd_als_restarts(polyad_context *context, const polyad_plan *plan,
                              const polyad_cp_als_options *options, polyad_ktensor **model,
                              polyad_run_info *info);

#endif
