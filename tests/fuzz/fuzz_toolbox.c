/* Tensor Toolbox text: the first byte chooses what is read; what was read is written and read
 * again, and must be the same. */
#include "fuzz_input.h"

#include "io/formats.h"
#include "tensor/ktensor.h"
#include <string.h>

static void try_tensor(polyad_context *context, const char *path) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.format = POLYAD_FILE_TOOLBOX;
  options.labels = "";
  polyad_tensor *tensor, *again;
  polyad_status status = polyad_tensor_read(context, path, &options, &tensor);
  if (status != POLYAD_OK) {
    fuzz_check_failure(context, status);
    return;
  }
  fuzz_require(pd_tensor_check(context, tensor) == POLYAD_OK, "a valid tensor");
  const char *copy = fuzz_output_begin();
  fuzz_require(polyad_tensor_write(context, tensor, "-", POLYAD_FILE_TOOLBOX) == POLYAD_OK,
               "a tensor is written");
  fuzz_output_end();
  fuzz_require(polyad_tensor_read(context, copy, &options, &again) == POLYAD_OK,
               "what was written is read");
  fuzz_require(polyad_tensor_hash(tensor) == polyad_tensor_hash(again), "the same tensor");
  polyad_tensor_destroy(tensor);
  polyad_tensor_destroy(again);
}

static void try_ktensor(polyad_context *context, const char *path, polyad_type type) {
  polyad_ktensor *model, *again;
  polyad_status status = polyad_ktensor_read(context, path, type, &model);
  if (status != POLYAD_OK) {
    fuzz_check_failure(context, status);
    return;
  }
  const char *copy = fuzz_output_begin();
  fuzz_require(polyad_ktensor_write(context, model, "-") == POLYAD_OK, "a model is written");
  fuzz_output_end();
  fuzz_require(polyad_ktensor_read(context, copy, type, &again) == POLYAD_OK,
               "what was written is read");
  size_t bytes = type == POLYAD_F32 ? 4 : 8;
  for (int n = 0; n < model->order; ++n)
    fuzz_require(memcmp(model->factor[n], again->factor[n],
                        (size_t)(model->dims[n] * model->rank) * bytes) == 0,
                 "the same factors");
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(again);
}

static void try_matrix(polyad_context *context, const char *path) {
  uint64_t rows, columns;
  double *values;
  polyad_status status = polyad_matrix_read(context, path, &rows, &columns, &values);
  if (status != POLYAD_OK) fuzz_check_failure(context, status);
  polyad_free(context, values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const char *path = fuzz_file(data + 1, size - 1);
  polyad_context *context = fuzz_begin(1);
  switch (data[0] % 4) {
  case 0:
    try_tensor(context, path);
    break;
  case 1:
    try_ktensor(context, path, POLYAD_F64);
    break;
  case 2:
    try_ktensor(context, path, POLYAD_F32);
    break;
  default:
    try_matrix(context, path);
    break;
  }
  fuzz_end(context);
  return 0;
}
