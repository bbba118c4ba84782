/* A context of three threads that lives as long as a test and has to end without memory in use. */
#ifndef UNIT_CONTEXT_FIXTURE_H
#define UNIT_CONTEXT_FIXTURE_H

#include "harness.h"

#include <polyad/polyad.h>
#include <string.h>

static polyad_context *context;

static inline int set_up(void **state) {
  (void)state;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, 3), POLYAD_OK);
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
  return 0;
}

static inline void expect_error(polyad_status status, polyad_status expected, const char *part) {
  assert_int_equal(status, expected);
  if (strstr(polyad_last_error(context), part) == NULL)
    fail_msg("'%s' is not in '%s'", part, polyad_last_error(context));
}

#endif
