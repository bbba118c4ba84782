/* Layout of the sparse tensor and what the library does with it. */
#ifndef PD_TENSOR_H
#define PD_TENSOR_H

#include "core/bits.h"
#include "core/core.h"
#include "core/numbers.h"
#include <polyad/tensor.h>

/** Labels of one mode: string of index i is text[start[i]] up to text[start[i + 1]] - 1; a NUL
 *  follows each string. */
struct pd_labels {
  uint64_t count;
  uint64_t *start; /* count + 1 offsets */
  char *text;
};

struct polyad_tensor {
  polyad_context *context; /* owner of the memory */
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int index_bytes[POLYAD_MAX_ORDER]; /* 4 where dims <= 2^32, else 8 */
  void *index[POLYAD_MAX_ORDER];     /* structure of arrays, sorted by mode 0, 1, … */
  void *values;
  uint64_t repeats_merged;
  uint64_t zeros_dropped;
  polyad_zeros zeros;  /* what becomes of zeros, here and in its copies */
  uint64_t zeros_kept; /* values that are zero */
  uint64_t file_mark;  /* of the file that this is a share of: all its shares have it; 0: of none */
  char *mode_name[POLYAD_MAX_ORDER];
  struct pd_labels labels[POLYAD_MAX_ORDER]; /* count 0: none */
};

static inline size_t pd_type_bytes(polyad_type type) { return type == POLYAD_F32 ? 4 : 8; }

/** Bytes of an index of a mode of length `dim`. */
static inline int pd_index_bytes(uint64_t dim) { return dim <= (UINT64_C(1) << 32) ? 4 : 8; }

/** Index of nonzero p in `mode`, whatever its width. */
static inline uint64_t pd_tensor_index(const polyad_tensor *tensor, int mode, uint64_t p) {
  return tensor->index_bytes[mode] == 4 ? ((const uint32_t *)tensor->index[mode])[p]
                                        : ((const uint64_t *)tensor->index[mode])[p];
}

/** Value of nonzero p as double. */
static inline double pd_tensor_value(const polyad_tensor *tensor, uint64_t p) {
  return pd_load(tensor->type, tensor->values, p);
}

/** The coordinate of nonzero p. */
static inline void pd_tensor_coordinate(const polyad_tensor *tensor, uint64_t p,
                                        uint64_t *coordinate) {
  for (int n = 0; n < tensor->order; ++n)
    coordinate[n] = pd_tensor_index(tensor, n, p);
}

/** Whether nonzero p exists and lies at a coordinate. */
static inline bool pd_tensor_is_at(const polyad_tensor *tensor, uint64_t p,
                                   const uint64_t *coordinate) {
  if (p >= tensor->nnz) return false;
  for (int n = 0; n < tensor->order; ++n)
    if (pd_tensor_index(tensor, n, p) != coordinate[n]) return false;
  return true;
}

/** The number of cells of so many modes, saturated. */
static inline uint64_t pd_cells(int order, const uint64_t *dims) {
  uint64_t cells = 1;
  for (int n = 0; n < order; ++n)
    cells = pd_mul_saturated(cells, dims[n]);
  return cells;
}

/** The coordinate of the cell behind, in the order of the nonzeros. */
static inline void pd_next_cell(int order, const uint64_t *dims, uint64_t *coordinate) {
  int n = order - 1;
  while (n > 0 && coordinate[n] + 1 == dims[n])
    coordinate[n--] = 0;
  ++coordinate[n];
}

#define PD_REPEATS_STAY ((polyad_duplicates)-1)

/** Frees the nonzeros' arrays of a tensor that is given up but not destroyed yet. */
void pd_tensor_free_arrays(polyad_tensor *tensor);
/** Makes a tensor from arrays that it takes over: sorts, merges repeats, drops or keeps zeros.
 *  `index[n]` are of pd_index_bytes(dims[n]) bytes, all below dims[n], values finite; all
 *  arrays come from pd_alloc. On success and on failure the arrays in `index` and `values`
 *  belong to the callee and are set to NULL.
 *  For POLYAD_DUPLICATES_ERROR the failure names the coordinate (1-based). PD_REPEATS_STAY: sorted
 *  only, all nonzeros stay, equal coordinates in their order. */
