/* State of one run of Tucker decomposition. */
#ifndef PD_TUCKER_STATE_H
#define PD_TUCKER_STATE_H

#include "algorithms/hosvd.h"
#include "algorithms/method.h"
#include "algorithms/rank_search.h"
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
  struct pd_matrix chain;  /* room for every mode's */
  struct pd_matrix core;   /* unfolded along the last mode: R_N x the product of the others */
  polyad_tensor *nonzeros; /* for residuals that are summed; NULL until the first */
  bool no_sum;             /* there is no memory for them */
  bool cut_short;          /* the last iteration was cancelled and left factors as they were */
  double fit_error, fit_error_before; /* bounds of the last two iterations' fits' rounding */
  polyad_fit_from fit_from;           /* how the last one was computed */
  double share_error;                 /* pd_tucker_share_error() */
  double fit, residual;               /* of the last iteration; the residual relative, squared */
  const struct pd_rank_search *found; /* first factors that came with the ranks; NULL: none */
  struct pd_hosvd_report hosvd;
  struct pd_run run;
};

/** Bytes of a run of these ranks; UINT64_MAX when they do not fit 64 bits or LAPACK's integers. */
uint64_t pd_tucker_bytes(polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
                         enum pd_svd_method method);
extern const struct pd_method pd_tucker_method;

/** Allocates everything a run needs, after checking sizes and the memory limit. `started` is when
 *  the run began. */
polyad_status pd_tucker_create(polyad_context *context, const polyad_plan *plan,
                               const polyad_tucker_options *options, double started,
                               struct pd_tucker **tucker);
void pd_tucker_destroy(struct pd_tucker *tucker);
/** The first factors of a start, on the device. */
polyad_status pd_tucker_start(void *tucker, int start);
polyad_status pd_tucker_iterate(void *tucker, polyad_trace_row *row, double *kernel_seconds);
/** The core of the first factors, which are orthonormal, and the fit: a run without iterations. */
polyad_status pd_tucker_guess(void *tucker);
/** The numbers that iterations go on from. */
polyad_status pd_tucker_save(void *tucker, struct pd_archive *archive);
/** The row's fit, relative squared residual and their bound, of the model so far. */
polyad_status pd_tucker_fit(struct pd_tucker *tucker, polyad_trace_row *row);
/** A bound of the rounding error of ||G||^2 / ||X||^2. */
double pd_tucker_share_error(const struct pd_tucker *tucker);
/** Whether the fit rose by less than the tolerance; `state` is the struct pd_tucker. */
bool pd_tucker_converged(const void *state);
/** Brings factors and core into tucker->model; the core times 2^exponent. `rounded`: the norm of
 * what entries lost of their digits that are too small for all of them, before they are scaled. */
polyad_status pd_tucker_download(struct pd_tucker *tucker, int exponent, double *rounded);
/** Brings factors and core into tucker->model, with signs fixed and the values' scale restored;
 *  `rounded` is as above. */
polyad_status pd_tucker_finish_model(struct pd_tucker *tucker, double *rounded);

#endif
