/* FROSTT text read by one thread and by three, in small pieces and turns: the result must be the
 * same, to the message. The input is that of fuzz_tns.c. */
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct pd_tns_blocks whole = {64 << 10, 64 << 10, NULL, 0},
                                    pieces = {257, 7, NULL, 67};
  if (size == 0) return 0;
  const char *path = fuzz_file(data + 1, size - 1);
  polyad_read_options options = fuzz_text_options(data[0]);
  struct fuzz_text one = fuzz_read_text(path, &options, 1, whole);
  struct fuzz_text three = fuzz_read_text(path, &options, 3, pieces);
  fuzz_require(fuzz_same_text(&one, &three), "threads do not change the result");
  return 0;
}
