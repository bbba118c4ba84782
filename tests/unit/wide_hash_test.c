/* The hash by every instruction set, against the library that defines it. */
#include "harness.h"

#include "core/isa.h"
#include "core/random.h"
#include "core/wide_hash.h"
#include <stdlib.h>
#include <xxhash.h>

enum { BYTES = 5000 }; /* four blocks of 1024 bytes and more */

static unsigned char *some_bytes(void) {
  unsigned char *bytes = malloc(BYTES);
  assert_non_null(bytes);
  for (uint64_t p = 0; p < BYTES; ++p)
    bytes[p] = (unsigned char)pd_random_u64(1, 0, p);
  return bytes;
}

/* In pieces of `piece` bytes. */
static uint64_t hash_of(const unsigned char *from, size_t bytes, size_t piece) {
  struct pd_wide_hash hash;
  pd_wide_hash_begin(&hash);
  for (size_t p = 0; p < bytes; p += piece)
    pd_wide_hash_add(&hash, from + p, bytes - p < piece ? bytes - p : piece);
  return pd_wide_hash_end(&hash);
}

static void every_set_gives_the_same(void **state) {
  (void)state;
  static const size_t pieces[] = {1, 8, 63, 64, 256, 257, 1000, 1024, BYTES};
  unsigned char *bytes = some_bytes();
  for (int k = 0; k < PD_ISA_COUNT; ++k) {
    if (!pd_isa_available((enum pd_isa)k)) continue;
    pd_isa_force((enum pd_isa)k);
    /* From an odd place, as an array inside a file may lie. */
    for (size_t count = 0; count < BYTES; count += count < 300 ? 1 : 97)
      assert_true(hash_of(bytes + 1, count, count + 1) == XXH3_64bits(bytes + 1, count));
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; ++i)
      assert_true(hash_of(bytes, BYTES, pieces[i]) == XXH3_64bits(bytes, BYTES));
  }
  pd_isa_force(PD_ISA_COUNT);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_set_gives_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
