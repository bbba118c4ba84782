/* The steps of completion on the CPU, over shapes, ranks and options. */
#include "completion_case.h"
#include "harness.h"

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 70}, 900, SHAPE_UNIFORM, false},
    {"one cell", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"long rows", 3, {3, 150, 120}, 30000, SHAPE_UNIFORM, false},
    {"heavy slices", 3, {30, 20, 10}, 3000, SHAPE_HEAVY, false},
    {"long and empty", 3, {700, 30, 660}, 900, SHAPE_UNIFORM, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 4000, SHAPE_HEAVY, false},
};
static const size_t ranks[] = {1, 2, 7, 16, 31};

static void test_steps(void **state) {
  (void)state;
  int number = 0;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k, number += 5) {
      polyad_context *context = NULL;
      assert_int_equal(polyad_context_create(&context), POLYAD_OK);
      assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
      completion_check(context, &cases[c], ranks[k],
                       (struct completion_variant){number & 1, number & 2, number & 4, number & 8});
      polyad_context_destroy(context);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
