/* Two devices that share a tensor: the CPU twice, and where there is an OpenCL device (PoCL), which
 * has memory of its own for the library, that and the CPU in both orders; or the pairs of devices
 * that are named on the command line. */
#include "als_fixture.h"
#include "core/random.h"
#include "failing_allocator.h"
#include "plan/pair.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *usual_pairs[] = {"cpu,cpu", "opencl,cpu", "cpu,opencl"};
static char **pairs = usual_pairs;
static int pair_count = sizeof usual_pairs / sizeof *usual_pairs;

/* False: that device is not there. */
static bool use(polyad_context *context, const char *devices) {
  polyad_status status = polyad_set_device(context, devices);
  if (status != POLYAD_OK && (strncmp(devices, "cpu,cpu", 7) == 0 || status != POLYAD_DEVICE))
    fail_msg("%s: %s", devices, polyad_last_error(context));
  return status == POLYAD_OK;
}

static polyad_plan *plan_of(polyad_context *context, const polyad_tensor *tensor, uint64_t rank,
                            polyad_type precision, double share, polyad_kernel kernel) {
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = rank;
  options.precision = precision;
  options.second_share = share;
  options.kernel = kernel;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

/* Whole numbers small enough for exact sums: results are the same bits however they are split. */
static void compute(polyad_context *context, const polyad_plan *plan, uint64_t rank, int mode,
                    void *out) {
  int order = polyad_plan_order(plan);
  const uint64_t *dims = polyad_plan_dims(plan);
  void *factors[POLYAD_MAX_ORDER] = {NULL};
  for (int n = 0; n < order; ++n) {
    uint64_t count = dims[n] * rank;
    factors[n] = malloc(count * sizeof(double));
    assert_non_null(factors[n]);
    for (uint64_t k = 0; k < count; ++k) {
      double x = (double)(pd_random_u64(7, (uint64_t)n, k) % 5) - 2;
      if (polyad_plan_type(plan) == POLYAD_F64)
        ((double *)factors[n])[k] = x;
      else
        ((float *)factors[n])[k] = (float)x;
    }
  }
  polyad_workspace *workspace = NULL;
  ALS_OK(context, polyad_workspace_create(context, plan, rank, &workspace));
  ALS_OK(context, polyad_mttkrp(context, plan, workspace, mode, (const void *const *)factors, out));
  polyad_workspace_destroy(workspace);
  for (int n = 0; n < order; ++n)
    free(factors[n]);
}

static const struct {
  int order;
  uint64_t dims[8], nnz;
} shapes[] = {
    {3, {20, 30, 25}, 3000},
    {4, {7, 1, 300, 11}, 5000},
    {3, {2, 1000, 3}, 2},
    {8, {3, 4, 2, 5, 3, 2, 4, 3}, 700},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void both_find_what_one_does(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 7, 16, 33};
  for (int p = 0; p < pair_count; ++p)
    for (int s = 0; s < SHAPES; ++s)
      for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
        polyad_context *context = als_context(2);
        uint64_t rank = ranks[(s + type) % 4], size = shapes[s].dims[0];
        polyad_tensor *tensor = als_random_tensor(context, shapes[s].order, shapes[s].dims,
                                                  shapes[s].nnz, 5 + (uint64_t)s, 1);
        for (int n = 1; n < shapes[s].order; ++n)
          if (shapes[s].dims[n] > size) size = shapes[s].dims[n];
        size *= rank * (type == POLYAD_F64 ? sizeof(double) : sizeof(float));
        void *one = malloc(size), *two = malloc(size);
        assert_true(one != NULL && two != NULL);
        polyad_plan *alone =
            plan_of(context, tensor, rank, (polyad_type)type, 0, POLYAD_KERNEL_MTTKRP);
        if (use(context, pairs[p])) {
          polyad_plan *shared = plan_of(context, tensor, rank, (polyad_type)type,
                                        s == 2 ? 0.5 : 0.3, POLYAD_KERNEL_MTTKRP);
          assert_non_null(strchr(polyad_plan_format(shared), '+'));
          assert_non_null(strchr(polyad_plan_device(shared), ','));
          assert_true(polyad_plan_nnz(shared) == polyad_plan_nnz(alone));
          for (int n = 0; n < shapes[s].order; ++n) {
            uint64_t bytes = size / polyad_plan_dims(alone)[0] * polyad_plan_dims(alone)[0];
            memset(one, 0, bytes);
            memset(two, 0, bytes);
            compute(context, alone, rank, n, one);
            compute(context, shared, rank, n, two);
            assert_memory_equal(one, two, bytes);
          }
          polyad_plan_destroy(shared);
        }
        polyad_plan_destroy(alone);
        free(one);
        free(two);
        polyad_tensor_destroy(tensor);
        als_context_end(context);
      }
}

