/* Held-out error of CP models by bi-cross-validation (Owen and Perry 2009), for a rank scan. */
#ifndef PD_RANK_HOLDOUT_H
#define PD_RANK_HOLDOUT_H

#include "algorithms/rank_fit.h"
#include "tensor/tensor.h"

/** Two modes split into folds. */
struct pd_holdout {
  int folds;      /* 0: the tensor is too small for any */
  int mode[2];    /* the two longest */
  uint8_t *of[2]; /* fold of each index of these modes */
};

/** Splits the two longest modes at random, by the context's seed, into `folds` parts, or as many as
 *  leave two indices in each. */
polyad_status pd_holdout_split(polyad_context *context, const polyad_tensor *tensor, int folds,
                               struct pd_holdout *holdout);
void pd_holdout_clear(polyad_context *context, struct pd_holdout *holdout);

/** A plan of the nonzeros outside of a fold in both modes; *plan is NULL when there are none. */
polyad_status pd_holdout_plan(struct pd_rank_job *job, const struct pd_holdout *holdout,
                              const polyad_tensor *tensor, int fold, polyad_plan **plan);

/** Error of a model of a fold's training part on the cells that are in the fold in both modes, as a
 *  part of the sum of their squares; NaN when these are all zero. The rows of the fold are found by
 *  least squares from the cells that are in it in one of the modes.
 *  @return POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT, POLYAD_CANCELLED */
polyad_status pd_holdout_error(polyad_context *context, const struct pd_holdout *holdout,
                               const polyad_tensor *tensor, int fold, const polyad_ktensor *model,
                               double *error);

/** Factor match score of a model of a fold's training part with a model of the whole tensor, on the
 *  rows outside of the fold; weights are left out. */
polyad_status pd_holdout_match(polyad_context *context, const struct pd_holdout *holdout, int fold,
                               const polyad_ktensor *model, const polyad_ktensor *whole,
                               double *score);

#endif
