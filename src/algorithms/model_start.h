/* First models of CP decompositions, and the scale of their weights. */
#ifndef PD_MODEL_START_H
#define PD_MODEL_START_H

#include "core/numbers.h"
#include "plan/plan.h"
#include "tensor/ktensor.h"

/** The stream of random numbers of a mode and a start. */
static inline uint64_t pd_model_stream(int start, int mode) {
  return (uint64_t)start * POLYAD_MAX_ORDER + (uint64_t)mode;
}
/** Factors uniform in [0, 1): entry (i, r) of mode n is number i * R + r of the stream of mode n
 *  and of this start. With a plan, rows are those of its matrices; NULL: all. */
void pd_model_fill_random(polyad_context *context, const polyad_plan *plan, int restart,
                          polyad_ktensor *model);

/** A new model with the numbers of another. */
polyad_status pd_model_copy(polyad_context *context, const polyad_ktensor *from,
                            polyad_ktensor **copy);

void pd_model_unit_weights(polyad_ktensor *model);

/** Copies the factors of an initial model of the tensor's shape, of which `model` has the rows of
 * the plan's matrices; in the modes of `clipped` (bit n: mode n) negative entries become 0. Weights
 * stay.
 *  @return POLYAD_MISMATCH or POLYAD_NUMERICAL saying what differs or where it is not finite */
polyad_status pd_model_take_initial(polyad_context *context, const polyad_plan *plan,
                                    const polyad_ktensor *initial, uint32_t clipped,
                                    polyad_ktensor *model);

/** Number k of a model's array, as a double. */
static inline double pd_model_number(const polyad_ktensor *model, const void *array, uint64_t k) {
  return pd_load(model->type, array, k);
}

static inline void pd_model_set(const polyad_ktensor *model, void *array, uint64_t k,
                                double value) {
  pd_store(model->type, array, k, value);
}

/** Multiplies the weights by 2^exponent: undoes the plan's scaling of values.
 *  @return POLYAD_NUMERICAL when a weight overflows */
polyad_status pd_model_scale_weights(polyad_context *context, int exponent, polyad_ktensor *model);
/** The same for a result, whose columns have norms of at most 1, beside a tensor of this norm
 * (before it is scaled back). Weights below about 1e-308 are rounded to few digits or to zero; what
 * that may change the fit by is added to `fit_bound`. */
polyad_status pd_model_scale_result(polyad_context *context, int exponent, double norm,
                                    polyad_ktensor *model, double *fit_bound);

#endif
