/* State of one CP-ALS run: factors, Gram matrices, weights, and what iterations need. */
#ifndef PD_ALS_STATE_H
#define PD_ALS_STATE_H

#include "algorithms/run_steps.h"
#include "linalg/linalg.h"
#include "plan/plan.h"
#include "tensor/ktensor.h"

/** Fit and residual of the current model, as the last fetch found them. */
struct pd_als_fit {
  double fit;      /* 1 - ||X - M|| / ||X|| */
  double residual; /* ||X - M||^2 / ||X||^2, at least 0 */
};

struct pd_als {
  polyad_context *context;
  const polyad_plan *plan;
  const polyad_cp_als_options *options;
  const struct pd_device *device;
  const struct pd_linalg *linalg;
  polyad_workspace *workspace;
  struct pd_linalg_work *work;
  int order;
  double norm_squared; /* of the tensor as the plan's kernels see it */

  polyad_ktensor *model; /* its arrays are the factors' memory where the device allows */
  struct pd_matrix factor[POLYAD_MAX_ORDER];
  /* Where kernels round the factors that they read, all but the last are kept so rounded, and of
     the last this is a rounded copy. */
  struct pd_matrix rounded;
  struct pd_matrix gram[POLYAD_MAX_ORDER]; /* of what MTTKRP reads */
  struct pd_matrix lambda;                 /* 1 x R */
  struct pd_matrix v;                      /* R x R */
  struct pd_matrix m; /* MTTKRP, where it cannot go into the factor itself; rows of the
                         longest mode */
  const struct pd_matrix *factor_list[POLYAD_MAX_ORDER];
  const struct pd_matrix *gram_list[POLYAD_MAX_ORDER];

  double *host_lambda; /* R numbers, then `order` matrices R x R: copies for checkpoints */

  void *record; /* an iteration after the first, where the device records */

  struct pd_run run;
  struct pd_als_fit fit;
  uint64_t fallbacks;
  double kept; /* eigenvalues kept by the last fall-back */

  struct pd_checkpoint *checkpoint; /* where the state is kept; NULL: nowhere */
  int unsaved;                      /* checkpoints that could not be written */
};

/** Allocates everything a run needs, after checking the memory limit. */
polyad_status pd_als_create(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_als_options *options, struct pd_als **als);
void pd_als_destroy(struct pd_als *als);

/** Gives components of weight zero a new chance, without changing the model. */
polyad_status pd_als_revive(struct pd_als *als);

static inline bool pd_als_rounds(const struct pd_als *als) {
  return als->plan->compute != POLYAD_COMPUTE_NATIVE && als->linalg->round != NULL;
}
/** Makes mode n's factor what MTTKRP reads, and its Gram matrix from that: normal equations of
 *  other matrices than the MTTKRP has read let errors of rounding grow. */
polyad_status pd_als_take_factor(struct pd_als *als, int n);

/** Host copy of mode n's Gram matrix. */
static inline double *pd_als_host_gram(const struct pd_als *als, int n) {
  uint64_t rank = als->options->rank;
  return als->host_lambda + rank + (uint64_t)n * rank * rank;
}

/** Fills the host factors of `als->model` for a start and puts them onto the device, with
 *  weights one and Gram matrices. */
polyad_status pd_als_initialize(struct pd_als *als, int restart);
/** Puts the host model onto the device (after initialising or resuming). */
polyad_status pd_als_upload(struct pd_als *als);
/** Brings the device's factors and weights into als->model. */
polyad_status pd_als_download(struct pd_als *als);

/** Computes the fit of the current factors without changing them. */
polyad_status pd_als_evaluate(struct pd_als *als);
/** Iterates until a stopping rule holds. */
polyad_status pd_als_run(struct pd_als *als, polyad_reason *reason);

/** Writes plain words about a singular or degenerate model into info->diagnosis; "" when there is
 *  nothing to say. Uses the device's matrices: nothing may be computed with them afterwards. */
polyad_status pd_als_diagnose(struct pd_als *als, const polyad_ktensor *model,
                              polyad_run_info *info);

#endif
