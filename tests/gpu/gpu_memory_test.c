/* Bytes of a GPU's memory: they are counted as they are taken, the most of them was predicted
 * before, and all are back in the end. Closing ends the devices, and what is left can be destroyed.
 */
#include "gpu/gpu_context.h"
#include "harness.h"
#include "plan/plan.h"
#include "unit/built_cases.h"

enum { RANK = 16 };

static uint64_t in_use(polyad_context *context) {
  uint64_t now;
  assert_int_equal(polyad_device_memory(context, "cuda", &now, NULL), POLYAD_OK);
  return now;
}

static uint64_t peak_of(polyad_context *context) {
  uint64_t most;
  assert_int_equal(polyad_device_memory(context, "cuda:0", NULL, &most), POLYAD_OK);
  return most;
}

/* The peak lies between what certainly lies there at one time, the storage and two sets of factors,
 * and the prediction. Cases come with growing sizes, since the peak never falls. */
static void compare(const struct mttkrp_case *from, const char *format, polyad_type precision) {
  struct problem problem;
  polyad_context *context = gpu_context();
  polyad_plan_options options;
  polyad_cp_als_options run;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  uint64_t rows = 0;
  polyad_plan_options_init(&options);
  polyad_cp_als_options_init(&run);
  options.format = format;
  options.precision = precision;
  options.rank = run.rank = RANK;
  run.run.max_iterations = 3;
  problem_make(from, 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, precision);
  polyad_plan *plan;
  if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK ||
      polyad_cp_als(context, plan, &run, &model, &info) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  for (int n = 0; n < from->order; ++n)
    rows += 2 * from->dims[n];
  uint64_t least = polyad_plan_bytes(plan) + rows * RANK * (precision == POLYAD_F32 ? 4 : 8);
  uint64_t peak = peak_of(context), predicted = polyad_plan_device_bytes(plan, "cuda:0");
  if (peak < least || peak > predicted)
    fail_msg("%s, %s: the peak is %llu bytes; expected %llu to %llu", from->name, format,
             (unsigned long long)peak, (unsigned long long)least, (unsigned long long)predicted);
  assert_true(polyad_plan_device_bytes(plan, "cpu") == 0);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(tensor);
  polyad_plan_destroy(plan);
  problem_free(&problem);
  assert_true(in_use(context) == 0);
  polyad_context_destroy(context);
}

static void test_peak(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "alto", "coo", "twotree"};
  for (int k = 0; k < 4; ++k) {
    const struct mttkrp_case from = {
        "growing",     3,    {UINT64_C(3000) << 2 * k, 2000, 1000}, (size_t)20000 << 2 * k,
        SHAPE_UNIFORM, false};
    compare(&from, formats[k], k % 2 == 0 ? POLYAD_F32 : POLYAD_F64);
  }
}

static void test_where_nothing_is_counted(void **state) {
  (void)state;
  polyad_context *context = gpu_context();
  uint64_t now = 1, peak = 1;
  assert_int_equal(polyad_device_memory(context, "cpu", &now, &peak), POLYAD_OK);
  assert_true(now == 0 && peak == 0);
  assert_int_equal(polyad_device_memory(context, "cuda:77", &now, &peak), POLYAD_DEVICE);
  assert_int_equal(polyad_device_memory(context, NULL, &now, &peak), POLYAD_INVALID_ARGUMENT);
  polyad_context_destroy(context);
}

/* The last test: there is no GPU afterwards. */
static void test_close(void **state) {
  (void)state;
  struct problem problem;
  polyad_context *context = gpu_context();
  polyad_plan_options options;
  polyad_plan *other = NULL;
  polyad_plan_options_init(&options);
  options.rank = RANK;
  problem_make(&built_cases[8], RANK, 3, &problem);
  polyad_plan *plan = gpu_plan(context, &problem, &options);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  polyad_devices_close();
  polyad_devices_close();
  assert_int_equal(polyad_plan_create(context, tensor, &options, &other), POLYAD_DEVICE_LOST);
  polyad_plan_destroy(plan);
  assert_true(in_use(context) == 0);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

GPU_TESTS(cmocka_unit_test(test_peak), cmocka_unit_test(test_where_nothing_is_counted),
          cmocka_unit_test(test_close))
