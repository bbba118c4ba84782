/* Tucker models in text: the first byte chooses the precision; what was read is written and read
 * again, and must be the same. */
#include "fuzz_input.h"

#include "tensor/ttensor.h"
#include <polyad/io.h>
#include <string.h>

static void require_same(const polyad_ttensor *a, const polyad_ttensor *b) {
  size_t bytes = a->type == POLYAD_F32 ? 4 : 8;
  fuzz_require(a->order == b->order && a->core_size == b->core_size, "the same sizes");
  fuzz_require(memcmp(a->core, b->core, (size_t)a->core_size * bytes) == 0, "the same core");
  for (int n = 0; n < a->order; ++n)
    fuzz_require(
        a->dims[n] == b->dims[n] && a->ranks[n] == b->ranks[n] &&
            memcmp(a->factor[n], b->factor[n], (size_t)(a->dims[n] * a->ranks[n]) * bytes) == 0,
        "the same factors");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const char *path = fuzz_file(data + 1, size - 1);
  polyad_type type = data[0] & 1 ? POLYAD_F32 : POLYAD_F64;
  polyad_context *context = fuzz_begin(1);
  polyad_ttensor *model, *again = NULL;
  polyad_status status = polyad_ttensor_read(context, path, type, &model);
  if (status != POLYAD_OK) {
    fuzz_check_failure(context, status);
    fuzz_require(model == NULL, "no model after a failure");
  } else {
    const char *copy = fuzz_output_begin();
    fuzz_require(polyad_ttensor_write(context, model, "-") == POLYAD_OK, "a model is written");
    fuzz_output_end();
    fuzz_require(polyad_ttensor_read(context, copy, type, &again) == POLYAD_OK,
                 "what was written is read");
    require_same(model, again);
  }
  polyad_ttensor_destroy(model);
  polyad_ttensor_destroy(again);
  fuzz_end(context);
  return 0;
}
