/* Every format gives back the tensor that it was built from. */
#include "harness.h"

#include "core/random.h"
#include "inputs.h"
#include "plan/plan.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>

static polyad_tensor *random_tensor(polyad_context *context, int order, uint64_t nnz,
                                    polyad_type type) {
  static uint64_t index[4][4096];
  static double value[4096];
  static const uint64_t dims[4] = {40, 7, 300, 3};
  for (int n = 0; n < order; ++n)
    for (uint64_t p = 0; p < nnz; ++p)
      index[n][p] = pd_random_u64(5, (uint64_t)n, p) % dims[n];
  for (uint64_t p = 0; p < nnz; ++p)
    value[p] = (double)(p % 17) - 20.5;
  polyad_tensor_input input = input_of_columns(order, dims, nnz, POLYAD_U64, index, 4096, value);
  input.type = type;
  polyad_tensor *tensor = NULL;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  return tensor;
}

/* Whether the format took the tensor. */
static bool comes_back(polyad_context *context, const polyad_tensor *tensor, const char *format,
                       const char *variant) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.precision = polyad_tensor_type(tensor);
  polyad_plan *plan = NULL;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_UNSUPPORTED) return false;
  assert_int_equal(status, POLYAD_OK);
  polyad_tensor *back = NULL;
  assert_int_equal(pd_plan_expand(context, plan, &back), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(back), polyad_tensor_nnz(tensor));
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
  polyad_tensor_destroy(back);
  polyad_plan_destroy(plan);
  return true;
}

static void every_format_gives_the_tensor_back(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, 2), POLYAD_OK);
  for (int f = 0; f < polyad_format_count(); ++f) {
    polyad_format_description about;
    int taken = 0;
    assert_int_equal(polyad_format_describe(f, &about), POLYAD_OK);
    char variants[256];
    snprintf(variants, sizeof variants, "%s", about.variants);
    for (char *rest, *variant = strtok_r(variants, " ", &rest); variant != NULL;
         variant = strtok_r(NULL, " ", &rest))
      for (int order = 1; order <= 4; ++order)
        for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
          for (uint64_t nnz = 1; nnz <= 4096; nnz *= 64) {
            polyad_tensor *tensor = random_tensor(context, order, nnz, (polyad_type)type);
            taken += comes_back(context, tensor, about.name, variant);
            polyad_tensor_destroy(tensor);
          }
    assert_true(taken > 0);
  }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_format_gives_the_tensor_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
