/* Two devices of a team with shares that are asked for or measured: the CPU twice, and where there
 * is an OpenCL device (PoCL), which has memory of its own for the library, that and the CPU in both
 * orders; or the pairs of devices that are named on the command line. What members of two kinds
 * compute is members_test.c's. */
#include "als_fixture.h"
#include "failing_allocator.h"
#include "inputs.h"
#include "plan/members.h"
#include <float.h>
#include <math.h>
#include <pthread.h>
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

static const struct {
  int order;
  uint64_t dims[8], nnz;
} shapes[] = {
    {3, {200, 300, 250}, 30000},
    {4, {7, 1, 300, 11}, 5000},
    {3, {2, 1000, 3}, 2},
    {8, {3, 4, 2, 5, 3, 2, 4, 3}, 700},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Nonzeros of the fullest slice of the mode that is cut. */
static double fullest_slice(const polyad_tensor *tensor, const polyad_team_info *info) {
  uint64_t most = 0;
  for (int n = 0; n < tensor->order; ++n) {
    if (info->grid[n] == 1) continue;
    uint64_t *count = calloc(tensor->dims[n], sizeof *count);
    assert_non_null(count);
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      uint64_t slice = ++count[pd_tensor_index(tensor, n, p)];
      if (slice > most) most = slice;
    }
    free(count);
  }
  return (double)most;
}

/* A member has the share that it is to have, but for the slice in which its range ends. */
static void shares_are_as_asked(void **state) {
  (void)state;
  static const double shares[] = {0.02, 0.3, 0.5, 0.9};
  for (int p = 0; p < pair_count; ++p)
    for (int s = 0; s < SHAPES; ++s)
      for (size_t k = 0; k < sizeof shares / sizeof *shares; ++k) {
        polyad_context *context = cpu_context(2);
        polyad_tensor *tensor = als_random_tensor(context, shapes[s].order, shapes[s].dims,
                                                  shapes[s].nnz, 5 + (uint64_t)s, 1);
        polyad_team_info member[2];
        double nnz = (double)tensor->nnz, wanted = nnz * shares[k];
        if (use(context, pairs[p])) {
          polyad_plan *plan =
              plan_of(context, tensor, 4, POLYAD_F64, shares[k], POLYAD_KERNEL_MTTKRP);
          if (wanted < 1 || nnz - wanted < 1) {
            assert_int_equal(pd_members_count(plan), 1);
          } else {
            assert_int_equal(pd_members_count(plan), 2);
            ALS_OK(context, polyad_plan_team_gather(context, plan, member));
            assert_true(member[0].nnz + member[1].nnz == tensor->nnz);
            assert_true(fabs((double)member[1].nnz - wanted) <=
                        fullest_slice(tensor, &member[0]) / 2 + 1);
          }
          polyad_plan_destroy(plan);
        }
        polyad_tensor_destroy(tensor);
        context_end(context);
      }
}

/* CP-ALS of values that have to be scaled. */
static void decompositions_agree(void **state) {
  (void)state;
  static const uint64_t dims[] = {12, 15, 10};
  for (int p = 0; p < pair_count; ++p) {
    polyad_context *context = cpu_context(2);
    polyad_tensor *tensor = als_random_tensor(context, 3, dims, 900, 3, 0);
    double *values = tensor->values;
    for (uint64_t k = 0; k < polyad_tensor_nnz(tensor); ++k)
      values[k] = ldexp(values[k], 600);
    polyad_cp_als_options options;
    polyad_cp_als_options_init(&options);
    options.rank = 4;
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
    context_end(context);
  }
}

/* Devices of two kinds are measured, and the slower one may be left out: the plan says which
 * device has it. Two of one kind get equal shares. */
