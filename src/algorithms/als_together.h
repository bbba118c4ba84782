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
                                             an iteration of this task */
  void *user;
};

/** Whether runs on this plan can be done side by side: on the host's memory. */
bool pd_als_can_share(const polyad_plan *plan);

/** Does all tasks. Their models are those of polyad_cp_als(), to rounding: sums over nonzeros may
 * be split between threads at other places, for their number follows from the number of columns. */
polyad_status pd_als_together(polyad_context *context, const polyad_plan *plan,
                              const struct pd_als_tasks *tasks);

#endif
