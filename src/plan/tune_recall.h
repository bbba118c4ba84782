/* Measured candidates that are kept for the next run. */
#ifndef PD_TUNE_RECALL_H
#define PD_TUNE_RECALL_H

#include "plan/choose.h"

/** Sets what an earlier measurement of the same tensor, request, device and library found into the
 *  candidates. False, and nothing changed, when there is none that knows all that can be used. */
bool pd_candidates_recall(polyad_context *context, const char *path, const polyad_tensor *tensor,
                          const char *format, const struct pd_request *request,
                          struct pd_candidate *candidates, int count);

/** Keeps what pd_candidates_measure() found. `request` is as it was then. */
void pd_candidates_remember(polyad_context *context, const char *path, const polyad_tensor *tensor,
                            const char *format, const struct pd_request *request,
                            const struct pd_candidate *candidates, int count);

#endif
