/** @file
 *  @brief Choosing the rank of a CP model: how good, how plausible and how reproducible the models
 *  of each rank are. */
#ifndef POLYAD_RANK_H
#define POLYAD_RANK_H

#include <polyad/cp_als.h>
#include <polyad/cp_apr.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Core consistency of a model of a tensor, in percent (R. Bro and H. A. L. Kiers, A new efficient
 *  method for determining the number of components in PARAFAC models, J. Chemometrics 17, 2003).
 *
 *  With the model's factors (weights in the first) fixed, the core G that fits the tensor best is
 *  G = X x_1 A1^+ x_2 A2^+ ... x_N AN^+, and of a CP model it should be the superdiagonal core T of
 *  ones: the core consistency is 100 (1 - ||G - T||^2 / R). Values near 100 mean that nothing but
 *  the components is there; values that are small or negative, that the model has more components
 *  than the tensor's multilinear structure carries. One component is always near 100.
 *
 *  Only R^N numbers and the nonzeros are held, never a dense tensor (E. E. Papalexakis and C.
 *  Faloutsos, Fast efficient and scalable core consistency diagnostic for the PARAFAC decomposition
 *  for big sparse tensors, ICASSP 2015). A column that depends linearly on those before it gets no
 *  entry of the core. Computed on the CPU, whatever the context's device; results have the same
 * bits for every number of threads.
 *  @param[out] consistency  in percent, at most 100
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (other order or dims), POLYAD_NUMERICAL (a
 * model that is not finite, or numbers that overflow), POLYAD_OVERFLOW or POLYAD_MEMORY_LIMIT (R^N
 *  numbers do not fit), POLYAD_OUT_OF_MEMORY, POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_core_consistency(polyad_context *context,
                                                                const polyad_ktensor *model,
                                                                const polyad_tensor *tensor,
                                                                double *consistency);

/** Options of polyad_rank_scan(). Start from polyad_rank_options_init(). */
typedef struct polyad_rank_options {
  const uint64_t *ranks;      /**< ranks to try, ascending, each at least 1 */
  int rank_count;             /**< number of them, at least 1 */
  polyad_algorithm algorithm; /**< default POLYAD_ALGORITHM_ALS */
  uint32_t nonnegative_modes; /**< of POLYAD_ALGORITHM_ALS: the modes whose factors stay
                                   nonnegative, bit n for mode n; default 0 */
  int starts;                 /**< random starts of each rank, at least 1; default 10 */
  int max_iterations;         /**< of a start, at least 1; default 50 */
  double tolerance;           /**< of a start, as the algorithm means it; default 1e-4 */
  double max_seconds;         /**< of all; 0 (default): no limit */
  int folds;                  /**< parts that two modes are split into for the held-out error:
                                   0 (none) or 2 to 64; default 4 */
  const char *checkpoint;     /**< file that keeps what is done, or NULL (default); what it kept
                                   before is in FILE.prev */
  const char *resume;         /**< checkpoint of a scan with the same options, seed and tensor to go
                                   on from, or NULL (default) */
} polyad_rank_options;

/** Sets the defaults named above, without ranks. */
POLYAD_API void polyad_rank_options_init(polyad_rank_options *options);

/** What is known of one rank. NaN: not known. */
typedef struct polyad_rank_row {
  uint64_t rank;            /**< number of components */
  int starts;               /**< random starts that ran */
  int starts_at_best;       /**< of them, those that came to the fit of the best: ||X - M|| at most
                                 1.1 times as large, but for ten tolerances; CP-APR: all */
  double fit_best;          /**< largest fit, 1 - ||X - M|| / ||X||; of CP-APR that of the model of
                                 the highest log-likelihood */
  double fit_median;        /**< of the random starts */
  double log_likelihood;    /**< CP-APR: the highest; else NaN */
  double core_consistency;  /**< of the best model, in percent; NaN where R^N numbers do not fit */
  double stability;         /**< median of the factor match score, weights left out, with the best
                                 model over the other starts that came to its fit (or, where none
                                 did, over all): 0 to 1; NaN with one start */
  double replicability;     /**< mean over the folds of the factor match score of the model of a
                                 training part with the best model of all, on the rows that both
                                 have; NaN without folds */
  double holdout_error;     /**< mean over the folds of ||T - M||^2 / ||T||^2 over the cells T that
                                 were held out; NaN without folds */
  double holdout_deviation; /**< its standard error */
  double seconds;           /**< wall-clock time of this rank */
} polyad_rank_row;