static void share_is_measured(void **state) {
  (void)state;
  static const uint64_t dims[] = {200, 300, 250};
  for (int p = 0; p < pair_count; ++p) {
    polyad_context *context = cpu_context(2);
    polyad_tensor *tensor = als_random_tensor(context, 3, dims, 100000, 3, 1);
    if (use(context, pairs[p])) {
      polyad_plan *plan = plan_of(context, tensor, 8, POLYAD_F64, 0, POLYAD_KERNEL_MTTKRP);
      polyad_team_info member[2];
      assert_true(polyad_plan_nnz(plan) == tensor->nnz);
      if (strcmp(pairs[p], "cpu,cpu") == 0) {
        assert_int_equal(pd_members_count(plan), 2);
        ALS_OK(context, polyad_plan_team_gather(context, plan, member));
        assert_true(member[0].most_nnz <= tensor->nnz / 2 + tensor->nnz / 100);
      } else if (pd_members_count(plan) == 1) {
        assert_null(strchr(polyad_plan_device(plan), ','));
        assert_non_null(strstr(polyad_device(context), polyad_plan_device(plan)));
      } else {
        ALS_OK(context, polyad_plan_team_gather(context, plan, member));
        for (int k = 0; k < 2; ++k)
          assert_true((double)member[k].nnz >= 0.005 * (double)tensor->nnz);
      }
      polyad_plan_destroy(plan);
    }
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
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
  polyad_context *context = cpu_context(1);
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
  context_end(context);
}

/* A thread that times a device's work again and again. */
struct timing {
  polyad_context *context;
  const struct pd_device *device;
  pthread_t thread;
  int failed, impossible;
};

static void *time_often(void *user) {
  enum { TIMES = 200 };
  struct timing *timing = user;
  const struct pd_device *device = timing->device;
  for (int k = 0; k < TIMES; ++k) {
    double seconds = 0;
    polyad_status status = device->functions->timer_start(timing->context, device);
    if (status == POLYAD_OK)
      status = device->functions->timer_stop(timing->context, device, &seconds);
    timing->failed += status != POLYAD_OK;
    timing->impossible += !(fabs(seconds) < 1e6);
  }
  return NULL;
}

/* Members that share a device time its work at once: each starts the timer of all. */
static void several_members_time_one_device(void **state) {
  (void)state;
  for (int p = 0; p < pair_count; ++p) {
    struct timing timing[4] = {{.context = NULL}};
    enum { THREADS = sizeof timing / sizeof *timing };
    struct pd_device_list list = {.count = 0};
    for (int t = 0; t < THREADS; ++t) {
      timing[t].context = cpu_context(1);
      if (!use(timing[t].context, pairs[p])) continue;
      ALS_OK(timing[t].context, pd_device_list_of(timing[t].context, &list));
      timing[t].device = list.device[0];
    }
    bool timed = list.count > 0 && list.device[0]->functions->timer_start != NULL;
    for (int t = 0; t < THREADS && timed; ++t)
      assert_int_equal(pthread_create(&timing[t].thread, NULL, time_often, &timing[t]), 0);
    for (int t = 0; t < THREADS; ++t) {
      if (timed) assert_int_equal(pthread_join(timing[t].thread, NULL), 0);
      assert_int_equal(timing[t].failed, 0);
      assert_int_equal(timing[t].impossible, 0);
      context_end(timing[t].context);
    }
  }
}

static void wrong_devices_are_named(void **state) {
  (void)state;
  static const char *const wrong[] = {"cpu,",     ",cpu",    "cpu,gpu",  "cpu,cpu,",
                                      "cuda:2-1", "cuda:0-", "auto,cpu", ","};
  polyad_context *context = cpu_context(1);
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
  options.kernel = POLYAD_KERNEL_MTTKRP;
  assert_true(use(context, "cpu"));
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(polyad_last_error(context), "1 device is named; expected two"));
  polyad_tensor_destroy(tensor);
  context_end(context);
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
  polyad_tensor_input input = input_of_rows(3, dims, 60, POLYAD_I32, index, value);
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
  double given = 0.3, equal = 0;
  assert_true(sweep_failures(run_all, &given, 2) > 20);
  assert_true(sweep_failures(run_all, &equal, 2) > 20);
}

int main(int count, char **arguments) {
  if (count > 1) {
    polyad_context *context = cpu_context(1);
    bool there = use(context, arguments[1]);
    polyad_context_destroy(context);
    if (!there) return 77;
    pairs = arguments + 1;
    pair_count = count - 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_are_as_asked),
      cmocka_unit_test(decompositions_agree),
      cmocka_unit_test(share_is_measured),
      cmocka_unit_test(a_share_that_does_not_fit_is_named),
      cmocka_unit_test(several_members_time_one_device),
      cmocka_unit_test(wrong_devices_are_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
