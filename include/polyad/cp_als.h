/** @file
 *  @brief CP decomposition by alternating least squares. */
#ifndef POLYAD_CP_ALS_H
#define POLYAD_CP_ALS_H

#include <polyad/model.h>
#include <polyad/plan.h>
#include <polyad/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of polyad_cp_als(). Start from polyad_cp_als_options_init(). */
typedef struct polyad_cp_als_options {
  polyad_run_options run; /**< a start has converged when the fit grows by less than the tolerance
                               (from the second iteration on; with a ridge: changes by less) */
  uint64_t rank;          /**< number of components R, at least 1 */
  polyad_init init;       /**< default POLYAD_INIT_RANDOM */
  const polyad_ktensor *initial; /**< first model for POLYAD_INIT_MODEL, weights included; where
                                      factors stay nonnegative their negative entries count as 0,
                                    and where all do negative weights, too */
  int nonnegative;               /**< non-zero: all factors stay nonnegative (HALS; A. Cichocki and
                                      A.-H. Phan 2009) */
  uint32_t nonnegative_modes;    /**< where `nonnegative` is 0: the modes whose factors do, bit n
                                      for mode n; the other factors are those of least squares, of
                                      any sign. Bits from the tensor's order on: an error. Default
                                      0: none */
  double ridge;                  /**< added to the diagonal of the normal equations; default 0 */
  int half_rows; /**< non-zero: factors are kept in bfloat16, which kernels gather at half the
                      bytes, from the second iteration on until the fit grows by less than ten times
                      the tolerance (counted as 1e-5 at least) or a quarter of the iterations is
                      left, then in single precision. Needs a GPU, single precision, a rank of at
                      least 3, and a format whose kernels gather such rows; for other formats the
                      error names those */
} polyad_cp_als_options;

/** Sets the defaults named above and at polyad_run_options, rank 16. */
POLYAD_API void polyad_cp_als_options_init(polyad_cp_als_options *options);

/** Fits a CP model of `options->rank` components to the plan's tensor by alternating least
 *  squares, as cp_als of the Tensor Toolbox does (Kolda and Bader 2009, figure 3.3): same
 *  scaling within iterations, same stopping rule; at the end columns have 2-norm one,
 *  weights are sorted, signs are fixed. Cancellation is no error: the model so far is
 *  returned with POLYAD_OK and reason POLYAD_REASON_CANCELLED. Nor is a breakdown, which is logged
 *  as a warning and explained in info->diagnosis.
 *
 *  Several starts go side by side on one device, with one MTTKRP for as many of them as have room
 *  in its columns: the progress function then hears of them in turn, each has its share of the
 *  time of a product, and an iteration takes as long as that of all of them.
 *
 *  The reported fit is that of the returned model, to info->fit_bound (a bound from rounding error
 *  analysis, in which rounding errors count as independent; Higham and Mary, SIAM J. Sci. Comput.
 * 41 (2019)): where the formula's bound would exceed a tenth of max(tolerance, 1e-5) the residual
 * is summed from the nonzeros. A fall of the fit is never taken for convergence, unless there is a
 *  ridge, with which falls are right.
 *  @param[out] model  destroyed with polyad_ktensor_destroy()
 *  @param[out] info   may be NULL
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (initial model or checkpoint of another
 *  tensor or rank), POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY, POLYAD_IO, POLYAD_NUMERICAL */
POLYAD_API POLYAD_CHECKED polyad_status polyad_cp_als(polyad_context *context,
                                                      const polyad_plan *plan,
                                                      const polyad_cp_als_options *options,
                                                      polyad_ktensor **model,
                                                      polyad_run_info *info);

#ifdef __cplusplus
}
#endif
#endif
