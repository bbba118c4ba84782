/* Error records, quoting of bytes from outside, size texts. */
#include "harness.h"

#include "core/core.h"
#include <polyad/polyad.h>
#include <string.h>

static void first_error_stays(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(
      pd_fail_at(context, POLYAD_PARSE, "x.tns", 4, 7, "%s is no number; expected one", "'nan'"),
      POLYAD_PARSE);
  assert_int_equal(pd_fail(context, POLYAD_IO, "later"), POLYAD_IO);
  assert_string_equal(polyad_last_error(context),
                      "x.tns:4:7: error: 'nan' is no number; expected one");
  polyad_error record = polyad_last_error_record(context);
  assert_int_equal(record.status, POLYAD_PARSE);
  assert_int_equal(record.line, 4);
  assert_int_equal(record.column, 7);
  assert_string_equal(record.file, "x.tns");
  pd_begin(context);
  assert_string_equal(polyad_last_error(context), "");
  polyad_context_destroy(context);
}

static void standard_input_has_a_name(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  (void)pd_fail_at(context, POLYAD_PARSE, "-", 0, 0, "file is empty");
  assert_string_equal(polyad_last_error(context), "<stdin>: error: file is empty");
  polyad_context_destroy(context);
}

static void quoting_escapes(void **state) {
  (void)state;
  char out[PD_QUOTE_BYTES];
  assert_string_equal(pd_quote(out, "1e", 2), "'1e'");
  assert_string_equal(pd_quote(out, "\x1b[2J", 4), "'\\x1b[2J'");
  assert_string_equal(pd_quote(out, "a\0b", 3), "'a\\x00b'");
  assert_string_equal(pd_quote(out, "\xff\xc3\xa9", 3), "'\\xff\xc3\xa9'");
  char many[100];
  memset(many, '1', sizeof many);
  pd_quote(out, many, sizeof many);
  assert_int_equal(strlen(out), 1 + 40 + 3 + 1);
}

static void memory_is_counted_and_limited(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  double *array;
  assert_int_equal(PD_NEW(context, 1000, &array), POLYAD_OK);
  assert_true(polyad_memory_in_use(context) >= 8000);
  pd_free(context, array);
  assert_int_equal(polyad_memory_in_use(context), 0);
  assert_true(polyad_memory_peak(context) >= 8000);
  assert_int_equal(polyad_set_memory_limit(context, 1 << 20), POLYAD_OK);
  assert_int_equal(PD_NEW(context, 1 << 20, &array), POLYAD_MEMORY_LIMIT);
  assert_null(array);
  pd_begin(context);
  assert_int_equal(PD_NEW(context, UINT64_MAX / 4, &array), POLYAD_OVERFLOW);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_error_stays),
      cmocka_unit_test(standard_input_has_a_name),
      cmocka_unit_test(quoting_escapes),
      cmocka_unit_test(memory_is_counted_and_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
