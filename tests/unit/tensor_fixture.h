/* What the tests of tensors share. */
#ifndef UNIT_TENSOR_FIXTURE_H
#define UNIT_TENSOR_FIXTURE_H

#include "harness.h"

#include "failing_allocator.h"
#include "tensor/tensor.h"
#include <polyad/polyad.h>
#include <string.h>

static polyad_context *context;

static inline int set_up(void **state) {
  (void)state;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, 3), POLYAD_OK);
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
  return 0;
}

static inline void expect_error(polyad_status status, polyad_status expected, const char *part) {
  assert_int_equal(status, expected);
  if (strstr(polyad_last_error(context), part) == NULL)
    fail_msg("'%s' is not in '%s'", part, polyad_last_error(context));
}

/* Input over an (nnz, order) array of int64 and doubles. */
static inline polyad_tensor_input rows(int order, uint64_t nnz, const int64_t *index,
                                       const double *values) {
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.nnz = nnz;
  input.index_type = POLYAD_I64;
  for (int n = 0; n < order; ++n) {
    input.index[n] = index + n;
    input.index_stride[n] = 8 * order;
  }
  input.values = values;
  input.value_stride = 8;
  return input;
}

static inline polyad_tensor *create(const polyad_tensor_input *input) {
  polyad_tensor *tensor;
  polyad_status status = polyad_tensor_create(context, input, &tensor);
  if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
  return tensor;
}

#endif
