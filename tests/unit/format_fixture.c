#include "unit/format_fixture.h"

#include "core/random.h"
#include "inputs.h"
#include <stdlib.h>

enum { HEADER_BYTES = 64 /* of an allocation, see core/memory.c */ };

polyad_tensor *fixture_tensor(polyad_context *context, int order, const uint64_t *dims,
                              uint64_t nnz, bool heavy, polyad_type type) {
  uint64_t *index = malloc(((size_t)order * nnz + 1) * sizeof *index);
  double *value = malloc((nnz + 1) * sizeof *value);
  for (int n = 0; n < order; ++n) {
    uint64_t *column = index + (size_t)n * nnz;
    for (uint64_t p = 0; p < nnz; ++p)
      column[p] = n == 0 && heavy && p % 10 != 0 ? 0 : pd_random_u64(11, (uint64_t)n, p) % dims[n];
  }
  for (uint64_t p = 0; p < nnz; ++p)
    value[p] = (float)pd_random_uniform(11, 99, p) + 0.5; /* sums of repeats are not 0 */
  polyad_tensor_input input = input_of_columns(order, dims, nnz, POLYAD_U64, index, nnz, value);
  input.type = type;
  polyad_tensor *tensor = NULL;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  free(index);
  free(value);
  return tensor;
}

void *fixture_build(polyad_context *context, const struct polyad_format *format,
                    const char *variant, int partitions, polyad_tensor *tensor) {
  struct pd_request request = {.variant = variant,
                               .rank = 5,
                               .precision = polyad_tensor_type(tensor),
                               .threads = polyad_threads(context),
                               .parameter = {partitions}};
  struct pd_traits traits;
  uint64_t estimated, building, before = polyad_memory_in_use(context);
  void *storage = NULL;
  assert_int_equal(pd_device_of(context, &request.device), POLYAD_OK);
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  format->estimate_bytes(&traits, &request, &estimated, &building);
  if (pd_storage_build(context, format, tensor, false, &request, &storage) != POLYAD_OK)
    fail_msg("%s/%s: %s", format->name, variant, polyad_last_error(context));
  assert_int_equal(pd_storage_bytes(format, storage), estimated);
  /* The allocator counts its headers too: some whole ones, and nothing else. */
  uint64_t headers = polyad_memory_in_use(context) - before - estimated;
  assert_int_equal(headers % HEADER_BYTES, 0);
  assert_true(headers / HEADER_BYTES <= 2 + 5 * POLYAD_MAX_ORDER * POLYAD_MAX_ORDER);
  assert_true(building >= estimated);
  fixture_check(context, format, storage, POLYAD_OK);
  return storage;
}

void fixture_check(polyad_context *context, const struct polyad_format *format, const void *storage,
                   polyad_status expected) {
  pd_begin(context);
  polyad_status status = format->check(context, storage);
  if (status != expected)
    fail_msg("check of %s gave %d, expected %d: %s", format->name, (int)status, (int)expected,
             polyad_last_error(context));
}
