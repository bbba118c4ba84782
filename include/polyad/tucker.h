/** @file
 *  @brief Tucker decomposition by higher-order orthogonal iteration. */
#ifndef POLYAD_TUCKER_H
#define POLYAD_TUCKER_H

#include <polyad/plan.h>
#include <polyad/run.h>
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
  polyad_run_options run; /**< has converged when the fit grows by less than the tolerance (from the
                               second iteration on); 0 iterations, with POLYAD_INIT_HOSVD and one
                               start: the HOSVD's factors with their core */
  uint64_t ranks[POLYAD_MAX_ORDER]; /**< columns of each mode's factor: 1 up to the mode's length */
  polyad_init init;                 /**< default POLYAD_INIT_HOSVD */
  const polyad_ttensor *initial;    /**< first factors for POLYAD_INIT_MODEL; its core is ignored */
  polyad_svd svd;                   /**< default POLYAD_SVD_EXACT */
  double energy; /**< above 0, at most 1: `ranks` are not read but chosen as polyad_tucker_ranks()
                      does, and iterations start from the factors found with them, so that the
                      model keeps at least this share of ||X||^2 (to within the rounding of its
                      type); needs init POLYAD_INIT_HOSVD and svd POLYAD_SVD_EXACT; default 0 */
} polyad_tucker_options;

/** Sets the defaults named above and at polyad_run_options; ranks are left 0 for the caller. */
POLYAD_API void polyad_tucker_options_init(polyad_tucker_options *options);

/** Ranks of the smallest core (product of the ranks) found whose model keeps at least the share
 *  `energy` of the tensor's squared norm. A model's share is what higher-order orthogonal iteration
 *  of its ranks reaches. First the truncated HOSVD (L. De Lathauwer, B. De Moor and J. Vandewalle
 *  2000) of the fewest cells is found exactly, among all within the bases that memory allows; then
 *  smaller cores are tried by iterations, those first that promise most, until none is left or the
 *  work since the last success is a multiple of what one decomposition takes. Only ranks whose
 *  decomposition fits the memory limit are chosen.
 *  @param energy  above 0, at most 1
 *  @param[out] ranks  one number per mode
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_NUMERICAL for a tensor without nonzeros,
 *  POLYAD_MEMORY_LIMIT when no ranks that fit keep the share (the message tells which ranks keep
 *  most, and how much), POLYAD_CANCELLED, POLYAD_OUT_OF_MEMORY, POLYAD_UNSUPPORTED when the plan's
 *  format cannot give its nonzeros back */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tucker_ranks(polyad_context *context,
                                                            const polyad_plan *plan, double energy,
                                                            uint64_t *ranks);

/** Fits a Tucker model to the plan's tensor by higher-order orthogonal iteration, as tucker_als of
 *  the Tensor Toolbox does (L. De Lathauwer, B. De Moor and J. Vandewalle, On the best rank-1 and
 *  rank-(R1,...,RN) approximation, 2000; Kolda and Bader 2009, figure 4.4): in each iteration every
 *  factor becomes the leading left singular vectors of the tensor multiplied by all others. Factors
 *  are orthonormal, the entry of largest magnitude of each column is positive. In `info`,
 *  seconds_mttkrp are those of the tensor-times-matrix chain. Cancellation is no error: the model
 *  so far is returned with POLYAD_OK and reason POLYAD_REASON_CANCELLED; only before the first
 *  iteration, while ranks are chosen or HOSVD runs, there is none, and the result is
 *  POLYAD_CANCELLED. The fit is 1 - sqrt(1 - ||G||^2 / ||X||^2) where that is exact enough for the
 *  tolerance, else it is summed from the residual's entries: info->fit_from tells, and
 *  info->fit_bound what rounding may have changed it by. The first factors of POLYAD_INIT_HOSVD
 *  are exact for modes of up to 1024 rows, and for longer ones found to a residual of 1e-8 (the
 *  diagnosis tells where they are not).
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
