/** @file
 *  @brief Tucker decomposition by higher-order orthogonal iteration. */
#ifndef POLYAD_TUCKER_H
#define POLYAD_TUCKER_H

#include <polyad/cp_als.h>
#include <polyad/ttensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How singular vectors of the chains are found. */
typedef enum polyad_svd {
  POLYAD_SVD_EXACT = 0,     /**< by a dense eigendecomposition of the smaller Gram matrix */
  POLYAD_SVD_RANDOMIZED = 1 /**< by a range finder with two power iterations (N. Halko, P.-G.
                                 Martinsson and J. A. Tropp 2011, algorithm 4.4) */
} polyad_svd;

/** Options of polyad_tucker(). Start from polyad_tucker_options_init(). */
typedef struct polyad_tucker_options {
  uint64_t ranks[POLYAD_MAX_ORDER]; /**< columns of each mode's factor: 1 up to the mode's length */
  int max_iterations;               /**< at least 1; default 50 */
  double tolerance;              /**< stop when the fit changes by less (from the second iteration
                                      on); 0: never; default 1e-4 */
  double max_seconds;            /**< stop after the iteration in which this is passed; 0: never */
  polyad_init init;              /**< default POLYAD_INIT_HOSVD */
  const polyad_ttensor *initial; /**< first factors for POLYAD_INIT_MODEL; its core is ignored */
  polyad_svd svd;                /**< default POLYAD_SVD_EXACT */
} polyad_tucker_options;

/** Sets the defaults named above; ranks are left 0 for the caller. */
POLYAD_API void polyad_tucker_options_init(polyad_tucker_options *options);

/** Ranks that keep the share `energy` of the tensor's squared norm: for each mode the fewest
 *  leading singular vectors of the unfolding that leave out at most (1 - energy) / N of it, so that
 *  the truncated HOSVD, and with it the Tucker decomposition of these ranks, keeps at least
 *  `energy` (L. De Lathauwer, B. De Moor and J. Vandewalle 2000, property 10).
 *  @param energy  above 0, at most 1
 *  @param[out] ranks  one number per mode
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_NUMERICAL for a tensor without nonzeros,
 *  POLYAD_UNSUPPORTED when the plan's format cannot give its nonzeros back */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tucker_ranks(polyad_context *context,
                                                            const polyad_plan *plan, double energy,
                                                            uint64_t *ranks);

/** Fits a Tucker model to the plan's tensor by higher-order orthogonal iteration, as tucker_als of
 *  the Tensor Toolbox does (L. De Lathauwer, B. De Moor and J. Vandewalle, On the best rank-1 and
 *  rank-(R1,...,RN) approximation, 2000; Kolda and Bader 2009, figure 4.4): in each iteration every
 *  factor becomes the leading left singular vectors of the tensor multiplied by all others. Factors
 *  are orthonormal, the entry of largest magnitude of each column is positive. In `info`,
 *  seconds_mttkrp are those of the tensor-times-matrix chain. Cancellation is no error: the model
 *  so far is returned with POLYAD_OK and reason POLYAD_REASON_CANCELLED.
 *  @param plan  made with polyad_plan_options::kernel POLYAD_KERNEL_TTMC, or another whose format
 *               has the chain
 *  @param[out] model  destroyed with polyad_ttensor_destroy()
 *  @param[out] info   may be NULL
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (initial model of other dims or ranks),
 *  POLYAD_OVERFLOW and POLYAD_MEMORY_LIMIT (before anything is allocated, naming the bytes),
 *  POLYAD_OUT_OF_MEMORY, POLYAD_UNSUPPORTED, POLYAD_NUMERICAL */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tucker(polyad_context *context,
                                                      const polyad_plan *plan,
                                                      const polyad_tucker_options *options,
                                                      polyad_ttensor **model,
                                                      polyad_run_info *info);

#ifdef __cplusplus
}
#endif
#endif
