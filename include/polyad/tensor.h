/** @file
 *  @brief The sparse tensor: order, dims, coordinates, values, labels.
 *
 *  A tensor is immutable. Its nonzeros are sorted by coordinate (mode 0 first), no
 *  coordinate occurs twice, and no value is zero: repeats are merged and zeros dropped
 *  when it is made, both counted. Zeros that were observed are kept among the nonzeros where
 *  POLYAD_ZEROS_KEEP asks for it. Indices are 0-based in memory. */
#ifndef POLYAD_TENSOR_H
#define POLYAD_TENSOR_H

#include <polyad/context.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POLYAD_MAX_ORDER 16 /**< most modes a tensor can have */

/** Type of values and factors. */
typedef enum polyad_type {
  POLYAD_F32 = 0, /**< IEEE single precision */
  POLYAD_F64 = 1  /**< IEEE double precision */
} polyad_type;

/** Type of the indices that a caller hands over. */
typedef enum polyad_index_type {
  POLYAD_I32 = 0, /**< int32_t */
  POLYAD_U32 = 1, /**< uint32_t */
  POLYAD_I64 = 2, /**< int64_t */
  POLYAD_U64 = 3  /**< uint64_t */
} polyad_index_type;

/** What becomes of nonzeros with equal coordinates. */
typedef enum polyad_duplicates {
  POLYAD_DUPLICATES_SUM = 0,   /**< their sum (in the order given) */
  POLYAD_DUPLICATES_MAX = 1,   /**< the largest */
  POLYAD_DUPLICATES_MIN = 2,   /**< the smallest */
  POLYAD_DUPLICATES_FIRST = 3, /**< the first given */
  POLYAD_DUPLICATES_ERROR = 4, /**< an error that names the coordinate */
  POLYAD_DUPLICATES_MEAN = 5,  /**< their mean */
  POLYAD_DUPLICATES_LAST = 6,  /**< the last given */
  POLYAD_DUPLICATES_COUNT = 7  /**< how many there are, 1 also where there is one */
} polyad_duplicates;

/** What becomes of entries whose (merged) value is zero. */
typedef enum polyad_zeros {
  POLYAD_ZEROS_DROP = 0, /**< they are left out, as cells that are not given, and counted */
  POLYAD_ZEROS_KEEP = 1 /**< they stay, as cells that were observed to be zero. Files and statistics
                             have them; a plan leaves them out unless its options say otherwise, for
                             its kernels' sums have no term for them */
} polyad_zeros;

/** A sparse tensor. */
typedef struct polyad_tensor polyad_tensor;

/** Description of coordinates and values in the caller's memory. Start from
 *  polyad_tensor_input_init(). Strides are in bytes, so that (nnz, N) and (N, nnz) arrays
 *  and views pass without a copy. */
typedef struct polyad_tensor_input {
  int order;                              /**< number of modes, 1 to POLYAD_MAX_ORDER */
  const uint64_t *dims;                   /**< length of each mode; NULL: largest index + 1 */
  uint64_t nnz;                           /**< number of entries */
  polyad_index_type index_type;           /**< type of all indices */
  const void *index[POLYAD_MAX_ORDER];    /**< first 0-based index of each mode */
  int64_t index_stride[POLYAD_MAX_ORDER]; /**< bytes from one index to the next */
  polyad_type value_type;                 /**< type of the values */
  const void *values;                     /**< first value; NULL: all ones */
  int64_t value_stride;                   /**< bytes from one value to the next */
  polyad_type type;                       /**< type in which the tensor keeps its values */
  polyad_duplicates duplicates;           /**< what becomes of repeated coordinates */
  polyad_zeros zeros;                     /**< what becomes of zeros */
} polyad_tensor_input;

/** Sets defaults: everything zero, values and tensor POLYAD_F64, repeats summed, zeros dropped. */
POLYAD_API void polyad_tensor_input_init(polyad_tensor_input *input);

/** Makes a tensor from coordinates and values (copied).
 *  @param[out] tensor  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_INVALID_ARGUMENT for an index outside `dims`, a negative index, a value
 *  that is not finite, an order out of range, no nonzero and no dims, or a repeated coordinate
 *  under POLYAD_DUPLICATES_ERROR; POLYAD_NUMERICAL for a value too large for `type` or a sum of
 *  repeats that is not finite; POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT, POLYAD_OVERFLOW. The
 *  message names the first nonzero concerned, its mode and index. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_create(polyad_context *context,
                                                             const polyad_tensor_input *input,
                                                             polyad_tensor **tensor);

/** Description of a dense array in the caller's memory. Start from polyad_dense_input_init(). */
typedef struct polyad_dense_input {
  int order;              /**< number of modes, 1 to POLYAD_MAX_ORDER */
  const uint64_t *dims;   /**< length of each mode, 1 or more */
  polyad_type cell_type;  /**< type of the cells */
  const void *cells;      /**< the cell at 0, 0, … */
  const int64_t *strides; /**< bytes from a cell to the next along each mode; NULL: row-major, the
                               last mode without gaps */
  polyad_type type;       /**< type in which the tensor keeps its values */
  polyad_zeros zeros;     /**< whether cells that are zero are left out, or kept as observed */
} polyad_dense_input;

/** Sets defaults: everything zero, cells and tensor POLYAD_F64, zeros left out. */
POLYAD_API void polyad_dense_input_init(polyad_dense_input *input);

