/* State of one run of Tucker decomposition. */
#ifndef PD_TUCKER_STATE_H
#define PD_TUCKER_STATE_H

#include "algorithms/run_steps.h"
#include "linalg/svd.h"
#include "plan/plan.h"
#include "tensor/ttensor.h"
#include <polyad/tucker.h>

struct pd_tucker {
  polyad_context *context;
  const polyad_plan *plan;
  const polyad_tucker_options *options;
  const struct pd_device *device;
  const struct pd_svd *svd;
  polyad_workspace *workspace;
  struct pd_svd_work *work;
  int order;
  double norm_squared;                /* of the tensor as the plan's kernels see it */
  uint64_t columns[POLYAD_MAX_ORDER]; /* of the chain of each mode */
  polyad_ttensor *model; /* its factors are the matrices' memory where the device allows */
  struct pd_matrix factor[POLYAD_MAX_ORDER];
  const struct pd_matrix *factor_list[POLYAD_MAX_ORDER];
  struct pd_matrix chain; /* room for every mode's */
  struct pd_matrix core;  /* unfolded along the last mode: R_N x the product of the others */
  struct pd_run run;
};

/** Allocates everything a run needs, after checking sizes and the memory limit. */
polyad_status pd_tucker_create(polyad_context *context, const polyad_plan *plan,
                               const polyad_tucker_options *options, struct pd_tucker **tucker);
void pd_tucker_destroy(struct pd_tucker *tucker);
/** First factors, on the device. */
polyad_status pd_tucker_initialize(struct pd_tucker *tucker);
/** Iterates until a stopping rule holds. */
polyad_status pd_tucker_run(struct pd_tucker *tucker, polyad_reason *reason);
/** Brings factors and core into tucker->model, with signs fixed and the values' scale restored. */
polyad_status pd_tucker_finish(struct pd_tucker *tucker);

#endif
