/* FROSTT text: the first byte chooses options, the rest is the file. Neither the blocks in which it
 * is read nor the instruction set that parses it may change the result. (Threads are
 * fuzz_threads.c.) */
#include "core/isa.h"
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct pd_tns_blocks whole = {64 << 10, 64 << 10, NULL, 0},
                                    short_ones = {61, 7, NULL, 0};
  if (size == 0) return 0;
  const char *path = fuzz_file(data + 1, size - 1);
  polyad_read_options options = fuzz_text_options(data[0]);
  struct fuzz_text large = fuzz_read_text(path, &options, 1, whole);
  /* The other reading differs in blocks, instruction set or both, by the length: each pair has its
   * turn, and a run takes two readings only. */
  struct pd_tns_blocks blocks = size % 3 == 0 ? whole : short_ones;
  if (size % 3 != 1) pd_isa_force(PD_ISA_PLAIN);
  struct fuzz_text other = fuzz_read_text(path, &options, 1, blocks);
  pd_isa_force(PD_ISA_COUNT);
  fuzz_require(fuzz_same_text(&large, &other),
               "neither blocks nor the instruction set change the result");
  return 0;
}