/* CP-ALS from HOSVD (which wants the nonzeros back), of values that have to be scaled. */
static void decompositions_agree(void **state) {
  (void)state;
  static const uint64_t dims[] = {12, 15, 10};
  for (int p = 0; p < pair_count; ++p) {
    polyad_context *context = als_context(2);
    polyad_tensor *tensor = als_random_tensor(context, 3, dims, 900, 3, 0);
    double *values = tensor->values;
    for (uint64_t k = 0; k < polyad_tensor_nnz(tensor); ++k)
      values[k] = ldexp(values[k], 600);
    polyad_cp_als_options options;
    polyad_cp_als_options_init(&options);
    options.rank = 4;
    options.init = POLYAD_INIT_HOSVD;
    options.run.max_iterations = 10;
    options.run.tolerance = 0;
    polyad_run_info info[2];
    for (int k = 0; k < 2; ++k) {
      polyad_ktensor *model = NULL;
      memset(&info[k], 0, sizeof info[k]);
      if (k == 1 && !use(context, pairs[p])) continue;
      polyad_plan *plan =
          plan_of(context, tensor, 4, POLYAD_F64, k == 0 ? 0 : 0.4, POLYAD_KERNEL_MTTKRP);
      ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info[k]));
      polyad_ktensor_destroy(model);
      polyad_plan_destroy(plan);
    }
    for (int i = 0; i < info[1].trace_rows; ++i)
      assert_true(fabs(info[0].trace[i].residual - info[1].trace[i].residual) <= 1e-11);
    polyad_run_info_clear(&info[0]);
    polyad_run_info_clear(&info[1]);
    polyad_tensor_destroy(tensor);
    als_context_end(context);
  }
}

static void counts_agree(void **state) {
  (void)state;
  static const uint64_t dims[] = {12, 15, 10};
  for (int p = 0; p < pair_count; ++p) {
    polyad_context *context = als_context(2);
    polyad_tensor *tensor = als_random_tensor(context, 3, dims, 900, 3, 1);
    polyad_cp_apr_options options;
    polyad_cp_apr_options_init(&options);
    options.rank = 3;
    options.run.max_iterations = 6;
    double likelihood[2] = {0, 0};
    for (int k = 0; k < 2; ++k) {
      polyad_ktensor *model = NULL;
      polyad_run_info info = {0};
      likelihood[1] = likelihood[0];
      if (k == 1 && !use(context, pairs[p])) continue;
      polyad_plan *plan =
          plan_of(context, tensor, 3, POLYAD_F64, k == 0 ? 0 : 0.4, POLYAD_KERNEL_PHI);
      polyad_status status = polyad_cp_apr(context, plan, &options, &model, &info);
      /* Format portable has no log-likelihood, on one OpenCL device or with another. */
      if (status != POLYAD_UNSUPPORTED || strstr(polyad_device(context), "opencl") == NULL)
        ALS_OK(context, status);
      if (status == POLYAD_OK) likelihood[k] = info.log_likelihood;
      polyad_run_info_clear(&info);
      polyad_ktensor_destroy(model);
      polyad_plan_destroy(plan);
    }
    assert_true(fabs(likelihood[0] - likelihood[1]) <= 1e-10 * fabs(likelihood[0]));
    polyad_tensor_destroy(tensor);
    als_context_end(context);
  }
}

/* The same device twice: about half each, whatever it measures; never a wrong result. */
static void share_is_measured(void **state) {
  (void)state;
  polyad_context *context = als_context(2);
  static const uint64_t dims[] = {200, 300, 250};
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 100000, 3, 1);
  double *one = calloc(300 * 8, sizeof *one), *two = calloc(300 * 8, sizeof *two);
  assert_true(one != NULL && two != NULL && use(context, "cpu,cpu"));
  polyad_plan *shared = plan_of(context, tensor, 8, POLYAD_F64, 0, POLYAD_KERNEL_MTTKRP);
  assert_non_null(strstr(polyad_plan_explanation(shared), "cpu"));
  assert_true(use(context, "cpu"));
  polyad_plan *alone = plan_of(context, tensor, 8, POLYAD_F64, 0, POLYAD_KERNEL_MTTKRP);
  compute(context, alone, 8, 1, one);
  compute(context, shared, 8, 1, two);
  assert_memory_equal(one, two, 300 * 8 * sizeof *one);
  polyad_plan_destroy(alone);
  polyad_plan_destroy(shared);
  free(one);
  free(two);
  polyad_tensor_destroy(tensor);
  als_context_end(context);
}