/** What a scan found. Start with all zero; free with polyad_rank_result_clear(). */
typedef struct polyad_rank_result {
  int row_count;         /**< ranks that were done */
  polyad_rank_row *rows; /**< one for each of them, ascending */
  uint64_t recommended;  /**< the recommended rank; 0: no rank stands out */
  char reason[1024];     /**< why, in words */
  int folds;             /**< folds of the held-out error; 0: there is none */
  int modes[2];          /**< modes (from 0) that were split into them */
  int cancelled;         /**< whether polyad_cancel() or the progress function ended the scan */
  int out_of_time;       /**< whether max_seconds did */
  double seconds;        /**< wall-clock time */
} polyad_rank_result;

/** Frees what `result` points to and sets it to zero. */
POLYAD_API void polyad_rank_result_clear(polyad_rank_result *result);

/** Fits models of several ranks, each from several starts, to the plan's tensor and says which rank
 *  the tensor supports.
 *
 *  Start k of a rank begins where start k of the algorithm with as many restarts does. More starts
 *  begin with the best model of the rank before and random components, so that no rank fits worse
 *  than a smaller one; the best start is then iterated on to a hundredth of the tolerance (for at
 *  most four times max_iterations; CP-APR: no further).
 *
 *  On one device, runs of least squares go side by side: an MTTKRP of all their columns reads the
 *  nonzeros once for all of them, and runs that have converged make room for the next. Fits are
 *  those of the same starts alone to rounding. Ranks of a small tensor are fitted at once; those of
 *  a large one (2^29 nonzeros times columns), those of CP-APR, and those on several devices are
 *  fitted one after the other.
 *
 *  The held-out error is found by bi-cross-validation (A. B. Owen and P. O. Perry, Bi-cross-
 *  validation of the SVD and the nonnegative matrix factorization, Ann. Appl. Stat. 3, 2009): the
 *  indices of the two longest modes are split at random into folds. A model is fitted to the cells
 *  outside of fold f in both modes; the rows of fold f of either mode follow by least squares from
 *  the cells in the fold in that mode alone; they predict the cells in the fold in both, which
 *  nothing has seen. Cells without a nonzero count as zeros, as they do for the model itself.
 *
 *  The recommended rank is the smallest whose held-out error is within two standard errors of the
 *  least and at most 10% above it; lowered while its stability is below 0.9 and its core
 * consistency below 0 (Bro and Kiers 2003) or its replicability below 0.85, for then the components
 * cannot be told apart, or from noise; raised to the last rank whose components take more than they
 * would of white noise, where at least two larger ones take as much as that and its held-out error
 * is smaller. Without held-out error it is the largest rank of a core
 * consistency of at least 50 and a stability of at least 0.9. It is 0, and the reason says that no
 * rank stands out, when the best held-out error is not below 0.98, or no rank is as good as that.
 *
 *  A checkpoint is written when the ranks that are fitted at once are done, on the whole tensor or
 * on a fold: a scan that goes on from it ends with the bits of one that was left alone (with the
 * same threads, device, format and memory limit). A checkpoint that cannot be written later on is a
 *  warning.
 *
 *  The progress function hears of ranks and starts as a `stage`. Cancelling is no error: every rank
 *  with a start that had ended is returned; what was done on a fold is lost, and there is no
 * held-out error. Memory: the models of all starts of the ranks that are fitted at once (in an
 * eighth of the memory limit, but at least one rank) and the best model of each rank; a copy of the
 * tensor; with folds, a plan of a training part.
 *  @param[in,out] result  what was in it is freed first
 *  @return what polyad_cp_als() and polyad_cp_apr() return; POLYAD_INVALID_ARGUMENT;
 *  POLYAD_MISMATCH for a checkpoint of another scan */
POLYAD_API POLYAD_CHECKED polyad_status polyad_rank_scan(polyad_context *context,
                                                         const polyad_plan *plan,
                                                         const polyad_rank_options *options,
                                                         polyad_rank_result *result);

#ifdef __cplusplus
}
#endif
#endif