polyad_status pd_tensor_create_take(polyad_context *context, int order, const uint64_t *dims,
                                    uint64_t nnz, polyad_type type, void **index, void **values,
                                    polyad_duplicates duplicates, polyad_zeros zeros,
                                    polyad_tensor **tensor);

/** Fails with the first of `count` coordinates, `order` numbers each, that lies outside of `dims`.
 */
polyad_status pd_check_coordinates(polyad_context *context, int order, const uint64_t *dims,
                                   uint64_t count, const uint64_t *coordinates);

/** Leaves out the zeros that a tensor keeps. */
polyad_status pd_tensor_drop_zeros(polyad_context *context, polyad_tensor *tensor);

/** Gives a mode of `to`, which has none, the name and labels that it has in `from`. */
polyad_status pd_tensor_copy_names(polyad_context *context, const polyad_tensor *from, int mode,
                                   polyad_tensor *to);

/** What a message calls the side that labels come from: "model", or "other tensor". A model's
 * labels are those of a tensor without nonzeros, as polyad_ktensor_read_labelled() gives it. */
const char *pd_labels_owner(const polyad_tensor *labels);

/** For each of `labels` the first index that `among` gives the same label, or UINT64_MAX. */
polyad_status pd_labels_find(polyad_context *context, const struct pd_labels *among,
                             const struct pd_labels *labels, uint64_t *index);

/** Takes over labels made with pd_alloc (set to zero in `labels`). */
void pd_tensor_take_labels(polyad_tensor *tensor, int mode, struct pd_labels *labels);

/** Fails when the tensor breaks an invariant: unsorted, repeated, out of dims, zero where zeros are
 *  dropped, zeros miscounted where they are kept, or non-finite values. */
polyad_status pd_tensor_check(polyad_context *context, const polyad_tensor *tensor);

/** Whether the nonzeros lie on a device alone, in what a request has as sent (formats/sent.h):
 * there are no arrays here. */
static inline bool pd_tensor_is_elsewhere(const polyad_tensor *tensor) {
  return tensor->nnz > 0 && tensor->values == NULL;
}

/** Whether float32 has zero for a value that is not zero. */
static inline bool pd_becomes_zero(double value) { return value != 0 && (float)value == 0; }
/** Warns where values that are not zero became zero, as too small for their type: `count` of them.
 *  path: the file's (NULL: none); line: of the first (0: unknown). */
void pd_warn_of_underflow(polyad_context *context, const char *path, uint64_t line, uint64_t count);

/** Checks all of an input that can be told without its arrays. */
polyad_status pd_tensor_input_check(polyad_context *context, const polyad_tensor_input *input);

/** ceil(log2(dim)): bits of an index below dim (0 for dim 1). */
static inline int pd_index_bits(uint64_t dim) { return dim == 0 ? 0 : pd_bit_length(dim - 1); }

/** Sum of squares of `count` values, scaled: sum = result * 2^(2 * *exponent), so that
 *  neither overflow nor underflow happens. Fixed order: same bits for every thread count. */
double pd_sum_of_squares(const polyad_context *context, uint64_t count, polyad_type type,
                         const void *values, int *exponent);

/** Fails with POLYAD_MISMATCH where the tensor has not the `order` and `dims` of a model. Modes
 * whose bit is set in `free_modes` may have other lengths; `expected` says so in the message, such
 * as "the same". */
polyad_status pd_model_check_shape(polyad_context *context, int order, const uint64_t *dims,
                                   const polyad_tensor *tensor, unsigned free_modes,
                                   const char *expected);

/** The length of the longest mode; at least 1. */
static inline uint64_t pd_longest(int order, const uint64_t *dims) {
  uint64_t longest = 1;
  for (int n = 0; n < order; ++n)
    if (dims[n] > longest) longest = dims[n];
  return longest;
}

#endif
