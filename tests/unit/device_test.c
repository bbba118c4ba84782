/* The devices of this machine, and matrices on the CPU. */
#include "harness.h"

#include "device/device.h"
#include "linalg/linalg.h"
#include <polyad/polyad.h>
#include <string.h>

static polyad_context *new_context(void) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  return context;
}

static void the_cpu_is_always_there(void **state) {
  (void)state;
  polyad_context *context = new_context();
  polyad_device_description about;
  const struct pd_device *device;
  assert_true(polyad_device_count(context) >= 1);
  assert_int_equal(polyad_device_describe(context, 0, &about), POLYAD_OK);
  assert_string_equal(about.name, "cpu");
  assert_true(about.processors >= 1 && about.memory_bytes > 0);
  assert_true(strcmp(about.capability, "avx512") == 0 || strcmp(about.capability, "avx2") == 0 ||
              strcmp(about.capability, "plain") == 0);
  assert_string_equal(polyad_device_why_not(context, "cpu"), "");
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  assert_string_equal(polyad_device(context), "cpu");
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  assert_ptr_equal(device, &pd_cpu_device);
  assert_ptr_equal(device->linalg, &pd_cpu_linalg);
  polyad_context_destroy(context);
}

static void every_device_can_be_chosen(void **state) {
  (void)state;
  polyad_context *context = new_context();
  int count = polyad_device_count(context);
  for (int which = 0; which < count; ++which) {
    polyad_device_description about;
    assert_int_equal(polyad_device_describe(context, which, &about), POLYAD_OK);
    assert_int_equal(polyad_set_device(context, about.name), POLYAD_OK);
    assert_string_equal(polyad_device(context), about.name);
  }
  assert_int_equal(polyad_set_device(context, "auto"), POLYAD_OK);
  polyad_context_destroy(context);
}

/* A context that nobody tells anything takes a GPU where there is one. */
static void auto_is_settled_when_it_is_needed(void **state) {
  (void)state;
  polyad_context *context = new_context();
  polyad_device_description about;
  const struct pd_device *device;
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  const char *expected = polyad_device_why_not(context, "cuda")[0] == '\0' ? "cuda:0" : "cpu";
  assert_string_equal(device->name, expected);
  assert_string_equal(polyad_device(context), expected);
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "auto"), POLYAD_OK);
  assert_string_equal(polyad_device(context), expected);
  polyad_context_destroy(context);
  context = new_context();
  assert_string_equal(polyad_device(context), expected);
  assert_int_equal(polyad_device_describe_named(context, "cpu", &about), POLYAD_OK);
  assert_string_equal(about.name, "cpu");
  assert_int_equal(polyad_device_describe_named(context, "gpu", &about), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_device_describe_named(context, "cuda:15", &about), POLYAD_DEVICE);
  assert_int_equal(polyad_device_describe_named(context, NULL, &about), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_device_describe_named(context, "cpu", NULL), POLYAD_INVALID_ARGUMENT);
  polyad_context_destroy(context);
}

static void words_that_are_no_device(void **state) {
  (void)state;
  polyad_context *context = new_context();
  static const char *const words[] = {"",       "gpu",     "CPU",         "cpu:0",
                                      "cuda:",  "cuda:x",  "cuda0",       "cuda:-1",
                                      "cuda: ", "cuda:0x", "opencl:99999"};
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k) {
    assert_int_equal(polyad_set_device(context, words[k]), POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(polyad_last_error(context), "expected auto, cpu"));
    assert_string_equal(polyad_device(context), "cpu");
  }
  assert_int_equal(polyad_set_device(context, NULL), POLYAD_INVALID_ARGUMENT);
  polyad_device_description about;
  assert_int_equal(polyad_device_describe(context, -1, &about), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_device_describe(context, 1000, &about), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_device_describe(context, 0, NULL), POLYAD_INVALID_ARGUMENT);
  polyad_context_destroy(context);
}

/* A device that is not there is an error with one line of reason, and the choice stays. */
static void missing_devices_say_why(void **state) {
  (void)state;
  polyad_context *context = new_context();
  static const char *const kinds[] = {"cuda", "opencl"};
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  for (int k = 0; k < 2; ++k) {
    const char *why = polyad_device_why_not(context, kinds[k]);
    assert_null(strchr(why, '\n'));
    if (why[0] == '\0') continue; /* this machine has one */
    assert_int_equal(polyad_set_device(context, kinds[k]), POLYAD_DEVICE);
    assert_string_equal(polyad_last_error(context), why);
    assert_string_equal(polyad_device(context), "cpu");
  }
  assert_int_equal(polyad_set_device(context, "cuda:15"), POLYAD_DEVICE);
  polyad_context_destroy(context);
}

static void matrices_hold_their_numbers(void **state) {
  (void)state;
  polyad_context *context = new_context();
  float numbers[6] = {1, 2, 3, 4, 5, 6}, back[6];
  struct pd_matrix matrix;
  assert_int_equal(pd_matrix_create(context, &pd_cpu_device, POLYAD_F32, 2, 3, &matrix), POLYAD_OK);
  for (int k = 0; k < 6; ++k)
    assert_true(((float *)matrix.data)[k] == 0);
  assert_int_equal(pd_matrix_from_host(context, &matrix, numbers), POLYAD_OK);
  assert_int_equal(pd_matrix_to_host(context, &matrix, back), POLYAD_OK);
  assert_memory_equal(numbers, back, sizeof numbers);
  pd_matrix_destroy(context, &matrix);
  assert_null(matrix.data);
  pd_matrix_destroy(context, &matrix);
  assert_int_equal(pd_matrix_over_host(context, &pd_cpu_device, POLYAD_F32, 2, 3, numbers, &matrix),
                   POLYAD_OK);
  assert_ptr_equal(matrix.data, numbers);
  pd_matrix_destroy(context, &matrix);
  assert_int_equal(
      pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, UINT64_MAX / 4, 8, &matrix),
      POLYAD_OVERFLOW);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cpu_is_always_there),
      cmocka_unit_test(every_device_can_be_chosen),
      cmocka_unit_test(auto_is_settled_when_it_is_needed),
      cmocka_unit_test(words_that_are_no_device),
      cmocka_unit_test(missing_devices_say_why),
      cmocka_unit_test(matrices_hold_their_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
