/** @file
 *  @brief Projection: rows of new indices in one or several modes, with a model's other factors
 * held fast (fold-in). */
#ifndef POLYAD_PROJECT_H
#define POLYAD_PROJECT_H

#include <polyad/match.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a model's numbers are, which its file does not say. */
typedef enum polyad_model_kind {
  POLYAD_KIND_AUTO = 0,        /**< POLYAD_KIND_NONNEGATIVE when no number of the model is negative,
                                    else POLYAD_KIND_SIGNED */
  POLYAD_KIND_SIGNED = 1,      /**< rows by least squares */
  POLYAD_KIND_NONNEGATIVE = 2, /**< rows by least squares, no entry below 0: of polyad_project(),
                                    whatever the signs of the other modes' factors */
  POLYAD_KIND_POISSON = 3      /**< rates of counts, as of polyad_cp_apr(): rows of the largest
                                    Poisson likelihood, no entry below 0 */
} polyad_model_kind;

/** "auto", "signed", "nonnegative" or "poisson". */
POLYAD_API const char *polyad_model_kind_string(polyad_model_kind kind);

#define POLYAD_EVERY_INDEX UINT64_MAX /**< of polyad_fixed_entry: all rows */

/** An entry of a projected row that is known. */
typedef struct polyad_fixed_entry {
  int mode;           /**< one of the projected modes */
  uint64_t component; /**< column */
  uint64_t index;     /**< row of the tensor in that mode, or POLYAD_EVERY_INDEX */
  double value;       /**< what the entry is; at least 0 but for POLYAD_KIND_SIGNED */
} polyad_fixed_entry;

/** Options of polyad_project(). Start from polyad_project_options_init(). */
typedef struct polyad_project_options {
  int modes[POLYAD_MAX_ORDER];     /**< the projected modes, from 0; at least one other stays */
  int mode_count;                  /**< number of them; default 1: mode 0 */
  polyad_model_kind kind;          /**< default POLYAD_KIND_AUTO */
  const polyad_fixed_entry *fixed; /**< entries that are known; of several for one place the last */
  uint64_t fixed_count;            /**< number of them, default 0 */
  int max_iterations;              /**< of several modes: most rounds; default 1000 */
  double tolerance;                /**< of several modes: the largest change of an entry in a round,
                                        relative to the largest entry of its mode; default 1e-10 */
} polyad_project_options;

/** Sets the defaults named above. */
POLYAD_API void polyad_project_options_init(polyad_project_options *options);

/** What polyad_project() tells of its result. */
typedef struct polyad_project_info {
  polyad_model_kind kind; /**< what was taken, never POLYAD_KIND_AUTO */
  int iterations;         /**< rounds; 1 for one mode */
  int converged;   /**< whether the tolerance was met, and every row's optimality conditions */
  double fit;      /**< 1 - ||X - M|| / ||X|| of the new data; NaN when it is all zero */
  double seconds;  /**< wall-clock time */
  char device[64]; /**< where the MTTKRP was computed, such as "cuda:0"; rows of counts: "cpu" */
} polyad_project_info;

/** Finds the rows of new slices of a tensor: with the factors of the other modes held fast, those
 *  of `modes` that describe `tensor` best. Cells without a nonzero count as zeros.
 *
 *  Rows of one mode are independent of each other: a = b V^+ with b the row of the MTTKRP and V the
 *  elementwise product of the other modes' Gram matrices, weights in both (where V is singular, a
 *  component that depends on those before gets 0); nonnegative rows by an active-set method; rows
 *  of counts by damped Newton steps. In several modes they alternate until nothing changes, from
 *  random rows (the context's seed); each of the modes but the first is then scaled so that the
 *  root mean square of each column is that of the model's (components with a fixed entry keep
 *  theirs).
 *
 *  Everything is computed in double, the MTTKRP on the context's device and the rows' equations on
 *  the CPU; the result has the model's type, weights and other factors.
 *  Memory: the model in double, a plan of the tensor, its MTTKRP.
 *  @param tensor  has the model's dims but for `modes`; polyad_tensor_match() makes it so
 *  @param[out] projected  a model of the tensor's dims; destroyed with polyad_ktensor_destroy()
 *  @param[out] info  may be NULL
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (order or dims), POLYAD_NUMERICAL (a model that
 *  is not finite or, where it may not be, negative; a negative value of counts),
 *  POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT, POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_project(
    polyad_context *context, const polyad_ktensor *model, const polyad_tensor *tensor,
    const polyad_project_options *options, polyad_ktensor **projected, polyad_project_info *info);

#ifdef __cplusplus
}
#endif
#endif