/* The parts that an explanation of "cpu,cpu" tells of are the whole. */
static void check_parts_told(const polyad_plan *shared) {
  const char *told = polyad_plan_explanation(shared);
  unsigned long long nnz, bytes, sum_nnz = 0, sum_bytes = 0;
  for (int k = 0; k < 2; ++k) {
    told = strstr(told, "\ncpu, ");
    assert_true(told != NULL &&
                sscanf(told, "\ncpu, %llu nonzeros in %llu bytes", &nnz, &bytes) == 2);
    sum_nnz += nnz;
    sum_bytes += bytes;
    ++told;
  }
  assert_true(sum_nnz == polyad_plan_nnz(shared) && sum_bytes == polyad_plan_bytes(shared));
}

/* What does not fit is named with its device and share. */
static void a_share_that_does_not_fit_is_named(void **state) {
  (void)state;
  polyad_context *context = als_context(1);
  static const uint64_t dims[] = {200, 300, 250};
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 100000, 3, 1);
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_plan_options_init(&options);
  options.rank = 8;
  options.second_share = 0.25;
  options.format = "coo";
  assert_true(use(context, "cpu,cpu"));
  /* The copies of both parts fit, and the first part's storage; not the second's. */
  bool named[2] = {false, false};
  for (uint64_t more = 1 << 18; plan == NULL; more += 1 << 17) {
    ALS_OK(context, polyad_set_memory_limit(context, polyad_memory_in_use(context) + more));
    polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
    assert_true(status == POLYAD_OK || status == POLYAD_MEMORY_LIMIT);
    if (status == POLYAD_OK) break;
    named[0] = named[0] || strstr(polyad_last_error(context), "75.0% of the nonzeros, for device");
    named[1] = named[1] || strstr(polyad_last_error(context), "25.0% of the nonzeros, for device");
  }
  assert_true(named[0] || named[1]);
  ALS_OK(context, polyad_set_memory_limit(context, 0));
  check_parts_told(plan);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  als_context_end(context);
}

static void wrong_devices_are_named(void **state) {
  (void)state;
  static const char *const wrong[] = {"cpu,",     ",cpu",    "cpu,gpu",  "cpu,cpu,",
                                      "cuda:2-1", "cuda:0-", "auto,cpu", ","};
  polyad_context *context = als_context(1);
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
    assert_int_equal(polyad_set_device(context, wrong[k]), POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(polyad_last_error(context), "cuda,cpu"));
  }
  assert_string_equal(polyad_device(context), "cpu");
  static const uint64_t dims[] = {5, 6, 7};
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 50, 1, 1);
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  assert_true(use(context, "cpu,cpu"));
  options.second_share = 1;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_INVALID_ARGUMENT);
  options.second_share = NAN;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_INVALID_ARGUMENT);
  options.second_share = 0.5;
  options.kernel = POLYAD_KERNEL_TTMC;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "one device"));
  polyad_tensor_destroy(tensor);
  als_context_end(context);
}

static polyad_status run_all(polyad_context *context, void *data) {
  static const uint64_t dims[] = {9, 8, 7};
  static int32_t index[60 * 3];
  static double value[60];
  double share = *(double *)data;
  for (int p = 0; p < 60; ++p) {
    index[3 * p] = p % 9;
    index[3 * p + 1] = p % 8;
    index[3 * p + 2] = p / 9;
    value[p] = p + 1;
  }
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 3;
  input.dims = dims;
  input.nnz = 60;
  input.index_type = POLYAD_I32;
  for (int n = 0; n < 3; ++n) {
    input.index[n] = index + n;
    input.index_stride[n] = 12;
  }
  input.values = value;
  input.value_stride = 8;
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_plan_options options;
  polyad_cp_als_options als;
  polyad_plan_options_init(&options);
  polyad_cp_als_options_init(&als);
  options.rank = als.rank = 2;
  options.second_share = share;
  als.run.max_iterations = 2;
  polyad_status status = polyad_set_device(context, "cpu,cpu");
  if (status == POLYAD_OK) status = polyad_tensor_create(context, &input, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(context, plan, &als, &model, NULL);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  double given = 0.5, measured = 0;
  assert_true(sweep_failures(run_all, &given, 2) > 20);
  assert_true(sweep_failures(run_all, &measured, 2) > 20);
}

int main(int count, char **arguments) {
  if (count > 1) {
    polyad_context *context = als_context(1);
    bool there = use(context, arguments[1]);
    polyad_context_destroy(context);
    if (!there) return 77;
    pairs = arguments + 1;
    pair_count = count - 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_find_what_one_does),
      cmocka_unit_test(decompositions_agree),
      cmocka_unit_test(counts_agree),
      cmocka_unit_test(share_is_measured),
      cmocka_unit_test(a_share_that_does_not_fit_is_named),
      cmocka_unit_test(wrong_devices_are_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
