/* FROSTT text: the first byte chooses options, the rest is the file. Neither the blocks in which it
 * is read nor the instruction set that parses it may change the result. (Threads are
 * fuzz_threads.c.) */
#include "core/isa.h"
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct pd_tns_blocks whole = {64 << 10, 64 << 10, NULL}, short_ones = {61, 7, NULL};
  if (size == 0) return 0;
  const char *path = fuzz_file(data + 1, size - 1);
  polyad_read_options options = fuzz_text_options(data[0]);
  struct fuzz_text large = fuzz_read_text(path, &options, 1, whole);
  struct fuzz_text small = fuzz_read_text(path, &options, 1, short_ones);
  fuzz_require(fuzz_same_text(&large, &small), "blocks do not change the result");
  pd_isa_force(PD_ISA_PLAIN);
  struct fuzz_text plain = fuzz_read_text(path, &options, 1, whole);
  pd_isa_force(PD_ISA_COUNT);
  fuzz_require(fuzz_same_text(&large, &plain), "the instruction set does not change the result");
  return 0;
}
