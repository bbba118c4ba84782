/* Tensor Toolbox text: the first byte chooses what is read; what was read is written and read
 * again, and must be the same. */
#include "fuzz_input.h"

#include "io/formats.h"
#include "tensor/ktensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void try_tensor(polyad_context *context, const char *path, const char *copy) {
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
  fuzz_require(polyad_tensor_write(context, tensor, copy, POLYAD_FILE_TOOLBOX) == POLYAD_OK,
               "a tensor is written");
  fuzz_require(polyad_tensor_read(context, copy, &options, &again) == POLYAD_OK,
               "what was written is read");
  fuzz_require(polyad_tensor_hash(tensor) == polyad_tensor_hash(again), "the same tensor");
  polyad_tensor_destroy(tensor);
  polyad_tensor_destroy(again);
}

static void try_ktensor(polyad_context *context, const char *path, const char *copy,
                        polyad_type type) {
  polyad_ktensor *model, *again;
  polyad_status status = polyad_ktensor_read(context, path, type, &model);
  if (status != POLYAD_OK) {
    fuzz_check_failure(context, status);
    return;
  }
  fuzz_require(polyad_ktensor_write(context, model, copy) == POLYAD_OK, "a model is written");
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
  char path[64], copy[96];
  int file = fuzz_open(data + 1, size - 1, path);
  static char folder[] = "/tmp/polyad-fuzz-XXXXXX";
  static int made;
  if (!made) fuzz_require(mkdtemp(folder) != NULL, "a folder");
  made = 1;
  snprintf(copy, sizeof copy, "%s/copy.txt", folder);
  polyad_context *context = fuzz_context(1);
  switch (data[0] % 4) {
  case 0:
    try_tensor(context, path, copy);
    break;
  case 1:
    try_ktensor(context, path, copy, POLYAD_F64);
    break;
  case 2:
    try_ktensor(context, path, copy, POLYAD_F32);
    break;
  default:
    try_matrix(context, path);
    break;
  }
  close(file);
  (void)remove(copy);
  fuzz_context_end(context);
  return 0;
}
