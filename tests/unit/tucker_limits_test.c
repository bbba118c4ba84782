/* Tucker models whose numbers reach the ends of their type. */
#include "als_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A tensor of equal values is one component: its core is their number's square root times as
 * large. */
static void core_too_large_for_its_type(void **state) {
  (void)state;
  enum { SIDE = 4, CELLS = SIDE * SIDE * SIDE };
  static const uint64_t dims[] = {SIDE, SIDE, SIDE};
  int32_t index[CELLS * 3];
  double values[CELLS];
  for (int p = 0; p < CELLS; ++p) {
    index[3 * p] = p / (SIDE * SIDE);
    index[3 * p + 1] = p / SIDE % SIDE;
    index[3 * p + 2] = p % SIDE;
  }
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (int large = 0; large < 2; ++large) { /* sqrt(64) = 8 times it: just below, and above */
      double most = type == POLYAD_F32 ? (double)FLT_MAX : DBL_MAX;
      for (int p = 0; p < CELLS; ++p)
        values[p] = large ? most / 4 : most / 16;
      polyad_context *context = cpu_context(1);
      polyad_tensor *tensor = als_tensor(context, 3, dims, CELLS, index, values);
      polyad_plan_options how;
      polyad_plan *plan;
      polyad_plan_options_init(&how);
      how.rank = 1;
      how.precision = (polyad_type)type;
      how.kernel = POLYAD_KERNEL_TTMC;
      ALS_OK(context, polyad_plan_create(context, tensor, &how, &plan));
      polyad_tucker_options options;
      polyad_tucker_options_init(&options);
      for (int n = 0; n < 3; ++n)
        options.ranks[n] = 1;
      polyad_ttensor *model = NULL;
      polyad_status status = polyad_tucker(context, plan, &options, &model, NULL);
      if (large) {
        assert_int_equal(status, POLYAD_NUMERICAL);
        assert_non_null(strstr(polyad_last_error(context), type == POLYAD_F32
                                                               ? "too large for single precision"
                                                               : "too large for double precision"));
        assert_null(model);
      } else {
        assert_int_equal(status, POLYAD_OK);
        const void *core = polyad_ttensor_core(model);
        double found = type == POLYAD_F32 ? (double)*(const float *)core : *(const double *)core;
        double unit = type == POLYAD_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
        assert_true(fabs(found / (8 * values[0]) - 1) <= 4 * CELLS * unit);
      }
      polyad_ttensor_destroy(model);
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      context_end(context);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(core_too_large_for_its_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
