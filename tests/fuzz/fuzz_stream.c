/* Compressed bytes, whatever they hold: bounded memory, an end or an error. */
#include "fuzz_input.h"

#include "io/input.h"

enum { CHUNK = 100000, MOST = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static unsigned char buffer[CHUNK];
  const char *path = fuzz_file(data, size);
  polyad_context *context = fuzz_begin(1);
  struct pd_input *input;
  polyad_status status = pd_input_open(context, path, &input);
  if (status != POLYAD_OK) fuzz_check_failure(context, status);
  uint64_t total = 0;
  size_t got = 1;
  while (status == POLYAD_OK && got > 0 && total < MOST) {
    status = pd_input_read(input, buffer, CHUNK, &got);
    total += got;
    fuzz_require(status == POLYAD_OK || got == 0, "bytes come before the error");
    if (status == POLYAD_OK) continue;
    fuzz_require(pd_input_error(input, 3) == status, "the error is kept");
    fuzz_check_failure(context, status);
  }
  pd_input_close(input);
  fuzz_end(context);
  return 0;
}
