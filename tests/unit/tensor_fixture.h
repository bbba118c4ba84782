/* What the tests of tensors share. */
#ifndef UNIT_TENSOR_FIXTURE_H
#define UNIT_TENSOR_FIXTURE_H

#include "context_fixture.h"

#include "failing_allocator.h"
#include "inputs.h"
#include "tensor/tensor.h"
#include <polyad/polyad.h>
#include <string.h>

/* Input over an (nnz, order) array of int64 and doubles. */
static inline polyad_tensor_input rows(int order, uint64_t nnz, const int64_t *index,
                                       const double *values) {
  return input_of_rows(order, NULL, nnz, POLYAD_I64, index, values);
}

static inline polyad_tensor *create(const polyad_tensor_input *input) {
  polyad_tensor *tensor;
  polyad_status status = polyad_tensor_create(context, input, &tensor);
  if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
  return tensor;
}

#endif
