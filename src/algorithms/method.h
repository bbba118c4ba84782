/* The frame of all decompositions. A method says how a start begins, what an iteration does, and
 * when it has converged; the frame (method.c) runs the starts, ends them by the rules that all
 * methods have, keeps the best, saves and resumes (archive.c), and reports (run_info.c). README.md
 * shows the way of the data, and how to add a method. */
#ifndef PD_METHOD_H
#define PD_METHOD_H

#include "algorithms/archive.h"
#include "core/core.h"
#include <polyad/plan.h>
#include <polyad/run.h>

/** What differs between methods. `state` is the method's own. */
struct pd_method {
  const char *name;      /* of the state in checkpoints: at most 7 characters */
  const char *objective; /* what it maximises, in messages */

  /** The first factors of a start, from 0; forgets what the start before has left. */
  polyad_status (*start)(void *state, int start);
  /** Computes the objective of the first factors, where no iteration is to follow. NULL: there is
   *  always one. */
  polyad_status (*guess)(void *state);
  /** One iteration: fills in the row but for its number and time, and puts the seconds of its
   *  kernels into `kernel_seconds`, or leaves that to the next one or to end(). run->iteration
   * counts those done before. */
  polyad_status (*iterate)(void *state, polyad_trace_row *row, double *kernel_seconds);
  /** Called after an iteration that is not recorded yet: whether the run broke down in it. Then the
   *  state has gone back to that of the iteration before, and the row is forgotten. NULL: never. */
  polyad_status (*judge)(void *state, const polyad_trace_row *row, bool *breaks);
  /** Whether the last iteration met the tolerance. */
  bool (*converged)(const void *state);
  /** Whether the start ends because a validation set has told nothing good for long. NULL: never.
   */
  bool (*stagnates)(const void *state);
  bool shared;    /* runs on a plan that a team shares */
  bool validates; /* checkpoints keep the validation error of every row of the trace */
  /** Called when a start has ended, before it is reported: what iterations have left to do, such
   *  as the seconds of their kernels. NULL: nothing. */
  polyad_status (*end)(void *state);
  /** The objective of the current factors. */
  double (*score)(const void *state);
  /** Lists all numbers that iterations go on from: see archive.h. */
  polyad_status (*save)(void *state, struct pd_archive *archive);
  /** Puts what the method knows of the start that has just ended over what the last row of the
   *  trace has put into `info`. NULL: nothing. */
  void (*report)(const void *state, polyad_run_info *info);
  /** Brings the model to the host, in its normal form, and explains it in info->diagnosis. */
  polyad_status (*finish)(void *state, polyad_run_info *info);
};

struct pd_run {
  polyad_context *context;
  const polyad_plan *plan;
  const struct pd_method *method;
  void *state;
  const polyad_run_options *options;
  uint64_t columns;      /* of the kernels' work per nonzero: the rank; of chains, a product */
  int order;             /* times of kernels kept for each iteration; 0: none */
  double started;        /* clock at the start of the run */
  double seconds_before; /* that a resumed checkpoint had taken */
  double start_seconds;  /* pd_run_seconds() when the running start began to iterate */
  int start;             /* which start this is */
  bool beside;           /* other runs are under way at the same time: logs name this one */
  int first_iteration;   /* iterations that a resumed checkpoint had done */
  int iteration;         /* done */
  double change;         /* of the fit, or where there is none of the log-likelihood, in the last
                            iteration; NaN at first */
  int room;              /* iterations that `trace` and `kernel_seconds` are long enough for */
  polyad_trace_row *trace;
  double *kernel_seconds;           /* `order` numbers per iteration */
  struct pd_checkpoint *checkpoint; /* where the state is kept; NULL: nowhere */
  int unsaved;                      /* checkpoints that could not be written */
  /* Of all starts. */
  polyad_start *starts;
  int start_count;
  double noted_seconds; /* pd_run_seconds() when the last start was recorded */
  double seconds_init, seconds_iterations;
  unsigned char *best; /* the state of the best start, while there may be others */
};

/** Makes room for the iterations of a run of up to 2^16: they allocate nothing. The fields up to
 *  `order` are set by the caller, and `started`. pd_run_clear() frees what the frame has. */
polyad_status pd_run_open(struct pd_run *run);
void pd_run_clear(struct pd_run *run);

/** Fails where a team shares the plan and the method does not run on such plans. */
polyad_status pd_run_check_team(const struct pd_run *run);

/** "rank 3, start 1: ", for logs of runs side by side. */
void pd_run_name(const struct pd_run *run, char name[80]);

/** Makes room for this many iterations. */
polyad_status pd_run_reserve(struct pd_run *run, int iterations);

/** Seconds since the start of the run, those before a resumed checkpoint included. */
static inline double pd_run_seconds(const struct pd_run *run) {
  return run->seconds_before + (pd_seconds() - run->started);
}

/** What an iteration improves. */
double pd_run_objective(const polyad_trace_row *row);

/** All starts, then the end of the best of them. `info` (NULL: nobody asks) is replaced when all
 *  went well. */
polyad_status pd_run_execute(struct pd_run *run, polyad_run_info *info);

/** The random stream of new columns for mode n in the iteration that comes: one of its own, apart
 * from those of all starts, so that a resumed run draws the same numbers. */
uint64_t pd_revive_stream(const struct pd_run *run, int n);

/** Threads that kernels of so many columns use over the plan's nonzeros; said at level info. */
int pd_run_threads(polyad_context *context, const polyad_plan *plan, uint64_t columns);

/* What pd_run_execute() is made of, for several runs that iterate side by side (als_together.h). */

/** The first factors of a start, on which no iteration has worked yet. */
polyad_status pd_run_begin(struct pd_run *run, int start);
/** A row of the trace in which nothing is known yet. */
polyad_trace_row pd_run_row(void);
/** Where the iteration that comes puts the seconds of its kernels, once pd_run_reserve() has made
 *  room for it; NULL where none are kept. */
double *pd_run_kernel_seconds(const struct pd_run *run);
/** What follows an iteration: it is judged, recorded, told to the caller, and saved when that is
 *  due. `end`: it was the last one, for this reason. */
polyad_status pd_run_settle(struct pd_run *run, const polyad_trace_row *row, bool *end,
                            polyad_reason *reason);

/** Writes what a run knows of itself over `info`: reason, iterations, trace and times; fit,
 *  log-likelihood and KKT violation as in the last row of the trace, or NaN. */
polyad_status pd_run_report(const struct pd_run *run, polyad_reason reason, polyad_run_info *info);

/** Appends a sentence to info->diagnosis; one that does not fit is left out whole. */
void pd_run_say(polyad_run_info *info, const char *format, ...) PD_PRINTF(2, 3);
struct pd_component;
/** Sentences about pairs of components that nearly cancel or are nearly the same. `cosine` has the
 *  cosines between the components (R x R); component r of the model is number order[r].place there,
 *  or where `order` is NULL number r. */
void pd_run_say_pairs(polyad_context *context, uint64_t rank, const struct pd_component *order,
                      const double *cosine, polyad_run_info *info);

#endif
