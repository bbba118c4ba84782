/** @file
 *  @brief Values changed before a decomposition: logarithms, tf-idf, slices scaled to one size. */
#ifndef POLYAD_TRANSFORM_H
#define POLYAD_TRANSFORM_H

#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One way of changing values before a decomposition. Cells that are not stored stay zero. */
typedef enum polyad_transform_kind {
  POLYAD_TRANSFORM_LOG1P = 0,  /**< x becomes ln(1 + x): large counts outweigh others less */
  POLYAD_TRANSFORM_TF_IDF = 1, /**< x becomes x (ln((1 + D) / (1 + d)) + 1), where D is the length
                                    of the mode of documents and d how many of them have a nonzero
                                    with this index of the mode of terms: what is everywhere
                                    counts less (G. Salton and C. Buckley, 1988, with one
                                    document more that has every term, as scikit-learn counts) */
  POLYAD_TRANSFORM_SCALE_NORM = 2, /**< each slice of a mode is divided by its Euclidean norm, */
  POLYAD_TRANSFORM_SCALE_SUM = 3,  /**< by the sum of its magnitudes, */
  POLYAD_TRANSFORM_SCALE_MAX = 4   /**< or by its largest magnitude (R. Bro and A. K. Smilde, 2003).
                                        After a second mode was scaled, the first is so no longer */
} polyad_transform_kind;

/** A step of polyad_tensor_transform(). */
typedef struct polyad_transform {
  polyad_transform_kind kind; /**< what is done */
  int mode;                   /**< mode of the terms, or whose slices are scaled; from 0 */
  int documents;              /**< tf-idf: mode of the documents */
} polyad_transform;

/** A copy with changed values; labels are kept. The steps follow each other, in double precision.
 *  @param steps  `count` of them; may be NULL where there are none
 *  @param[out] transformed  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_INVALID_ARGUMENT (a value that has no logarithm, one below 0 with tf-idf, a mode
 *  that is not there), POLYAD_NUMERICAL (a value too large for the type), POLYAD_OUT_OF_MEMORY,
 *  POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_transform(polyad_context *context,
                                                                const polyad_tensor *tensor,
                                                                const polyad_transform *steps,
                                                                int count,
                                                                polyad_tensor **transformed);

#ifdef __cplusplus
}
#endif
#endif
