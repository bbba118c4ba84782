/** @file
 *  @brief Streaming: a model that goes on as slices of one mode arrive, without the data that it
 * was made of. */
#ifndef POLYAD_UPDATE_H
#define POLYAD_UPDATE_H

#include <polyad/project.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model that is being updated, with the sums that updates need of what came before. */
typedef struct polyad_updater polyad_updater;

/** Options of an updater. Start from polyad_update_options_init(). */
typedef struct polyad_update_options {
  int mode;               /**< the mode that grows, from 0; default 0 */
  polyad_model_kind kind; /**< default POLYAD_KIND_AUTO: nonnegative where the model is; models of
                               counts have to be named POLYAD_KIND_POISSON */
  uint32_t nonnegative_modes; /**< of a model that is POLYAD_KIND_SIGNED: the modes whose factors
                                   stay nonnegative all the same, bit n for mode n; default 0 */
  double forget; /**< what the weight of all that came before is multiplied by with every
                      call of polyad_updater_add(), above 0 and at most 1; default 1 */
  int rounds;    /**< how often a call improves its new rows and the other factors in turn, at
                      least 1; default 1, as OnlineCP does */
} polyad_update_options;

/** Sets the defaults named above. */
POLYAD_API void polyad_update_options_init(polyad_update_options *options);

/** What one call of polyad_updater_add() did. */
typedef struct polyad_update_info {
  polyad_model_kind kind; /**< what is taken, never POLYAD_KIND_AUTO */
  uint64_t appended;      /**< rows that the growing mode got */
  uint64_t changed;       /**< rows that were there and got more data */
  double fit;      /**< 1 - ||X - M|| / ||X|| of the new data with the updated model; NaN when
                        they are all zero or slices that were there got more */
  double seconds;  /**< wall-clock time */
  char device[64]; /**< where sums over nonzeros were computed, such as "cuda:0" */
} polyad_update_info;

#define POLYAD_NEW_ROW UINT64_MAX /**< for polyad_updater_add(): the slice is new */

/** Starts from a model, which is copied. Of the data that it was made of the model itself is taken
 *  for the sums, P_n = A_n Q_n with Q_n the elementwise product of the other factors' Gram
 * matrices: what the sums of the data are where the model has converged (OnlineCP's start).
 *  @param[out] updater  destroyed with polyad_updater_destroy()
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_NUMERICAL (not finite, or negative where it may not be),
 *  POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_updater_create(polyad_context *context,
                                                              const polyad_ktensor *model,
                                                              const polyad_update_options *options,
                                                              polyad_updater **updater);
/** Destroys an updater; NULL is fine. */
POLYAD_API void polyad_updater_destroy(polyad_updater *updater);

/** Rows that the growing mode has now. */
POLYAD_API uint64_t polyad_updater_rows(const polyad_updater *updater);
/** Changes the forgetting factor of the calls to come.
 *  @return POLYAD_INVALID_ARGUMENT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_updater_set_forget(polyad_context *context,
                                                                  polyad_updater *updater,
                                                                  double forget);

/** Adds slices: new ones are appended, and to slices that are there the nonzeros are added. First
 *  the rows of the slices follow from the other factors; then the sums get what the slices
 *  contribute,
 *
 *    P_n <- forget P_n + MTTKRP_n(new),   Q_n <- forget Q_n + the new rows' part of Q_n,
 *
 *  and each other factor becomes A_n = P_n Q_n^-1 (nonnegative least squares where it stays so):
 * S. Zhou, N. X. Vinh, J. Bailey, Y. Jia and I. Davidson, Accelerating online CP decompositions for
 *  higher order tensors, KDD 2016; the forgetting factor as in S. Smith, K. Huang, N. D.
 * Sidiropoulos and G. Karypis, Streaming tensor factorization for infinite data sources, SDM 2018.
 * Of a slice that was there its earlier data are taken to be what the model says of them.
 *
 *  In a model of counts (POLYAD_KIND_POISSON) the new rows are those of largest likelihood, P_n
 * sums the counts that each component is expected to have, A_n * Phi_n of the new data (E. C. Chi
 * and T. G. Kolda, SIAM J. Matrix Anal. Appl. 33, 2012), Q_n on its diagonal what the rows are
 * multiplied by in the model's sum of all cells, and A_n = P_n Q_n^-1: expectation and maximisation
 * on line (O. Cappe and E. Moulines, J. R. Stat. Soc. B 71, 2009).
 *
 *  Time: proportional to the new nonzeros times R, and R^2 times the new slices and the lengths of
 *  the other modes; no part of it depends on how many slices there were before. When the call fails
 *  the updater is as it was.
 *  @param tensor  the new data, with the model's dims but for the growing mode
 *  @param rows  for each index of `tensor` in the growing mode the row that it belongs to, each at
 *               most once, or POLYAD_NEW_ROW: it is appended, in order. NULL: all are appended
 *  @param[out] info  may be NULL
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH, POLYAD_NUMERICAL (numbers that overflow),
 *  POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT, POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_updater_add(polyad_context *context,
                                                           polyad_updater *updater,
                                                           const polyad_tensor *tensor,
                                                           const uint64_t *rows,
                                                           polyad_update_info *info);

/** The model as it is now, a copy (so its time grows with all rows).
 *  @param[out] model  of the type of the model that the updater was made of; destroyed with
 *  polyad_ktensor_destroy()
 *  @return POLYAD_NUMERICAL where a number is too large for that type, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_updater_model(polyad_context *context,
                                                             const polyad_updater *updater,
                                                             polyad_ktensor **model);

/** Writes the sums to a file (a .ptm, see docs/update.md), so that polyad_updater_read() can go on
 *  with them. They belong to `model`, what polyad_updater_model() made.
 *  @return POLYAD_IO, POLYAD_INVALID_ARGUMENT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_updater_write(polyad_context *context,
                                                             const polyad_updater *updater,
                                                             const polyad_ktensor *model,
                                                             const char *path);
/** As polyad_updater_create(), with the sums from a file that polyad_updater_write() wrote.
 *  @return as polyad_updater_create(); POLYAD_IO, POLYAD_PARSE; POLYAD_MISMATCH when the sums
 * belong to another model or another growing mode */
POLYAD_API POLYAD_CHECKED polyad_status polyad_updater_read(polyad_context *context,
                                                            const char *path,
                                                            const polyad_ktensor *model,
                                                            const polyad_update_options *options,
                                                            polyad_updater **updater);

#ifdef __cplusplus
}
#endif
#endif
