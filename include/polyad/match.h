/** @file
 *  @brief New data in a model's terms: indices of a tensor become those that a model gives the same
 *  labels. */
#ifndef POLYAD_MATCH_H
#define POLYAD_MATCH_H

#include <polyad/model.h>
#include <polyad/ttensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What becomes of the indices of one mode. */
typedef enum polyad_match_rule {
  POLYAD_MATCH_MODEL = 0, /**< they become the model's; one that the model lacks is unseen */
  POLYAD_MATCH_OWN = 1,   /**< they stay as they are */
  POLYAD_MATCH_NEW = 2,   /**< only those stay whose label the model lacks, numbered anew. Without
                               labels all of them are new */
  POLYAD_MATCH_EXTEND = 3 /**< they become the model's; those that it lacks are appended. Without
                               labels all of them are new */
} polyad_match_rule;

/** How indices are compared. */
typedef enum polyad_match_by {
  POLYAD_MATCH_AUTO = 0,  /**< by label where both have labels of the mode, by number where neither
                               has; where only one has them, POLYAD_MISMATCH */
  POLYAD_MATCH_NUMBER = 1 /**< by number: labels do not count */
} polyad_match_by;

/** What becomes of nonzeros with an unseen index. */
typedef enum polyad_unseen {
  POLYAD_UNSEEN_ERROR = 0, /**< POLYAD_MISMATCH, naming the first few */
  POLYAD_UNSEEN_SKIP = 1   /**< they are left out and counted */
} polyad_unseen;

/** How to match. Start from polyad_match_options_init(). */
typedef struct polyad_match_options {
  polyad_match_rule rule[POLYAD_MAX_ORDER]; /**< of each mode; default POLYAD_MATCH_MODEL */
  polyad_match_by by;                       /**< default POLYAD_MATCH_AUTO */
  polyad_unseen unseen;                     /**< default POLYAD_UNSEEN_ERROR */
} polyad_match_options;

/** Sets the defaults named above. */
POLYAD_API void polyad_match_options_init(polyad_match_options *options);

/** Makes a tensor whose modes agree with a model's, or with those of another tensor.
 *
 *  The result has the model's length in modes of POLYAD_MATCH_MODEL, the tensor's in those of
 *  POLYAD_MATCH_OWN, as many as are new in those of POLYAD_MATCH_NEW, and the model's and then the
 *  new ones in those of POLYAD_MATCH_EXTEND. It has the model's labels and names, or those of the
 *  tensor where its indices stay. Nonzeros of one coordinate (labels may repeat) are summed.
 *  @param model   may be NULL where `labels` is not: then `labels` has the dims
 *  @param labels  a tensor of the model's dims with its labels and names, as
 *                 polyad_ktensor_read_labelled() gives it; NULL: the model has none
 *  @param[out] skipped  nonzeros that were left out; may be NULL
 *  @param[out] matched  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH (other order, unseen indices, labels on one
 *  side only, no new index for POLYAD_MATCH_NEW), POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_match(
    polyad_context *context, const polyad_ktensor *model, const polyad_tensor *labels,
    const polyad_tensor *tensor, const polyad_match_options *options, uint64_t *skipped,
    polyad_tensor **matched);

/** Puts a tensor in the terms of another one or of a model's labels where names tell more than
 *  numbers: where both have labels of some mode, as polyad_tensor_match() does with
 *  POLYAD_MATCH_AUTO and POLYAD_MATCH_MODEL in every mode. Where no mode has labels on both sides,
 *  or all labels are the same in the same order, indices are what they are.
 *  @param labels  the other tensor, or what polyad_ktensor_read_labelled() gives; NULL: no labels
 *  @param[out] skipped  nonzeros that were left out; may be NULL
 *  @param[out] matched  NULL where the tensor is to be taken as it is; otherwise destroyed with
 *                       polyad_tensor_destroy()
 *  @return as polyad_tensor_match(); POLYAD_OK where the orders differ, which is for the caller to
 *  refuse */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_match_labels(
    polyad_context *context, const polyad_tensor *labels, const polyad_tensor *tensor,
    polyad_unseen unseen, uint64_t *skipped, polyad_tensor **matched);

/** Puts the rows of a model in the order that a tensor or another model gives their labels. Modes
 *  whose labels are not known on both sides stay as they are.
 *  @param labels  what has the labels in the order that is wanted; NULL: no labels. Where its dims
 *                 are not the model's nothing is done, which is for the caller to refuse
 *  @param own     what polyad_ktensor_read_labelled() gave with the model; NULL: no labels
 *  @param model   changed in place; as it was when the call fails
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_MISMATCH where a label is not the model's or is there
 *  twice, POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ktensor_match_labels(polyad_context *context,
                                                                    const polyad_tensor *labels,
                                                                    const polyad_tensor *own,
                                                                    polyad_ktensor *model);
/** Puts the rows of a Tucker tensor's factors in that order, as polyad_ktensor_match_labels() does;
 *  the core stays. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttensor_match_labels(polyad_context *context,
                                                                    const polyad_tensor *labels,
                                                                    const polyad_tensor *own,
                                                                    polyad_ttensor *model);

#ifdef __cplusplus
}
#endif
#endif
