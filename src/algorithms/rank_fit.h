/* Fitting all starts of one rank, for a rank scan. */
#ifndef PD_RANK_FIT_H
#define PD_RANK_FIT_H

#include "core/nested_progress.h"
#include "plan/plan.h"
#include "tensor/ktensor.h"
#include <polyad/rank.h>

/** A scan, as its parts know it. */
struct pd_rank_job {
  polyad_context *context;
  const polyad_rank_options *options;
  struct pd_nested_progress progress;
  double started;              /* clock */
  bool cancelled, out_of_time; /* the scan ends */
};

/** The models of one rank. */
struct pd_rank_models {
  uint64_t rank;
  int count;              /* random starts that ended by themselves */
  polyad_ktensor **start; /* the model of each of them */
  double *objective;      /* what each maximised: fit or log-likelihood */
  polyad_ktensor *grown;  /* of the last start from a smaller rank, if it is not the best */
  double grown_objective;
  double highest;       /* of the starts: random ones, and those from a smaller rank */
  polyad_ktensor *best; /* of all starts, iterated on */
  double best_objective;
  int best_start; /* which random start it came from; `count` or more: none of them */
};

/** How many of the ranks from the first on are best fitted at once: all whose runs share their
 *  products and do not take long. */
int pd_rank_group(const struct pd_rank_job *job, const polyad_plan *plan, const uint64_t *ranks,
                  int count, int starts);

/** Fits `starts` random starts of each of `count` ranks, and one more from the best model of the
 *  rank before (for the first of them `previous`; NULL: none), to the plan's tensor. `name` begins
 *  what the progress function hears. When job->cancelled or job->out_of_time is set in the end,
 *  models may be missing: those of ranks with no start, and what only whole scans do to the others.
 *  @param[out] models  one for each rank, cleared with pd_rank_models_clear() */
polyad_status pd_rank_fit(struct pd_rank_job *job, const char *name, const polyad_plan *plan,
                          const uint64_t *ranks, int count, int starts,
                          const polyad_ktensor *previous, struct pd_rank_models *models);
void pd_rank_models_clear(polyad_context *context, struct pd_rank_models *models, int count);

static inline bool pd_rank_is_apr(const polyad_rank_options *options) {
  return options->algorithm >= POLYAD_ALGORITHM_APR_MU;
}

/** Whether the scan has to end. */
static inline bool pd_rank_ends(const struct pd_rank_job *job) {
  return job->cancelled || job->out_of_time;
}

#endif
