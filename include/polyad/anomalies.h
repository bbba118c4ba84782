/** @file
 *  @brief Anomalies: what in a tensor its model does not explain, with p-values and control of the
 *  false-discovery rate. */
#ifndef POLYAD_ANOMALIES_H
#define POLYAD_ANOMALIES_H

#include <polyad/project.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is judged. */
typedef enum polyad_anomaly_unit {
  POLYAD_ANOMALY_CELL = 0, /**< each cell that is stored */
  POLYAD_ANOMALY_SLICE =
      1, /**< each slice, by its sum: every index of a mode, its absent cells too */
  POLYAD_ANOMALY_INDEX = 2 /**< each index of a mode, by its cells: whether any of them is odd
                                (counts), or how large its residual is (others) */
} polyad_anomaly_unit;

/** Which deviations count. */
typedef enum polyad_tail {
  POLYAD_TAIL_BOTH = 0,  /**< twice the smaller p-value of the two */
  POLYAD_TAIL_UPPER = 1, /**< more than expected */
  POLYAD_TAIL_LOWER = 2  /**< less than expected */
} polyad_tail;

/** Which cells of a tensor of counts are tested. */
typedef enum polyad_tested_cells {
  POLYAD_TESTED_ALL = 0,   /**< every cell of the tensor is one of the tests; absent ones are zeros,
                                and are never found, whatever the model expects of them */
  POLYAD_TESTED_STORED = 1 /**< stored cells alone. Unless the tensor keeps zeros, a stored count is
                                at least 1, and p-values are conditional on that */
} polyad_tested_cells;

/** Options of polyad_anomalies(). Start from polyad_anomaly_options_init(). */
typedef struct polyad_anomaly_options {
  /** POLYAD_KIND_POISSON: values are counts with the model's rates. Others: residuals in a robust
   *  scale. POLYAD_KIND_AUTO (default): counts where all values are whole numbers of at least 0 and
   * no number of the model is negative. */
  polyad_model_kind kind;
  polyad_anomaly_unit unit;    /**< default POLYAD_ANOMALY_CELL */
  int modes[POLYAD_MAX_ORDER]; /**< slices, indices: of which modes */
  int mode_count;              /**< number of them; 0 (default): of all modes */
  polyad_tail tail;            /**< default POLYAD_TAIL_BOTH */
  polyad_tested_cells cells;   /**< of counts; default POLYAD_TESTED_ALL */
  double fdr;                  /**< false-discovery rate, above 0 and below 1; default 0.05 */
  uint64_t top; /**< rows that are returned, found or not; 0 (default): those found */
} polyad_anomaly_options;

/** Sets the defaults named above. */
POLYAD_API void polyad_anomaly_options_init(polyad_anomaly_options *options);

/** One cell, slice or index. */
typedef struct polyad_anomaly {
  int mode;                         /**< of a slice or an index, from 0; -1: a cell */
  uint64_t index[POLYAD_MAX_ORDER]; /**< of a cell in each mode; else index[mode] alone, others 0 */
  double value; /**< of the cell; sum of the slice; of an index the sum (counts) or the root mean
                     square of its residuals */
  double
      expected;   /**< what the model says of it; of an index of no counts the median of its mode */
  double score;   /**< counts: the signed root of the deviance, x above or below its rate m: 2 (x
                       log(x/m) - x + m); of an index that of its oddest cell. Others: deviation from
                       the median in robust standard deviations */
  double p_upper; /**< probability of as much or more, were the model true */
  double p_lower; /**< probability of as much or less */
  double p;       /**< of the tail that was asked for */
  double q;       /**< the least false-discovery rate at which it is found */
} polyad_anomaly;

/** What was found. Start with all zero; free with polyad_anomaly_result_clear(). */
typedef struct polyad_anomaly_result {
  polyad_model_kind kind; /**< POLYAD_KIND_POISSON, or the kind of the model */
  double tested;          /**< number of tests */
  uint64_t found;         /**< how many have q of at most `fdr` */
  uint64_t row_count;     /**< rows */
  polyad_anomaly *rows;   /**< the oddest first */
  double center;          /**< cells, no counts: median of the residuals; else NaN */
  double scale;           /**< cells, no counts: their robust standard deviation; else NaN */
  double seconds;         /**< wall-clock time */
  char device[64];        /**< where the model's values were computed, such as "cuda:0" */
} polyad_anomaly_result;

/** Frees what `result` points to and sets it to zero. */
POLYAD_API void polyad_anomaly_result_clear(polyad_anomaly_result *result);

/** Compares a tensor with a model of it.
 *
 *  Counts: a cell is Poisson with the model's value as its rate, and so is a slice's sum with the
 * sum of the rates, absent cells included: p-values are exact, given the model. An index has the
 * p-value of R. J. Simes (Biometrika 73, 1986) over its cells: the least over k of K p_(k) / k, for
 * K cells. Other values: residuals minus their median, in units of 1.4826 times the median absolute
 *  deviation, with normal p-values; those of slices (sums of residuals, absent cells included) and
 * of indices (cube roots of mean squares, which are nearly normal; upper tail) in units of their
 * own mode.
 *
 *  All tests of the call together are one family, in which the expected share of false ones among
 *  those found is at most `fdr` (Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57, 1995), as far
 *  as the model's values are the true ones. Time: one pass over the nonzeros; a count x takes about
 *  8 sqrt(x) steps.
 *  @param tensor  has the model's dims; polyad_tensor_match() makes it so
 *  @param[in,out] result  what was in it is freed first
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (dims), POLYAD_NUMERICAL (a model that is not
 *  finite, or negative for counts; a count that is negative or no whole number),
 *  POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT, POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_anomalies(polyad_context *context,
                                                         const polyad_ktensor *model,
                                                         const polyad_tensor *tensor,
                                                         const polyad_anomaly_options *options,
                                                         polyad_anomaly_result *result);

#ifdef __cplusplus
}
#endif
#endif
