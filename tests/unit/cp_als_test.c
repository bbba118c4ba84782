/* CP-ALS against golden values and hand-made cases. */
#include "harness.h"

#include <math.h>
#include <polyad/polyad.h>
#include <string.h>

static polyad_context *new_context(void) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  return context;
}

#define OK(context, call)                                                                          \
  do {                                                                                             \
    polyad_status s_ = (call);                                                                     \
    if (s_ != POLYAD_OK) fail_msg("%s: %s", #call, polyad_last_error(context));                    \
  } while (0)

/* The 3 x 3 x 3 tensor and factors whose iterates other packages publish. */
static polyad_plan *golden_plan(polyad_context *context, const char *format) {
  static const int32_t coords[6][3] = {{0, 0, 0}, {1, 0, 1}, {0, 1, 2},
                                       {2, 1, 0}, {2, 2, 2}, {1, 2, 1}};
  static const double values[6] = {1, 2, 3, 4, 5, 6};
  static const uint64_t dims[3] = {3, 3, 3};
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 3;
  input.dims = dims;
  input.nnz = 6;
  input.index_type = POLYAD_I32;
  for (int n = 0; n < 3; ++n) {
    input.index[n] = &coords[0][n];
    input.index_stride[n] = sizeof coords[0];
  }
  input.values = values;
  input.value_stride = sizeof *values;
  polyad_tensor *tensor;
  OK(context, polyad_tensor_create(context, &input, &tensor));
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = 2;
  polyad_plan *plan;
  OK(context, polyad_plan_create(context, tensor, &options, &plan));
  polyad_tensor_destroy(tensor);
  return plan;
}

static polyad_ktensor *golden_start(polyad_context *context) {
  static const double factors[3][6] = {
      {1, .5, .25, 1, .75, .3}, {.2, .9, 1, .4, .6, .7}, {.3, .8, .9, .1, .5, 1}};
  static const uint64_t dims[3] = {3, 3, 3};
  polyad_ktensor *start;
  OK(context, polyad_ktensor_create(context, 3, dims, 2, POLYAD_F64, &start));
  for (int n = 0; n < 3; ++n)
    memcpy(polyad_ktensor_factor(start, n), factors[n], sizeof factors[n]);
  return start;
}

static void golden(void **state) {
  (void)state;
  polyad_context *context = new_context();
  polyad_plan *plan = golden_plan(context, "auto");
  polyad_ktensor *start = golden_start(context), *model;
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = 2;
  options.init = POLYAD_INIT_MODEL;
  options.initial = start;
  polyad_run_info info = {0};
  OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  assert_int_equal(info.iterations, 12);
  assert_true(info.converged);
  assert_true(fabs(info.fit - 0.46505940261823375) < 1e-14);
  const double *weights = polyad_ktensor_weights(model);
  assert_true(fabs(weights[0] - 6.32370398) < 5e-9);
  assert_true(fabs(weights[1] - 4.99915371) < 5e-9);
  static const double fits[4] = {0.4117725, 0.4513502, 0.4581730, 0.4611789};
  for (int i = 0; i < 4; ++i)
    assert_true(fabs(info.trace[i].fit - fits[i]) < 5e-8);
  polyad_ktensor_destroy(model);
  options.tolerance = 0;
  OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  assert_int_equal(info.iterations, 50);
  assert_true(fabs(info.fit - 0.4654522299829369) < 1e-14);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(start);
  polyad_plan_destroy(plan);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(golden)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
