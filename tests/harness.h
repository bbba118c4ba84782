/* cmocka and the headers that it needs before it. */
#ifndef PD_TEST_HARNESS_H
#define PD_TEST_HARNESS_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "core/isa.h"
#include <stdlib.h>
#include <string.h>

/* Tensors of tests are small; without this nearly all of them would be computed by one thread. */
void pd_worth_threads_force(uint64_t least) __attribute__((weak));
__attribute__((constructor)) static void share_small_work(void) {
  if (pd_worth_threads_force != NULL) pd_worth_threads_force(1 << 9);
}

/* Under AddressSanitizer tests that compare numbers in many combinations leave out a part of these:
 * each format, operation, type and number of threads is run all the same. */
#ifdef __SANITIZE_ADDRESS__
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

/* Programs that take long are run in parts (polyad_split_test): their functions that the
 * environment names, or all but these. */
__attribute__((constructor)) static void choose_functions(void) {
  const char *only = getenv("TEST_ONLY"), *without = getenv("TEST_NOT");
  if (only != NULL) cmocka_set_test_filter(only);
  if (without != NULL) cmocka_set_skip_filter(without);
}

/* Some programs are run once for each instruction set (polyad_add_isa_tests): skipped where the
 * processor has not the one that the environment names, unless it says that this is what is
 * tested. */
bool pd_isa_available(enum pd_isa isa) __attribute__((weak));
const char *pd_isa_name(enum pd_isa isa) __attribute__((weak));
__attribute__((constructor)) static void skip_missing_instruction_set(void) {
  const char *named = getenv("POLYAD_ISA");
  if (named == NULL || pd_isa_available == NULL || getenv("TEST_ANY_ISA") != NULL) return;
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa)
    if (strcmp(pd_isa_name((enum pd_isa)isa), named) == 0 && !pd_isa_available((enum pd_isa)isa))
      exit(77);
}

#endif
