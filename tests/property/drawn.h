/* What programs share that go through drawn cases when they are asked to: drawn COUNT [planted]. */
#ifndef PD_TEST_DRAWN_H
#define PD_TEST_DRAWN_H

#include "figures.h"
#include "harness.h"
#include <stdbool.h>

/* How many cases are to be compared, not every format taking every order, how many were, and
 * whether a fault is planted in each, which must be found. */
static uint64_t drawn_count, compared;
static bool planted;
/* Of those with a mode that is longer for the library: how many there were, and the longest. */
static uint64_t long_modes, longest_mode;

static inline bool drawn_asked(int count, char **arguments) {
  if (count < 3 || strcmp(arguments[1], "drawn") != 0) return false;
  drawn_count = strtoull(arguments[2], NULL, 10);
  planted = count > 3;
  return true;
}

/* Returns how many tests failed. */
static inline int run_drawn(CMUnitTestFunction test) {
  const struct CMUnitTest tests[] = {{"drawn cases", test, NULL, NULL, NULL}};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ends the test: among many cases there were long modes. */
static inline void drawn_finish(const char *figures) {
  assert_true(planted || drawn_count < 500 ||
              (long_modes > drawn_count / 20 && longest_mode > 1U << 30));
  if (planted) return;
  record_figures(figures, 3,
                 (struct figure[]){{"tensors", (long)compared},
                                   {"with_a_long_mode", (long)long_modes},
                                   {"longest_mode", (long)longest_mode}});
}

#endif
