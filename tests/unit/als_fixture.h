/* Small tensors and runs for the tests of CP-ALS. */
#ifndef PD_TEST_ALS_FIXTURE_H
#define PD_TEST_ALS_FIXTURE_H

#include "contexts.h"
#include <polyad/polyad.h>

/** Fails the test with the library's words unless `call` gives POLYAD_OK. */
#define ALS_OK(context, call)                                                                      \
  do {                                                                                             \
    polyad_status als_status_ = (call);                                                            \
    if (als_status_ != POLYAD_OK) fail_msg("%s: %s", #call, polyad_last_error(context));           \
  } while (0)

/** A tensor from coordinates index[p * order + n] and values. */
polyad_tensor *als_tensor(polyad_context *context, int order, const uint64_t *dims, uint64_t nnz,
                          const int32_t *index, const double *value);
/** Every entry of the model as a tensor (what is exactly zero is left out). */
polyad_tensor *als_tensor_of_model(polyad_context *context, polyad_ktensor *model);
/** `nnz` random entries (repeats are summed), standard normal or whole numbers from 1 to 5. */
polyad_tensor *als_random_tensor(polyad_context *context, int order, const uint64_t *dims,
                                 uint64_t nnz, uint64_t seed, int counts);
/** A plan in the format that the library chooses. */
polyad_plan *als_plan(polyad_context *context, const polyad_tensor *tensor, uint64_t rank,
                      polyad_type precision);
/** A model with the given factors and weights one. */
polyad_ktensor *als_model(polyad_context *context, int order, const uint64_t *dims, uint64_t rank,
                          const double *const *factor);
/** A model with standard normal or, with nonnegative != 0, uniform factors. */
polyad_ktensor *als_random_model(polyad_context *context, int order, const uint64_t *dims,
                                 uint64_t rank, uint64_t seed, int nonnegative);

/** Fails unless all weights and factors are finite, weights sorted and at least 0, and columns of
 *  norm one (or zero with weight zero). */
void als_check_model(polyad_ktensor *model);
/** Seven standard deviations of the roundings of a sum over so many terms of which a run keeps
 *  `type`; sums of floats go on in double after 16 terms. Relative to the terms' magnitude. */
double als_sum_error(polyad_type type, uint64_t terms);
/** How far apart entries of the factors of two runs of so many iterations may be that begin alike
 *  and round differently, where `model` is what one found. Solving multiplies the errors of an
 *  update's sums by the condition of the normal equations, and scaling those of a column by how
 * much smaller its weight is than the largest. Updates that converge make earlier errors no larger.
 */
double als_drift(polyad_context *context, polyad_ktensor *model, uint64_t terms, int iterations);
/** Whether two models have the same bits. */
int als_same_model(polyad_ktensor *a, polyad_ktensor *b);

#endif
