/** @file
 *  @brief Results of decompositions: the Kruskal tensor (CP).
 *
 *  A Kruskal tensor is M = sum over r of lambda_r a_r^(1) o ... o a_r^(N): weights lambda
 *  (R numbers) and one factor matrix per mode (I_n x R, row major, no padding).
 *  T. G. Kolda and B. W. Bader, Tensor Decompositions and Applications, SIAM Review 2009. */
#ifndef POLYAD_MODEL_H
#define POLYAD_MODEL_H

#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A Kruskal tensor: weights and factor matrices. */
typedef struct polyad_ktensor polyad_ktensor;

/** Makes a Kruskal tensor with weights one and factors zero, to be filled through
 *  polyad_ktensor_weights() and polyad_ktensor_factor().
 *  @param order  number of modes, 1 to POLYAD_MAX_ORDER
 *  @param dims   length of each mode
 *  @param rank   number of components, at least 1
 *  @param type   type of all numbers
 *  @param[out] ktensor  destroyed with polyad_ktensor_destroy() */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_create(polyad_context *context, int order,
                                                              const uint64_t *dims, uint64_t rank,
                                                              polyad_type type,
                                                              polyad_ktensor **ktensor);
/** Destroys a Kruskal tensor; NULL is fine. */
POLYAD_API void polyad_ktensor_destroy(polyad_ktensor *ktensor);

/** Number of modes. */
POLYAD_API int polyad_ktensor_order(const polyad_ktensor *ktensor);
/** Length of each mode. */
POLYAD_API const uint64_t *polyad_ktensor_dims(const polyad_ktensor *ktensor);
/** Number of components. */
POLYAD_API uint64_t polyad_ktensor_rank(const polyad_ktensor *ktensor);
/** Type of weights and factors. */
POLYAD_API polyad_type polyad_ktensor_type(const polyad_ktensor *ktensor);
/** The weights: R floats or doubles, owned by the Kruskal tensor, writable. */
POLYAD_API void *polyad_ktensor_weights(polyad_ktensor *ktensor);
/** The factor matrix of a mode: I_n x R floats or doubles, row major, owned by the Kruskal
 *  tensor, writable. */
POLYAD_API void *polyad_ktensor_factor(polyad_ktensor *ktensor, int mode);

/** A 64-bit hash of dims, type and all numbers: models that are equal to the last bit have the same
 *  hash. */
POLYAD_API uint64_t polyad_ktensor_hash(const polyad_ktensor *ktensor);

/** Which norm columns are scaled to. */
typedef enum polyad_norm {
  POLYAD_NORM_2 = 0, /**< Euclidean norm */
  POLYAD_NORM_1 = 1  /**< sum of magnitudes */
} polyad_norm;

/** Scales every column of every factor to norm one and multiplies the norms into the
 *  weights; negative weights become positive by a sign change in mode 0. Zero columns give
 *  weight zero. */
POLYAD_API void polyad_ktensor_normalize(polyad_ktensor *ktensor, polyad_norm norm);
/** Sorts components by descending weight (stable).
 *  @return POLYAD_OUT_OF_MEMORY or POLYAD_OK */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_arrange(polyad_context *context,
                                                               polyad_ktensor *ktensor);
/** Flips signs of pairs of columns so that the entry of largest magnitude of each column is
 *  positive; with an odd number of negative columns the last of them stays negative, as the
 *  Tensor Toolbox's fixsigns does. */
POLYAD_API void polyad_ktensor_fix_signs(polyad_ktensor *ktensor);

/** Frobenius norm of the full tensor that the model stands for, from the Gram matrices of its
 *  factors: R^2 numbers a mode, whatever the dims (Kolda and Bader 2009, section 2.4).
 *  @return POLYAD_OK, POLYAD_OUT_OF_MEMORY or POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_norm(polyad_context *context,
                                                            const polyad_ktensor *ktensor,
                                                            double *norm);
/** Inner product of the model with a sparse tensor of the same dims: the sum, in double, of the
 *  tensor's values times the model's at their coordinates.
 *  @return POLYAD_MISMATCH for other dims, POLYAD_OUT_OF_MEMORY or POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_innerprod(polyad_context *context,
                                                                 const polyad_ktensor *ktensor,
                                                                 const polyad_tensor *tensor,
                                                                 double *product);
/** Fit 1 - ||X - M|| / ||X||.
 *  @return POLYAD_NUMERICAL when ||X|| is zero */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_fit(polyad_context *context,
                                                           const polyad_ktensor *ktensor,
                                                           const polyad_tensor *tensor,
                                                           double *fit);
/** Values of the model at `count` coordinates (0-based; coordinate p, mode n at
 *  coordinates[p * order + n]), written as doubles.
 *  @return POLYAD_INVALID_ARGUMENT for a coordinate outside dims */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_values(polyad_context *context,
                                                              const polyad_ktensor *ktensor,
                                                              uint64_t count,
                                                              const uint64_t *coordinates,
                                                              double *values);
/** Rows of largest magnitude in a component: `indices` gets `count` 0-based rows of the factor of
 *  `mode`, the strongest first, of equal ones the first first.
 *  @return POLYAD_INVALID_ARGUMENT when the mode has fewer rows or there is no such component */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_top(polyad_context *context,
                                                           const polyad_ktensor *ktensor, int mode,
                                                           uint64_t component, uint64_t count,
                                                           uint64_t *indices);
/** Factor match score of two models of the same dims, from 0 to 1. A pair of components scores the
 *  product over the modes of its columns' |cosines|, times 1 - |la - lb| / max(la, lb) of its
 * weights. Pairs are formed greedily, the best first; the score is the mean over the components of
 * the model that has fewer.
 *  @param weights   0: the factor of the weights is left out
 *  @param[out] matching  the partner of each component of the model that has fewer (of b where both
 *                        have as many); NULL: not wanted
 *  @return POLYAD_MISMATCH for other dims, POLYAD_OUT_OF_MEMORY or POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_score(polyad_context *context,
                                                             const polyad_ktensor *a,
                                                             const polyad_ktensor *b, int weights,
                                                             double *score, uint64_t *matching);

#ifdef __cplusplus
}
#endif
#endif
