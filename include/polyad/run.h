/** @file
 *  @brief Runs: what all decompositions can be told about starts, stopping and checkpoints, and
 *  what they report. The seed, the function that is told of progress, and cancelling belong to the
 *  context. */
#ifndef POLYAD_RUN_H
#define POLYAD_RUN_H

#include <polyad/export.h>
#include <polyad/tensor.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** First member of the options of every decomposition. Their own functions
 *  (polyad_cp_als_options_init(), polyad_cp_apr_options_init(), polyad_tucker_options_init()) set
 *  the defaults. */
typedef struct polyad_run_options {
  int starts;         /**< number of starts, at least 1; the best is returned; default 1 */
  int max_iterations; /**< of each start, at least 0 (0: the first guess is returned; Tucker
                           decomposition needs 1); default 50, of CP-APR 1000 */
  double tolerance;   /**< when a start has converged, in the method's own measure; 0: never;
                           default 1e-4 */
  double max_seconds; /**< stop after the iteration in which this is passed; 0 (default): never */
  const char *checkpoint; /**< file that keeps the state of a run with one start, or NULL (default);
                               the state before is FILE.prev */
  int checkpoint_every;   /**< iterations from one checkpoint to the next, at least 1; default 10 */
  const char *resume;     /**< checkpoint to go on from, or NULL (default) */
  int first_start;        /**< number of the first start, at least 0 (default). Start k has the same
                               random first factors in whatever call it is, so that calls on several
                               machines can share the starts of one run */
  int keep_starts;        /**< CP: non-zero gives polyad_run_info::models the model of every start;
                               default 0 */
} polyad_run_options;

/** How the first factors are found. */
typedef enum polyad_init {
  POLYAD_INIT_RANDOM = 0, /**< uniform in [0,1), from the context's seed */
  POLYAD_INIT_HOSVD = 1,  /**< leading left singular vectors of each unfolding */
  POLYAD_INIT_MODEL = 2   /**< the factors of the options' initial model */
} polyad_init;

/** Algorithms that fit a CP model, where a function takes one of them by name. */
typedef enum polyad_algorithm {
  POLYAD_ALGORITHM_ALS = 0,         /**< polyad_cp_als() */
  POLYAD_ALGORITHM_NONNEGATIVE = 1, /**< polyad_cp_als() with nonnegative factors */
  POLYAD_ALGORITHM_APR_MU = 2,      /**< polyad_cp_apr() by multiplicative updates */
  POLYAD_ALGORITHM_APR_PDNR = 3,    /**< polyad_cp_apr() by projected damped Newton steps */
  POLYAD_ALGORITHM_APR_PQNR = 4     /**< polyad_cp_apr() by projected quasi-Newton steps */
} polyad_algorithm;

/** Why a run ended. */
typedef enum polyad_reason {
  POLYAD_REASON_TOLERANCE = 0,      /**< the tolerance was met */
  POLYAD_REASON_MAX_ITERATIONS = 1, /**< the limit on iterations */
  POLYAD_REASON_MAX_SECONDS = 2,    /**< the limit on time */
  POLYAD_REASON_CANCELLED = 3,      /**< polyad_cancel() or the progress function */
  POLYAD_REASON_BREAKDOWN = 4,      /**< the fit fell by more than rounding of the fit explains: the
                                         normal equations ask for more digits than the precision
                                         has; the model is that of the iteration before */
  POLYAD_REASON_VALIDATION = 5      /**< the error of the validation set has not fallen for as many
                                         iterations as the options' patience: polyad_cp_complete() */
} polyad_reason;

/** One word for a reason: "tolerance", "max_iterations", "max_seconds", "cancelled", "breakdown",
 *  "validation". */
POLYAD_API const char *polyad_reason_string(polyad_reason reason);

/** How a fit was computed. */
typedef enum polyad_fit_from {
  POLYAD_FIT_FORMULA = 0,  /**< ||X||^2 + ||M||^2 - 2 <X, M>, with <X, M> from the last MTTKRP; for
                                Tucker ||X||^2 - ||G||^2, with the core G */
  POLYAD_FIT_RESIDUAL = 1, /**< (x - m)^2 and m^2 summed in double over all nonzeros: where the
                                formula would cancel too many digits, and for CP-APR */
  POLYAD_FIT_OBSERVED = 2  /**< (x - m)^2 summed in double over the observed cells alone, and ||X||
                                of them: polyad_cp_complete() */
} polyad_fit_from;

