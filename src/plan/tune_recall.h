/* Measured candidates that are kept for the next run. */
#ifndef PD_TUNE_RECALL_H
#define PD_TUNE_RECALL_H

#include "plan/choose.h"

/** Sets what an earlier measurement of the same tensor, request, device and library found into the
 *  candidates. False, and nothing changed, when there is none that knows all that can be used. */
bool pd_candidates_recall(polyad_context *context, const char *path, const polyad_tensor *tensor,
                          const struct pd_request *request, struct pd_candidate *candidates,
                          int count);

/** Keeps what pd_candidates_measure() found. `request` is as it was then. */
void pd_candidates_remember(polyad_context *context, const char *path, const polyad_tensor *tensor,
                            const struct pd_request *request, const struct pd_candidate *candidates,
                            int count);

/** Sets those of a format's parameters that the request does not give to the values that
 *  polyad_tune_cache_keep() kept in request->kept for such requests, where there are some. */
void pd_parameters_recall(polyad_context *context, const struct polyad_format *format,
                          const struct pd_request *request, int parameter[PD_PARAMETERS_MAX]);

#endif
