/** @file
 *  @brief CP decomposition of counts by alternating Poisson regression (CP-APR). */
#ifndef POLYAD_CP_APR_H
#define POLYAD_CP_APR_H

#include <polyad/model.h>
#include <polyad/plan.h>
#include <polyad/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the factor of one mode is improved while the others stay. */
typedef enum polyad_apr_method {
  POLYAD_APR_MU = 0,   /**< multiplicative update (Chi and Kolda 2012, algorithm 3) */
  POLYAD_APR_PDNR = 1, /**< projected damped Newton on every row (Hansen, Plantenga and Kolda 2015,
                            algorithm 3) */
  POLYAD_APR_PQNR = 2 /**< projected quasi-Newton (L-BFGS) on every row (that paper, algorithm 4) */
} polyad_apr_method;

/** Options of polyad_cp_apr(); names in parentheses are the Tensor Toolbox's. Start from
 *  polyad_cp_apr_options_init(). */
typedef struct polyad_cp_apr_options {
  polyad_run_options run; /**< iterations are the outer ones (maxiters); the tolerance is on the KKT
                               violation, tau (stoptol); the best of several starts is that of the
                               highest log-likelihood */
  uint64_t rank;          /**< number of components R, at least 1 */
  polyad_apr_method method; /**< default POLYAD_APR_MU (alg) */
  int max_inner_iterations; /**< of each mode or row (maxinneriters); default 10 */
  double epsilon;           /**< least divisor (epsDivZero); default 1e-10 */
  int store_pi; /**< MU: non-zero: the rows of Pi are stored before the inner iterations of a mode;
                     default 0: made on the fly */
  double kappa; /**< MU: added to inadmissible zeros; default 0.01 */
  double kappa_tolerance;        /**< MU: entries below it can be inadmissible zeros (kappatol);
                                      default 1e-10 */
  double active_tolerance;       /**< PDNR, PQNR: entries up to it can be held at the bound
                                      (epsActive); default 1e-8 */
  double damping;                /**< PDNR: first damping of the Hessian (mu0); default 1e-5 */
  int inexact;                   /**< PDNR: non-zero (default): rows are solved loosely at first */
  int memory;                    /**< PQNR: pairs that L-BFGS keeps (lbfgsMem); default 3 */
  polyad_init init;              /**< POLYAD_INIT_RANDOM (default) or POLYAD_INIT_MODEL */
  const polyad_ktensor *initial; /**< first model for POLYAD_INIT_MODEL, weights included; nothing
                                      in it may be negative */
} polyad_cp_apr_options;

/** Sets the defaults named above and at polyad_run_options, rank 16. */
POLYAD_API void polyad_cp_apr_options_init(polyad_cp_apr_options *options);

/** Fits a CP model of `options->rank` components to the plan's tensor of counts by maximising the
 *  Poisson log-likelihood, sum of x log m over the nonzeros minus the sum of m over all entries
 *  (E. C. Chi and T. G. Kolda, On tensors, sparsity, and nonnegative factorizations, SIAM J. Matrix
 *  Anal. Appl. 33, 2012; S. Hansen, T. Plantenga and T. G. Kolda, Newton-based optimization for
 *  Kullback-Leibler nonnegative tensor factorizations, Optim. Methods Softw. 30, 2015). From the
 *  same first model iterates agree with cp_apr of the Tensor Toolbox. Factors are nonnegative with
 *  columns of 1-norm one; weights are sorted. The run has converged when no mode had to be changed
 *  in an outer iteration, with PDNR in one whose rows were solved to the tolerance that was asked
 *  for (with `inexact` earlier ones are to a hundredth of the violation before them). Cancellation
 *  is no error: the model so far is returned.
 *
 *  MU runs wherever the format has Phi on the plan's device. PDNR and PQNR run with every format:
 * on the CPU, where threads share the rows, and on CUDA devices, where blocks of threads share
 * them, at ranks up to 16,384. On a CUDA device they read the storage of formats that keep the
 * nonzeros of a row together; the nonzeros of other formats are copied there once more, sorted for
 * every mode. `info` has log_likelihood, kkt_violation and the times of the steps, and the trace
 * has the first two after every outer iteration.
 *  @param[out] model  destroyed with polyad_ktensor_destroy()
 *  @param[out] info   may be NULL
 *  @return POLYAD_NUMERICAL for a negative value, naming the first with its coordinate, or for
 *  numbers that overflow; POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (initial model or checkpoint of
 *  another tensor or rank), POLYAD_UNSUPPORTED (no Phi on this device), POLYAD_MEMORY_LIMIT,
 *  POLYAD_OUT_OF_MEMORY, POLYAD_IO */
POLYAD_API POLYAD_CHECKED polyad_status polyad_cp_apr(polyad_context *context,
                                                      const polyad_plan *plan,
                                                      const polyad_cp_apr_options *options,
                                                      polyad_ktensor **model,
                                                      polyad_run_info *info);

#ifdef __cplusplus
}
#endif
#endif
