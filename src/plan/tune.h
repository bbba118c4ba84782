/* Measuring candidates instead of estimating them. */
#ifndef PD_TUNE_H
#define PD_TUNE_H

#include "plan/choose.h"

/** Builds every usable candidate in each of its variants, runs the request's kernel (MTTKRP or Phi)
 * a few times in every mode, and sets the candidate's `seconds` and `variant` to the fastest.
 * Candidates that fail to build or run count as unsupported, with the reason. The tensor is left as
 * it is. */
polyad_status pd_candidates_measure(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_request *request,
                                    struct pd_candidate *candidates, int count);

/** Matrices of ones on the request's device: one per mode, and one as long as the longest mode.
 * Those made before a failure are the caller's too. */
polyad_status pd_ones_create(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_request *request, struct pd_matrix *factors);

#endif