/** "formula", "residual" or "observed". */
POLYAD_API const char *polyad_fit_from_string(polyad_fit_from from);

/** One iteration of a run. */
typedef struct polyad_trace_row {
  int iteration;             /**< from 1 */
  double fit;                /**< 1 - ||X - M|| / ||X|| */
  double residual;           /**< ||X - M||^2 / ||X||^2 */
  double seconds;            /**< since the start of the run */
  double log_likelihood;     /**< Poisson log-likelihood; NaN for ALS */
  double kkt_violation;      /**< NaN for ALS */
  uint64_t inner_iterations; /**< of CP-APR, all modes (MU) or rows (PDNR, PQNR); 0 for ALS */
  double fit_bound;          /**< what rounding may have changed the fit by; NaN for CP-APR */
  polyad_fit_from fit_from;  /**< how the fit was computed; CP-ALS and Tucker */
  double validation_rmse;    /**< of completion with a validation set; else NaN */
  int half_rows;             /**< CP-ALS: whether factors were in bfloat16 */
} polyad_trace_row;

/** One of the starts of a run. */
typedef struct polyad_start {
  double objective;     /**< what it maximised: the fit, or for CP-APR the log-likelihood */
  int iterations;       /**< that it took */
  polyad_reason reason; /**< why it ended */
} polyad_start;

/** What a run did. Start with all zero; free with polyad_run_info_clear(). */
typedef struct polyad_run_info {
  int iterations;               /**< iterations of the returned model's start */
  int converged;                /**< whether the tolerance was met */
  polyad_reason reason;         /**< why it ended */
  double fit;                   /**< final fit: of the returned model */
  double fit_bound;             /**< what rounding may have changed it by; NaN without a fit */
  polyad_fit_from fit_from;     /**< how it was computed */
  double log_likelihood;        /**< final; CP-APR only */
  double kkt_violation;         /**< largest of the last iteration; CP-APR only */
  double seconds;               /**< wall-clock time of all starts */
  double seconds_init;          /**< of it, before the first iterations of all starts */
  double seconds_iterations;    /**< of it, in the iterations of all starts */
  double seconds_per_iteration; /**< median */
  double seconds_outside;       /**< CP-ALS: median of an iteration's time outside MTTKRP */
  double seconds_mttkrp[POLYAD_MAX_ORDER];       /**< median per mode; on a GPU by its own clock */
  double seconds_mttkrp_total[POLYAD_MAX_ORDER]; /**< sum over the iterations */
  double seconds_phi[POLYAD_MAX_ORDER]; /**< CP-APR: mean per mode and outer iteration, all its
                                             inner iterations; with PDNR and PQNR the rows */
  double seconds_pi[POLYAD_MAX_ORDER];  /**< CP-APR: mean of storing Pi, likewise */
  double seconds_kkt[POLYAD_MAX_ORDER]; /**< CP-APR: mean of checking for convergence */
  double seconds_mu[POLYAD_MAX_ORDER];  /**< CP-APR: mean of multiplying the factor by Phi */
  int threads; /**< of the CPU that kernels over nonzeros used: those of the context, or fewer where
                    nonzeros times columns are too few to keep them busy */
  int best_restart;            /**< which start was best, from 0 */
  uint64_t regularized_solves; /**< normal equations too ill-conditioned to be solved as they are */
  char diagnosis[512];         /**< plain words about singular or degenerate models; "" if none */
  int trace_rows;              /**< rows of `trace` */
  polyad_trace_row *trace;     /**< one row per iteration of the returned model's start */
  int start_count;             /**< starts that ran */
  polyad_start *starts;        /**< one for each of them, in their order */
  struct polyad_ktensor **models; /**< with polyad_run_options::keep_starts the model of each of
                                     them, in the same form as the one that is returned and in their
                                       order; else NULL. A caller who takes one leaves NULL there */
  double rmse;            /**< completion: root of the mean squared error of the observations;
                               else NaN */
  double validation_rmse; /**< completion with a validation set: that of the returned model on
                               it; else NaN */
  int best_iteration;     /**< completion with a validation set: the iteration whose model is
                               returned; else 0 */
  void *owner;            /**< private */
} polyad_run_info;

/** Frees what `info` points to and sets it to zero. */
POLYAD_API void polyad_run_info_clear(polyad_run_info *info);

#ifdef __cplusplus
}
#endif
#endif
