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

/* Tensors of tests are small; without this nearly all of them would be computed by one thread. */
void pd_worth_threads_force(uint64_t least) __attribute__((weak));
__attribute__((constructor)) static void share_small_work(void) {
  if (pd_worth_threads_force != NULL) pd_worth_threads_force(1 << 9);
}

#endif
