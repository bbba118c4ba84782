/* Descriptions of small tensors in memory for polyad_tensor_create(): coordinates of 4 or 8 bytes
 * in the two usual orders, values of double precision. Tests that need other strides, types or
 * options change the fields of what they get. */
#ifndef PD_TEST_INPUTS_H
#define PD_TEST_INPUTS_H

#include <polyad/polyad.h>

/** Describes columns of indices: nonzero p has index[n * each + p] in mode n, where `each` is the
 *  length of a column in memory, at least nnz. */
static inline polyad_tensor_input input_of_columns(int order, const uint64_t *dims, uint64_t nnz,
                                                   polyad_index_type type, const void *index,
                                                   uint64_t each, const double *values) {
  int64_t bytes = type == POLYAD_I32 || type == POLYAD_U32 ? 4 : 8;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  input.nnz = nnz;
  input.index_type = type;
  for (int n = 0; n < order; ++n) {
    input.index[n] = (const char *)index + (int64_t)each * n * bytes;
    input.index_stride[n] = bytes;
  }
  input.values = values;
  input.value_stride = sizeof *values;
  return input;
}

/** Describes rows of indices: nonzero p has index[p * order + n] in mode n. */
static inline polyad_tensor_input input_of_rows(int order, const uint64_t *dims, uint64_t nnz,
                                                polyad_index_type type, const void *index,
                                                const double *values) {
  polyad_tensor_input input = input_of_columns(order, dims, nnz, type, index, 1, values);
  for (int n = 0; n < order; ++n)
    input.index_stride[n] *= order;
  return input;
}

#endif
