/** @file
 *  @brief Results of Tucker decompositions: the Tucker tensor.
 *
 *  A Tucker tensor is M = G x_1 A^(1) x_2 ... x_N A^(N): a core G (R_1 x ... x R_N, the last mode
 *  varying fastest) multiplied in every mode by a factor matrix (I_n x R_n, row major, no padding).
 *  T. G. Kolda and B. W. Bader, Tensor Decompositions and Applications, SIAM Review 2009,
 *  section 4. */
#ifndef POLYAD_TTENSOR_H
#define POLYAD_TTENSOR_H

#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A Tucker tensor: core and factor matrices. */
typedef struct polyad_ttensor polyad_ttensor;

/** Makes a Tucker tensor of zeros, to be filled through polyad_ttensor_core() and
 *  polyad_ttensor_factor().
 *  @param order  number of modes, 1 to POLYAD_MAX_ORDER
 *  @param dims   length of each mode
 *  @param ranks  columns of each mode's factor, at least 1
 *  @param type   type of all numbers
 *  @param[out] ttensor  destroyed with polyad_ttensor_destroy()
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_OVERFLOW, POLYAD_MEMORY_LIMIT naming the bytes,
 *  POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_create(polyad_context *context, int order,
                                                              const uint64_t *dims,
                                                              const uint64_t *ranks,
                                                              polyad_type type,
                                                              polyad_ttensor **ttensor);
/** Destroys a Tucker tensor; NULL is fine. */
POLYAD_API void polyad_ttensor_destroy(polyad_ttensor *ttensor);

/** Number of modes. */
POLYAD_API int polyad_ttensor_order(const polyad_ttensor *ttensor);
/** Length of each mode. */
POLYAD_API const uint64_t *polyad_ttensor_dims(const polyad_ttensor *ttensor);
/** Columns of each mode's factor. */
POLYAD_API const uint64_t *polyad_ttensor_ranks(const polyad_ttensor *ttensor);
/** Type of core and factors. */
POLYAD_API polyad_type polyad_ttensor_type(const polyad_ttensor *ttensor);
/** Numbers of the core: the product of the ranks. */
POLYAD_API uint64_t polyad_ttensor_core_size(const polyad_ttensor *ttensor);
/** The core: floats or doubles, the last mode varying fastest, owned by the Tucker tensor,
 *  writable. */
POLYAD_API void *polyad_ttensor_core(polyad_ttensor *ttensor);
/** The factor matrix of a mode: I_n x R_n floats or doubles, row major, owned by the Tucker tensor,
 *  writable; NULL when there is no such mode. */
POLYAD_API void *polyad_ttensor_factor(polyad_ttensor *ttensor, int mode);

/** A 64-bit hash of dims, ranks, type and all numbers: models that are equal to the last bit have
 *  the same hash. */
POLYAD_API uint64_t polyad_ttensor_hash(const polyad_ttensor *ttensor);

/** Frobenius norm of the full tensor, from the core and the factors' Gram matrices. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_norm(polyad_context *context,
                                                            const polyad_ttensor *ttensor,
                                                            double *norm);
/** Fit 1 - ||X - M|| / ||X||.
 *  @return POLYAD_MISMATCH for other dims, POLYAD_NUMERICAL when ||X|| is zero */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_fit(polyad_context *context,
                                                           const polyad_ttensor *ttensor,
                                                           const polyad_tensor *tensor,
                                                           double *fit);
/** Values of the model at `count` coordinates (0-based; coordinate p, mode n at
 *  coordinates[p * order + n]), written as doubles.
 *  @return POLYAD_INVALID_ARGUMENT for a coordinate outside dims */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_values(polyad_context *context,
                                                              const polyad_ttensor *ttensor,
                                                              uint64_t count,
                                                              const uint64_t *coordinates,
                                                              double *values);

#ifdef __cplusplus
}
#endif
#endif
