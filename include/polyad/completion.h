/** @file
 *  @brief CP decomposition of a tensor of which only some cells are known: completion. */
#ifndef POLYAD_COMPLETION_H
#define POLYAD_COMPLETION_H

#include <polyad/model.h>
#include <polyad/plan.h>
#include <polyad/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the model is improved. */
typedef enum polyad_complete_method {
  POLYAD_COMPLETE_ALS = 0, /**< alternating least squares: each row of a factor by its own normal
                                equations (Zhou, Wilkinson, Schreiber, Pan 2008; Smith, Park,
                                Karypis 2016): few iterations of nnz * R^2 operations */
  POLYAD_COMPLETE_CCD = 1, /**< CCD++: one component after the other, each row's entry by a scalar
                                division (Yu, Hsieh, Si, Dhillon 2012): iterations of nnz * R */
  POLYAD_COMPLETE_SGD = 2  /**< stochastic gradient descent, in blocks of cells that share no index
                                (Gemulla, Nijkamp, Haas, Sismanis 2011), with steps as
                                in AdaGrad (Duchi, Hazan, Singer 2011), whose sums every epoch
                                forgets nine tenths of */
} polyad_complete_method;

/** Options of polyad_cp_complete(). Start from polyad_cp_complete_options_init(). */
typedef struct polyad_cp_complete_options {
  polyad_run_options run; /**< a start has converged when an iteration lowers the square root of the
                               objective by less than the tolerance (default 1e-4) times itself;
                               most iterations: 500 by default */
  uint64_t rank;          /**< number of components R, at least 1; default 16 */
  polyad_complete_method method; /**< default POLYAD_COMPLETE_ALS */
  double ridge;                  /**< lambda of the objective; default 0.2 */
  int ridge_by_count; /**< non-zero: a row's ridge is lambda times its observations (Zhou et al.
                           2008); 0 (default): lambda for every row, as in SPLATT */
  int nonnegative;    /**< non-zero: the components stay nonnegative; biases may have any sign */
  int biases;         /**< non-zero: the model has the mean of the observed values and a bias for
                           every index of every mode */
  uint32_t nonnegative_modes;   /**< where `nonnegative` is 0: the modes in which the components do,
                                     bit n for mode n. Bits from the tensor's order on: an error.
                                     Default 0: none */
  double bias_ridge;            /**< lambda_b of the objective; default 0.2 */
  const polyad_tensor *weights; /**< weights of the observations, at least 0, in a tensor with the
                                     plan's cells; NULL (default): all one. A weight of 0 is one
                                     of an unknown cell */
  const polyad_tensor *validation; /**< observations that the fit does not see, within the plan's
                                        dims, by which a start ends early; NULL (default): none */
  double validation_share; /**< share of the plan's observations, below 1, that is kept out of the
                                fit and used as `validation`: chosen by the context's seed; 0
                                (default): none */
  int patience;      /**< iterations without a lower validation error after which a start ends;
                          default 5. The model of the lowest error is returned */
  double learn_rate; /**< SGD: the first steps' length, for values scaled to a root mean square of
                          about one; a row's steps shrink with the root of the sum of its squared
                          gradients, all grow by 1.05 after an epoch that lowers the objective, and
                          are halved (and the epoch is undone) after one that does not; default 0.3
                      */
  polyad_init init;  /**< POLYAD_INIT_RANDOM (default) or POLYAD_INIT_MODEL */
  const polyad_ktensor *initial; /**< first components for POLYAD_INIT_MODEL; its rank is `rank` */
} polyad_cp_complete_options;

/** Sets the defaults named above and at polyad_run_options. */
POLYAD_API void polyad_cp_complete_options_init(polyad_cp_complete_options *options);

