/* The .ptm reader. Checksums would stop a fuzzer at once, so they are made right first: the first
 * byte chooses what is wanted of the rest. What was read is written and read again, and must be the
 * same file. */
#include "fuzz_input.h"
#include "fuzz_ptm_seal.h"

#include <polyad/io.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TUCKER = 1, SINGLE = 2, AS_IT_IS = 4 };

static polyad_status copy_ktensor(polyad_context *context, const char *from, polyad_type type,
                                  bool write) {
  polyad_ktensor *model;
  polyad_tensor *outline;
  polyad_status status = polyad_ktensor_read_labelled(context, from, type, &model, &outline);
  char path[300];
  snprintf(path, sizeof path, "%s/copy.ptm", fuzz_folder());
  if (status == POLYAD_OK && write)
    fuzz_require(polyad_ktensor_write_labelled(context, model, outline, path) == POLYAD_OK,
                 "a model is written");
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(outline);
  return status;
}

static polyad_status copy_ttensor(polyad_context *context, const char *from, polyad_type type,
                                  bool write) {
  polyad_ttensor *model;
  polyad_tensor *outline;
  polyad_status status = polyad_ttensor_read_labelled(context, from, type, &model, &outline);
  char path[300];
  snprintf(path, sizeof path, "%s/copy.ptm", fuzz_folder());
  if (status == POLYAD_OK && write)
    fuzz_require(polyad_ttensor_write_labelled(context, model, outline, path) == POLYAD_OK,
                 "a model is written");
  polyad_ttensor_destroy(model);
  polyad_tensor_destroy(outline);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || size > (16 << 20)) return 0;
  uint8_t what = data[0];
  const char *path =
      fuzz_sealed_file(data + 1, size - 1, (what & AS_IT_IS) != 0 ? NULL : fuzz_ptm_seal);
  polyad_type type = (what & SINGLE) != 0 ? POLYAD_F32 : POLYAD_F64;
  polyad_context *context = fuzz_begin(1);
  polyad_status (*again)(polyad_context *, const char *, polyad_type, bool) =
      (what & TUCKER) != 0 ? copy_ttensor : copy_ktensor;
  polyad_status status = again(context, path, type, true);
  if (status != POLYAD_OK) {
    fuzz_check_failure(context, status);
  } else {
    char written[300];
    snprintf(written, sizeof written, "%s/copy.ptm", fuzz_folder());
    fuzz_require(again(context, written, type, false) == POLYAD_OK, "what was written is read");
    fuzz_empty_folder();
  }
  fuzz_end(context);
  return 0;
}
