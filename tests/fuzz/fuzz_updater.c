/* Going on with the sums of an updater. The first byte chooses the growing mode, whether the model
 * is nonnegative and what the rest is: a whole file, or changes to a good one: places (two bytes)
 * and new values (one byte each), after which checksums are made right again. New slices are then
 * added; the model must stay finite. */
#include "fuzz_input.h"
#include "fuzz_ptm_seal.h"

#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>

enum { ORDER = 3, RANK = 2, SLICES = 2, LARGEST = 1 << 13, NONNEGATIVE = 1, AS_IT_IS = 2 };

static const uint64_t dims[ORDER] = {3, 2, 4};

/* A model, and the sums of an updater of each mode and kind that started from it. */
static polyad_ktensor *start;
struct sums {
  uint8_t file[LARGEST];
  size_t bytes;
};
static struct sums sums[ORDER][2];

static polyad_update_options options_of(int mode, int nonnegative) {
  polyad_update_options options;
  polyad_update_options_init(&options);
  options.mode = mode;
  options.kind = nonnegative ? POLYAD_KIND_NONNEGATIVE : POLYAD_KIND_SIGNED;
  options.forget = 0.5;
  return options;
}

static void make_model(polyad_context *context) {
  fuzz_require(polyad_ktensor_create(context, ORDER, dims, RANK, POLYAD_F64, &start) == POLYAD_OK,
               "a model");
  for (int n = 0; n < ORDER; ++n) {
    double *factor = polyad_ktensor_factor(start, n);
    for (uint64_t k = 0; k < dims[n] * RANK; ++k)
      factor[k] = (double)((k * 7 + (uint64_t)n) % 5) / 4;
  }
}

static void make_sums(polyad_context *context, int mode, int nonnegative) {
  struct sums *to = &sums[mode][nonnegative];
  polyad_update_options options = options_of(mode, nonnegative);
  polyad_updater *updater;
  char path[96];
  snprintf(path, sizeof path, "%s/sums.ptm", fuzz_folder());
  fuzz_require(polyad_updater_create(context, start, &options, &updater) == POLYAD_OK &&
                   polyad_updater_write(context, updater, start, path) == POLYAD_OK,
               "sums");
  polyad_updater_destroy(updater);
  to->bytes = fuzz_take_file(path, to->file, LARGEST);
}

static void prepare(polyad_context *context) {
  if (start != NULL) return;
  make_model(context);
  for (int mode = 0; mode < ORDER; ++mode)
    for (int nonnegative = 0; nonnegative < 2; ++nonnegative)
      make_sums(context, mode, nonnegative);
  fuzz_keep(context);
}

/* A slice that is there and a new one. */
static polyad_status add_slices(polyad_context *context, polyad_updater *updater, int mode) {
  static const uint32_t index[][ORDER] = {{0, 0, 0}, {1, 1, 1}, {1, 0, 0}};
  static const double values[] = {1, 2, 3};
  static const uint64_t rows[SLICES] = {1, POLYAD_NEW_ROW};
  uint64_t lengths[ORDER];
  memcpy(lengths, dims, sizeof lengths);
  lengths[mode] = SLICES;
  polyad_tensor *tensor = fuzz_tensor(context, ORDER, lengths, 3, index[0], values);
  polyad_status status = polyad_updater_add(context, updater, tensor, rows, NULL);
  polyad_tensor_destroy(tensor);
  return status;
}

static void require_finite(polyad_ktensor *model) {
  for (int n = 0; n < ORDER; ++n) {
    const double *factor = polyad_ktensor_factor(model, n);
    for (uint64_t k = 0; k < polyad_ktensor_dims(model)[n] * RANK; ++k)
      fuzz_require(isfinite(factor[k]), "a finite model");
  }
}

static polyad_status go_on(polyad_context *context, const char *path, int mode, int nonnegative) {
  polyad_update_options options = options_of(mode, nonnegative);
  polyad_updater *updater = NULL;
  polyad_ktensor *model = NULL;
  polyad_status status = polyad_updater_read(context, path, start, &options, &updater);
  fuzz_require((status == POLYAD_OK) == (updater != NULL), "an updater or an error");
  if (status == POLYAD_OK) status = add_slices(context, updater, mode);
  if (status == POLYAD_OK) status = polyad_updater_model(context, updater, &model);
  if (status == POLYAD_OK) require_finite(model);
  polyad_ktensor_destroy(model);
  polyad_updater_destroy(updater);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t bytes[LARGEST];
  if (size == 0) return 0;
  polyad_context *context = fuzz_begin(1);
  prepare(context);
  uint8_t how = fuzz_take_byte(&data, &size);
  int nonnegative = (how & NONNEGATIVE) != 0, mode = how / 4 % ORDER;
  const char *path;
  if ((how & AS_IT_IS) != 0) {
    path = fuzz_file(data, size);
  } else {
    const struct sums *good = &sums[mode][nonnegative];
    size_t length = fuzz_change(good->file, good->bytes, 0, data, size, bytes);
    fuzz_ptm_seal(bytes, length);
    path = fuzz_file(bytes, length);
  }
  polyad_status status = go_on(context, path, mode, nonnegative);
  if (status != POLYAD_OK) fuzz_check_failure(context, status);
  fuzz_end(context);
  return 0;
}
