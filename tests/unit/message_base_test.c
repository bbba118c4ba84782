/* Messages about tensors and models in memory count modes from the base that the context has. */
#include "harness.h"

#include "ktensor_fixture.h"

/* The two bases, and the number that each gives to the second mode. */
static const struct {
  int base;
  const char *second_mode;
} bases[] = {{0, "mode 1"}, {1, "mode 2"}};

static void only_two_bases_exist(void **state) {
  (void)state;
  assert_int_equal(polyad_message_base(context), 0);
  assert_int_equal(polyad_set_message_base(context, 1), POLYAD_OK);
  assert_int_equal(polyad_message_base(context), 1);
  assert_int_equal(polyad_set_message_base(context, 2), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_set_message_base(context, -1), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_message_base(context), 1);
}

static void a_score_names_the_mode_that_differs(void **state) {
  (void)state;
  polyad_ktensor *a = random_model(3, (const uint64_t[]){4, 5, 6}, 2, POLYAD_F64, 1);
  polyad_ktensor *b = random_model(3, (const uint64_t[]){4, 9, 6}, 2, POLYAD_F64, 2);
  double score;
  for (size_t k = 0; k < 2; ++k) {
    assert_int_equal(polyad_set_message_base(context, bases[k].base), POLYAD_OK);
    assert_int_equal(polyad_ktensor_score(context, a, b, 1, &score, NULL), POLYAD_MISMATCH);
    assert_non_null(strstr(polyad_last_error(context), bases[k].second_mode));
  }
  polyad_ktensor_destroy(a);
  polyad_ktensor_destroy(b);
}

static void new_models_name_the_mode_that_is_wrong(void **state) {
  (void)state;
  const uint64_t dims[] = {4, 0, 6}, ranks[] = {2, 2, 2};
  for (size_t k = 0; k < 2; ++k) {
    polyad_ktensor *cp;
    polyad_ttensor *tucker;
    polyad_generate_options options;
    polyad_tensor *tensor;
    assert_int_equal(polyad_set_message_base(context, bases[k].base), POLYAD_OK);
    assert_int_equal(polyad_ktensor_create(context, 3, dims, 2, POLYAD_F64, &cp),
                     POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(polyad_last_error(context), bases[k].second_mode));
    assert_int_equal(polyad_ttensor_create(context, 3, dims, ranks, POLYAD_F64, &tucker),
                     POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(polyad_last_error(context), bases[k].second_mode));
    polyad_generate_options_init(&options);
    options.order = 3;
    options.nnz = 2;
    memcpy(options.dims, dims, sizeof dims);
    assert_int_equal(polyad_generate(context, &options, &tensor, NULL), POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(polyad_last_error(context), bases[k].second_mode));
  }
}

/* Four nonzeros of a 2 x 3 tensor; the last one lies outside it. */
static polyad_status create(polyad_tensor **tensor) {
  static const int32_t rows[] = {0, 1, 0, 1}, columns[] = {0, 1, 2, 3};
  static const double values[] = {1, 2, 3, 4};
  const polyad_tensor_input input = {.order = 2,
                                     .dims = (const uint64_t[]){2, 3},
                                     .nnz = 4,
                                     .index_type = POLYAD_I32,
                                     .index = {rows, columns},
                                     .index_stride = {sizeof *rows, sizeof *columns},
                                     .values = values,
                                     .value_type = POLYAD_F64,
                                     .value_stride = sizeof *values,
                                     .type = POLYAD_F64};
  return polyad_tensor_create(context, &input, tensor);
}

static void an_index_is_counted_from_the_same_base(void **state) {
  (void)state;
  static const char *const texts[] = {
      "nonzero 3 has index 3 in mode 1; expected 0 to 2 (all counted from 0)",
      "nonzero 4 has index 4 in mode 2; expected 1 to 3 (all counted from 1)"};
  for (int base = 0; base < 2; ++base) {
    polyad_tensor *tensor;
    assert_int_equal(polyad_set_message_base(context, base), POLYAD_OK);
    assert_int_equal(create(&tensor), POLYAD_INVALID_ARGUMENT);
    assert_string_equal(polyad_last_error(context), texts[base]);
  }
}

static void a_plan_describes_its_modes_from_the_same_base(void **state) {
  (void)state;
  static const char *const orders[] = {"mode orders 0-1-2", "mode orders 1-2-3"};
  for (int base = 0; base < 2; ++base) {
    polyad_generate_options options;
    polyad_plan_options plan_options;
    polyad_tensor *tensor;
    polyad_plan *plan;
    assert_int_equal(polyad_set_message_base(context, base), POLYAD_OK);
    polyad_generate_options_init(&options);
    options.order = 3;
    options.nnz = 40;
    memcpy(options.dims, (const uint64_t[]){4, 5, 6}, 3 * sizeof(uint64_t));
    assert_int_equal(polyad_generate(context, &options, &tensor, NULL), POLYAD_OK);
    polyad_plan_options_init(&plan_options);
    plan_options.format = "csf";
    plan_options.rank = 2;
    assert_int_equal(polyad_plan_create(context, tensor, &plan_options, &plan), POLYAD_OK);
    assert_non_null(strstr(polyad_plan_variant(plan), orders[base]));
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(only_two_bases_exist, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_score_names_the_mode_that_differs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(new_models_name_the_mode_that_is_wrong, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_index_is_counted_from_the_same_base, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_plan_describes_its_modes_from_the_same_base, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
