/* What every call does first: without a context it is refused, and an error of the call before does
 * not stand for its own. */
#include "harness.h"

#include <polyad/bench.h>
#include <polyad/polyad.h>
#include <string.h>

static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return left != 0;
}

/* The call fails for a reason of its own, said in words. */
static void check(const char *name, polyad_status status) {
  const char *message = polyad_last_error(context);
  if (status == POLYAD_OK) fail_msg("%s takes arguments that mean nothing", name);
  if (message[0] == '\0' || strstr(message, "threads asked for") != NULL)
    fail_msg("%s says: '%s'", name, message);
  if (polyad_last_error_record(context).status != status)
    fail_msg("%s returns another status than it records", name);
}

/* Calls `function` with these arguments behind the context, after an error of another call. */
#define REFUSED(function, ...)                                                                     \
  do {                                                                                             \
    assert_int_equal(polyad_set_threads(context, -1), POLYAD_INVALID_ARGUMENT);                    \
    check(#function, function(context, __VA_ARGS__));                                              \
    assert_int_equal(function(NULL, __VA_ARGS__), POLYAD_INVALID_ARGUMENT);                        \
  } while (0)

static void tensors_and_files(void **state) {
  (void)state;
  REFUSED(polyad_tensor_create, NULL, NULL);
  REFUSED(polyad_tensor_create_dense, NULL, NULL);
  REFUSED(polyad_tensor_convert, NULL, POLYAD_F64, NULL);
  REFUSED(polyad_tensor_transform, NULL, NULL, 0, NULL);
  REFUSED(polyad_tensor_set_labels, NULL, 0, NULL, NULL);
  REFUSED(polyad_tensor_outline, NULL, NULL);
  REFUSED(polyad_tensor_statistics_compute, NULL, NULL);
  REFUSED(polyad_tensor_read, NULL, NULL, NULL);
  REFUSED(polyad_tensor_write, NULL, NULL, POLYAD_FILE_AUTO);
  REFUSED(polyad_matrix_read, NULL, NULL, NULL, NULL);
  REFUSED(polyad_matrix_write, 0, 0, NULL, NULL);
  REFUSED(polyad_text_write, NULL, NULL, 0);
  REFUSED(polyad_output_check, NULL);
  REFUSED(polyad_generate, NULL, NULL, NULL);
  REFUSED(polyad_generate_to_file, NULL, NULL);
}

static void models(void **state) {
  (void)state;
  REFUSED(polyad_ktensor_create, 0, NULL, 0, POLYAD_F64, NULL);
  REFUSED(polyad_ktensor_read, NULL, POLYAD_F64, NULL);
  REFUSED(polyad_ktensor_write, NULL, NULL);
  REFUSED(polyad_ktensor_write_directory, NULL, NULL, 0, NULL);
  REFUSED(polyad_ktensor_arrange, NULL);
  REFUSED(polyad_ktensor_norm, NULL, NULL);
  REFUSED(polyad_ktensor_innerprod, NULL, NULL, NULL);
  REFUSED(polyad_ktensor_fit, NULL, NULL, NULL);
  REFUSED(polyad_ktensor_values, NULL, 0, NULL, NULL);
  REFUSED(polyad_ktensor_top, NULL, 0, 0, 0, NULL);
  REFUSED(polyad_ktensor_score, NULL, NULL, 0, NULL, NULL);
  REFUSED(polyad_ttensor_create, 0, NULL, NULL, POLYAD_F64, NULL);
  REFUSED(polyad_ttensor_read, NULL, POLYAD_F64, NULL);
  REFUSED(polyad_ttensor_write, NULL, NULL);
  REFUSED(polyad_ttensor_write_directory, NULL, NULL, 0, NULL);
  REFUSED(polyad_ttensor_norm, NULL, NULL);
  REFUSED(polyad_ttensor_fit, NULL, NULL, NULL);
  REFUSED(polyad_ttensor_values, NULL, 0, NULL, NULL);
}

static void plans_and_algorithms(void **state) {
  (void)state;
  REFUSED(polyad_plan_create, NULL, NULL, NULL);
  REFUSED(polyad_plan_create_take, NULL, NULL, NULL);
  REFUSED(polyad_format_estimate_bytes, NULL, NULL, NULL);
  REFUSED(polyad_workspace_create, NULL, 0, NULL);
  REFUSED(polyad_ttmc_workspace_create, NULL, NULL, NULL);
  REFUSED(polyad_mttkrp, NULL, NULL, 0, NULL, NULL);
  REFUSED(polyad_ttmc, NULL, NULL, 0, NULL, NULL);
  REFUSED(polyad_ttmc_columns, NULL, NULL, 0, NULL);
  REFUSED(polyad_pi, NULL, NULL, 0, NULL);
  REFUSED(polyad_phi, NULL, NULL, 0, NULL, 0, NULL);
  REFUSED(polyad_cp_als, NULL, NULL, NULL, NULL);
  REFUSED(polyad_cp_apr, NULL, NULL, NULL, NULL);
  REFUSED(polyad_tucker, NULL, NULL, NULL, NULL);
  REFUSED(polyad_tucker_ranks, NULL, 0.5, NULL);
  REFUSED(polyad_tune_cache_keep, NULL, NULL, 0);
  REFUSED(polyad_tune_cache_value, NULL, NULL, NULL);
  REFUSED(polyad_format_check, NULL);
  REFUSED(polyad_measurement_create, NULL, 0, NULL, NULL);
  REFUSED(polyad_ttmc_measurement_create, NULL, NULL, NULL, NULL);
  REFUSED(polyad_stream_create, 0, POLYAD_F64, NULL);
  REFUSED(polyad_set_device, NULL);
  REFUSED(polyad_device_describe, -1, NULL);
  REFUSED(polyad_roof_measure, POLYAD_ROOF_COPY, POLYAD_F64, 0, 0, 0, NULL, NULL);
}

/* Where a call succeeds, no error is left of the one before. */
static void success_leaves_no_error(void **state) {
  (void)state;
  assert_int_equal(polyad_set_threads(context, -1), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_set_memory_limit(context, 1 << 30), POLYAD_OK);
  assert_string_equal(polyad_last_error(context), "");
  assert_int_equal(polyad_set_threads(context, -1), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  assert_string_equal(polyad_last_error(context), "");
  assert_int_equal(polyad_set_threads(context, -1), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_set_threads(context, 2), POLYAD_OK);
  assert_string_equal(polyad_last_error(context), "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(tensors_and_files),
      TEST(models),
      TEST(plans_and_algorithms),
      TEST(success_leaves_no_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