/** Makes a tensor from the nonzeros of a dense array (copied). Zeros that are left out are not
 *  counted as dropped.
 *  @param[out] tensor  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_INVALID_ARGUMENT for an order or length out of range and a cell that is not
 *  finite; POLYAD_NUMERICAL for a cell too large for `type`; POLYAD_OVERFLOW for 2^60 cells and
 *  more; POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT. The message names the first cell concerned. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_create_dense(polyad_context *context,
                                                                   const polyad_dense_input *input,
                                                                   polyad_tensor **tensor);

/** Destroys a tensor; NULL is fine. */
POLYAD_API void polyad_tensor_destroy(polyad_tensor *tensor);

/** A copy with values of another (or the same) type. Labels are kept. Values too small for
 *  POLYAD_F32 become zero and are dropped and counted, or kept, as they would be when reading.
 *  @return POLYAD_NUMERICAL when a value is too large for the new type (the message names its
 *  coordinate), POLYAD_INVALID_ARGUMENT, POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_convert(polyad_context *context,
                                                              const polyad_tensor *tensor,
                                                              polyad_type type,
                                                              polyad_tensor **converted);

/** Number of modes. */
POLYAD_API int polyad_tensor_order(const polyad_tensor *tensor);
/** Length of each mode (`order` numbers, owned by the tensor). */
POLYAD_API const uint64_t *polyad_tensor_dims(const polyad_tensor *tensor);
/** Number of stored nonzeros, zeros that are kept among them. */
POLYAD_API uint64_t polyad_tensor_nnz(const polyad_tensor *tensor);
/** Type of the values. */
POLYAD_API polyad_type polyad_tensor_type(const polyad_tensor *tensor);
/** Bytes of one stored index of `mode`: 4, or 8 where the mode is longer than 2^32. */
POLYAD_API int polyad_tensor_index_bytes(const polyad_tensor *tensor, int mode);
/** The stored 0-based indices of `mode`: nnz numbers, uint32_t or uint64_t as
 *  polyad_tensor_index_bytes() says; owned by the tensor. */
POLYAD_API const void *polyad_tensor_indices(const polyad_tensor *tensor, int mode);
/** The stored values: nnz floats or doubles; owned by the tensor. */
POLYAD_API const void *polyad_tensor_values(const polyad_tensor *tensor);
/** Entries that were merged into another with the same coordinate. */
POLYAD_API uint64_t polyad_tensor_repeats_merged(const polyad_tensor *tensor);
/** Entries that were dropped because their (merged) value was zero. */
POLYAD_API uint64_t polyad_tensor_zeros_dropped(const polyad_tensor *tensor);
/** Stored entries whose value is zero: none but with POLYAD_ZEROS_KEEP. */
POLYAD_API uint64_t polyad_tensor_zeros_kept(const polyad_tensor *tensor);
/** Bytes the tensor holds. */
POLYAD_API uint64_t polyad_tensor_bytes(const polyad_tensor *tensor);
/** Frobenius norm, computed without overflow or underflow of squares. */
POLYAD_API double polyad_tensor_norm(const polyad_tensor *tensor);
/** A 64-bit hash of order, dims, coordinates and value bits: equal tensors, equal hash. */
POLYAD_API uint64_t polyad_tensor_hash(const polyad_tensor *tensor);

/** Name of a mode ("date", "hour", …), or NULL. */
POLYAD_API const char *polyad_tensor_mode_name(const polyad_tensor *tensor, int mode);
/** Label of an index of a mode, or NULL. Not NUL-free: `length` (may be NULL) gets its bytes. */
POLYAD_API const char *polyad_tensor_label(const polyad_tensor *tensor, int mode, uint64_t index,
                                           size_t *length);
/** Gives a mode its name and labels (copied). `labels` has as many strings as the mode is
 *  long, or is NULL to set the name alone; `name` may be NULL. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_set_labels(polyad_context *context,
                                                                 polyad_tensor *tensor, int mode,
                                                                 const char *name,
                                                                 const char *const *labels);

/** A tensor without nonzeros that has the dims, mode names and labels of another: what remains
 *  of interest when polyad_plan_create_take() consumes the other. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_outline(polyad_context *context,
                                                              const polyad_tensor *tensor,
                                                              polyad_tensor **outline);

/** What `info` reports of a tensor. */
typedef struct polyad_tensor_statistics {
  double density;                           /**< nnz / product of dims */
  double value_min;                         /**< smallest stored value */
  double value_max;                         /**< largest stored value */
  double value_sum;                         /**< their sum */
  double norm;                              /**< Frobenius norm */
  int key_bits;                             /**< sum over modes of ceil(log2(dim)) */
  uint64_t slices[POLYAD_MAX_ORDER];        /**< non-empty slices of each mode */
  uint64_t slice_max[POLYAD_MAX_ORDER];     /**< nonzeros of the fullest slice */
  double slice_mean[POLYAD_MAX_ORDER];      /**< mean nonzeros of the non-empty slices */
  double slice_deviation[POLYAD_MAX_ORDER]; /**< their standard deviation */
  uint64_t fibers[POLYAD_MAX_ORDER];        /**< non-empty fibers along each mode: counted up to
                                                 2^22 nonzeros and along the last mode, else
                                                 estimated (HyperLogLog, standard error 0.8%) */
  int fibers_exact;                         /**< whether all `fibers` were counted */
} polyad_tensor_statistics;

/** Computes statistics of a tensor. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tensor_statistics_compute(
    polyad_context *context, const polyad_tensor *tensor, polyad_tensor_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
