/* Contexts that compute on the CPU, as most tests of the library need them. */
#ifndef PD_TEST_CONTEXTS_H
#define PD_TEST_CONTEXTS_H

#include "harness.h"

#include <polyad/polyad.h>

static inline polyad_context *cpu_context(int threads) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  return context;
}

/** Destroys the context; fails the test where memory of it is still in use. */
static inline void context_end(polyad_context *context) {
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

#endif