/** Fits a CP model of `options->rank` components to the cells that the plan stores, the
 *  observations; all other cells are unknown. Zeros count where the plan was made with
 *  POLYAD_ZEROS_KEEP (polyad_plan_options::zeros) of a tensor that keeps them. The objective is
 *
 *      sum over observations of w (x - m)^2 + lambda sum over modes of ||A_n||^2
 *                                           + lambda_b sum over modes of ||b_n||^2
 *
 *  with m = sum over r of the product of A_n(i_n, r), and with biases mean + sum of b_n(i_n) added
 *  to it; `mean` is the observations' weighted mean. A row of a factor without observations is 0.
 *
 *  With biases the returned model has rank R + N: the last N components are the biases of mode 0,
 *  1, ..., each with a column of equal entries in all other modes; the mean is part of the first
 *  of them. So the model is a Kruskal tensor like any other. The first R components have columns of
 *  2-norm one, descending weights and fixed signs, as those of polyad_cp_als().
 *
 *  info->fit is 1 - sqrt(sum w (x - m)^2 / sum w x^2) over the observations of the fit alone, to
 *  info->fit_bound, and info->fit_from is POLYAD_FIT_OBSERVED; info->rmse is the root of the
 *  weighted mean of (x - m)^2. With a validation set info->validation_rmse and
 *  info->best_iteration say which iterate is returned; several starts are compared by their error
 *  there.
 *
 *  The bits of the result do not depend on the number of threads or on the plan's format. Normal
 *  equations are summed and solved in double precision, whatever the plan's type. It runs on the
 *  plan's device: the CPU, or one GPU with CUDA, on which iterations stay; SGD on the CPU alone.
 *  Results of devices agree to rounding.
 *  @param[out] model  destroyed with polyad_ktensor_destroy()
 *  @param[out] info   may be NULL
 *  @return POLYAD_INVALID_ARGUMENT; POLYAD_MISMATCH (weights of other cells, validation outside the
 *  plan's dims, initial model or checkpoint of another tensor or rank); POLYAD_UNSUPPORTED for a
 *  plan on another device or on two, for SGD on a GPU, for ALS there with more than 1024 columns
 *  (rank, and one with biases), or for a mode longer than 2^32; POLYAD_NUMERICAL;
 *  POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY, POLYAD_IO */
POLYAD_API POLYAD_CHECKED polyad_status polyad_cp_complete(
    polyad_context *context, const polyad_plan *plan, const polyad_cp_complete_options *options,
    polyad_ktensor **model, polyad_run_info *info);

/** Splits the entries of a tensor at random into parts: part k gets round(shares[k] * nnz) of them,
 *  chosen by the context's seed, and the last part, parts[count], what remains. All parts have the
 *  tensor's dims, names and labels, and keep zeros.
 *  @param count   number of shares, at least 1
 *  @param shares  each above 0; together below 1
 *  @param[out] parts  count + 1 tensors, destroyed with polyad_tensor_destroy(); NULL on failure */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_split(polyad_context *context,
                                                            const polyad_tensor *tensor, int count,
                                                            const double *shares,
                                                            polyad_tensor **parts);

/** Adds cells of value zero to a part of a tensor, up to `each` for each of its entries: cells that
 *  the whole does not have, for measuring how a model ranks entries among other cells. A cell has
 *  the indices of the entry but in one mode, whose index is drawn by the context's seed; a draw
 * that hits a cell of the whole is drawn again, up to 100 times.
 *  @param mode  the mode whose index is drawn
 *  @param[out] out  the part with these cells, which keeps zeros, with names and labels; destroyed
 *                   with polyad_tensor_destroy()
 *  @return POLYAD_MISMATCH when the two have other dims */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_add_negatives(polyad_context *context,
                                                                    const polyad_tensor *part,
                                                                    const polyad_tensor *whole,
                                                                    int each, int mode,
                                                                    polyad_tensor **out);

/** How well a model predicts the entries of a tensor. */
typedef struct polyad_prediction_score {
  uint64_t count;     /**< entries */
  double rmse;        /**< root of the mean of (x - m)^2 */
  double mae;         /**< mean of |x - m| */
  uint64_t positives; /**< entries of value above 0 */
  uint64_t negatives; /**< entries of value 0 */
  uint64_t groups;    /**< entries are ranked within groups of equal indices in all modes but one;
                         those with a positive and a negative entry */
  int k;              /**< length of the top lists */
  double hit_rate; /**< mean over the groups' positives of whether fewer than k negatives of their
                        group have a higher prediction (ties count half); NaN without groups */
  double ndcg;     /**< mean over the groups of the normalised discounted cumulative gain of the
                        first k entries by prediction, with the values as gains (equal predictions: the
                        mean over their orders); NaN without */
  double auc;      /**< probability that a positive entry has a higher prediction than a negative
                        one, over all pairs of the tensor (ties count half); NaN without pairs */
  char device[64]; /**< where the values were computed, such as "cuda:0" */
} polyad_prediction_score;

/** Values of a model at the entries of a tensor of the same order, within the model's dims.
 *  Computed on the context's device where that is a GPU of CUDA, else on the CPU; what follows from
 *  the values is computed on the CPU.
 *  @param[out] values  as many doubles as the tensor has entries, in their order; or NULL
 *  @param mode  the mode in which entries of a group differ, for ranking
 *  @param k     length of the top lists, at least 1
 *  @param[out] score  how well the entries' values are predicted; or NULL
 *  @return POLYAD_MISMATCH, POLYAD_INVALID_ARGUMENT, POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_predict(polyad_context *context,
                                                               const polyad_ktensor *model,
                                                               const polyad_tensor *tensor,
                                                               double *values, int mode, int k,
                                                               polyad_prediction_score *score);

#ifdef __cplusplus
}
#endif
#endif
