/* The observations that a completion is fitted to (struct pd_observations, linalg/completion.h),
 * made in the host's memory and then sent to the device. Their order is that of a tensor's entries,
 * whatever the plan's format, so that sums have the same bits for every format. */
#ifndef PD_OBSERVATIONS_H
#define PD_OBSERVATIONS_H

#include "core/core.h"
#include "linalg/completion.h"
#include "tensor/tensor.h"

/** @return POLYAD_MISMATCH, naming the first cell, where the weights are of other cells than the
 *  tensor, or negative */
polyad_status pd_observations_check_weights(polyad_context *context, const polyad_tensor *tensor,
                                            const polyad_tensor *weights);
/** Takes the entries of `tensor`, its values times 2^-exponent, and the weights of the same cells
 * in `weights` (checked; NULL: none).
 *  @return POLYAD_UNSUPPORTED for a mode longer than 2^32 */
polyad_status pd_observations_create(polyad_context *context, const polyad_tensor *tensor,
                                     const polyad_tensor *weights, int exponent,
                                     struct pd_observations **observations);
void pd_observations_destroy(struct pd_observations *observations);
/** Finds where the rows of all modes begin, with long ones divided as the device's steps want them.
 *  Observations are in the host's memory. */
polyad_status pd_observations_find_rows(struct pd_observations *observations,
                                        const struct pd_completion *steps);
/** Makes the order of every mode, where the observations lie. */
polyad_status pd_observations_sort(struct pd_observations *observations,
                                   const struct pd_completion *steps);
/** Replaces observations in the host's memory by equal ones on a device. */
polyad_status pd_observations_send(const struct pd_device *device,
                                   struct pd_observations **observations);
/** Bytes of observations with rows. */
uint64_t pd_observations_bytes(int order, uint64_t count, bool weights);

#endif
