/* Completion on the GPU: its steps by their definitions over shapes, ranks and options; whole runs
 * against those of the CPU; the same bits every time, and after a checkpoint. */
#include "gpu/gpu_context.h"
#include "harness.h"
#include "property/completion_case.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, false},
    {"one cell", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"long rows", 3, {3, 150, 120}, 30000, SHAPE_UNIFORM, false},
    {"heavy slices", 3, {300, 200, 100}, 20000, SHAPE_HEAVY, false},
    {"long and empty", 3, {7000, 30, 6600}, 2000, SHAPE_UNIFORM, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 9000, SHAPE_HEAVY, false},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Both sizes of tiles, matrices in shared and in global memory, tiles of more than one turn. */
static const size_t ranks[] = {1, 2, 7, 16, 32, 58, 59, 64, 128, 200};
enum { RANKS = sizeof ranks / sizeof *ranks };

static void check_case(int number, const struct mttkrp_case *from, size_t rank) {
  polyad_context *context = gpu_context();
  completion_check(context, from, rank,
                   (struct completion_variant){number & 1, number & 2, number & 4, number & 8});
  polyad_context_destroy(context);
}

static void test_steps(void **state) {
  (void)state;
  int number = 0;
  for (int c = 0; c < CASES; ++c)
    for (int k = 0; k < RANKS; ++k, number += 5) {
      if (cases[c].nnz > 10000 && ranks[k] > 64 && c % 2 == 0) continue;
      check_case(number, &cases[c], ranks[k]);
    }
}

/* Small ones, for sanitizers. */
static void test_few(void **state) {
  static const struct mttkrp_case small[] = {
      {"matrix", 2, {9, 70}, 150, SHAPE_UNIFORM, false},
      {"pieces", 3, {2, 80, 60}, 6000, SHAPE_UNIFORM, false},
  };
  (void)state;
  for (int k = 0; k < 4; ++k)
    check_case(5 * k + 5, &small[k % 2], k < 2 ? 5 : 60);
}

/* ---- whole runs -------------------------------------------------------------------------------
 */

enum { MOST_ENTRIES = 60000 };

static polyad_tensor *some_tensor(polyad_context *context) {
  static const struct mttkrp_case from = {"run",        4,           {60, 24, 70, 50},
                                          MOST_ENTRIES, SHAPE_HEAVY, false};
  struct problem problem;
  problem_make(&from, 1, 5, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  problem_free(&problem);
  return tensor;
}

static polyad_plan *plan_on(polyad_context *context, const char *device, polyad_type type) {
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_plan_options_init(&options);
  options.precision = type;
  options.zeros = POLYAD_ZEROS_KEEP;
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  polyad_tensor *tensor = some_tensor(context);
  if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  polyad_tensor_destroy(tensor);
  return plan;
}

static polyad_cp_complete_options options_of(int number) {
  polyad_cp_complete_options options;
  polyad_cp_complete_options_init(&options);
  options.rank = number % 3 == 0 ? 3 : 17;
  options.method = number % 2 ? POLYAD_COMPLETE_CCD : POLYAD_COMPLETE_ALS;
  options.biases = number / 2 % 2;
  options.nonnegative = number / 4 % 4 == 1;
  options.nonnegative_modes = number / 4 % 4 == 3 ? 1u << 1 | 1u << 3 : 0;
  options.ridge = 1;
  options.validation_share = number % 5 ? 0.1 : 0;
  options.patience = 100;
  options.run.max_iterations = 3;
  options.run.tolerance = 0;
  return options;
}

/* What a run has come to: fits of its iterations, errors, and a row of its model. */
struct outcome {
  int iterations;
  double trace[4], fit, rmse, validation, row[32];
};

static struct outcome run_on(const char *device, polyad_type type,
                             const polyad_cp_complete_options *options) {
  polyad_context *context = gpu_context();
  polyad_plan *plan = plan_on(context, device, type);
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  if (polyad_cp_complete(context, plan, options, &model, &info) != POLYAD_OK)
    fail_msg("%s: %s", device, polyad_last_error(context));
  struct outcome found = {.iterations = info.iterations,
                          .fit = info.fit,
                          .rmse = info.rmse,
                          .validation = info.validation_rmse};
  assert_int_equal(info.iterations, options->run.max_iterations);
  for (int k = 0; k < info.iterations; ++k)
    found.trace[k] = info.trace[k].fit;
  for (uint64_t r = 0; r < polyad_ktensor_rank(model); ++r)
    found.row[r] = type == POLYAD_F64 ? ((const double *)polyad_ktensor_factor(model, 2))[r]
                                      : ((const float *)polyad_ktensor_factor(model, 2))[r];
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
  return found;
}

/* Three iterations from equal factors: rounding errors of sums over the observations are all that
 * differs. A model in single precision adds those of its entries. */
static void test_runs_equal_those_of_the_cpu(void **state) {
  (void)state;
  for (int number = 0; number < 16; ++number) {
    polyad_cp_complete_options options = options_of(number);
    polyad_type type = number % 4 == 3 ? POLYAD_F32 : POLYAD_F64;
    struct outcome cpu = run_on("cpu", type, &options), gpu = run_on("cuda", type, &options);
    double sums = MOST_ENTRIES * DBL_EPSILON;
    double bound = sums + (type == POLYAD_F32 ? 64 * FLT_EPSILON : 0);
    for (int k = 0; k < cpu.iterations; ++k)
      if (!(fabs(cpu.trace[k] - gpu.trace[k]) <= sums))
        fail_msg("run %d, iteration %d: fit %.17g on the CPU, %.17g on the GPU", number, k,
                 cpu.trace[k], gpu.trace[k]);
    if (!(fabs(cpu.fit - gpu.fit) <= bound) || !(fabs(cpu.rmse - gpu.rmse) <= bound * cpu.rmse))
      fail_msg("run %d: fit %.17g on the CPU, %.17g on the GPU", number, cpu.fit, gpu.fit);
    if (options.validation_share > 0)
      assert_true(fabs(cpu.validation - gpu.validation) <= bound * cpu.validation);
  }
}

static void test_same_bits(void **state) {
  (void)state;
  for (int number = 1; number < 5; ++number) {
    polyad_cp_complete_options options = options_of(number);
    struct outcome first = run_on("cuda", POLYAD_F64, &options);
    struct outcome again = run_on("cuda", POLYAD_F64, &options);
    assert_memory_equal(first.row, again.row, sizeof first.row);
    assert_memory_equal(first.trace, again.trace, sizeof first.trace);
  }
}

/* A run that goes on from its checkpoint has the bits of one that was left alone; on the other
 * device it goes on as well. */
static void test_resume(void **state) {
  (void)state;
  char path[64];
  snprintf(path, sizeof path, "/tmp/polyad-completion-%ld.ckpt", (long)getpid());
  for (int number = 1; number < 5; ++number) {
    polyad_cp_complete_options options = options_of(number);
    struct outcome whole = run_on("cuda", POLYAD_F64, &options);
    options.run.checkpoint = path;
    options.run.checkpoint_every = 2;
    options.run.max_iterations = 2;
    (void)run_on("cuda", POLYAD_F64, &options);
    options.run.checkpoint = NULL;
    options.run.max_iterations = 3;
    options.run.resume = path;
    struct outcome resumed = run_on("cuda", POLYAD_F64, &options);
    struct outcome other = run_on("cpu", POLYAD_F64, &options);
    assert_memory_equal(whole.row, resumed.row, sizeof whole.row);
    assert_true(fabs(other.fit - whole.fit) <= MOST_ENTRIES * DBL_EPSILON);
  }
  unlink(path);
}

static int stop_at_once(void *user, const polyad_progress *progress) {
  (void)user;
  return progress->iteration >= 1;
}

static void test_refused_and_cancelled(void **state) {
  (void)state;
  polyad_context *context = gpu_context();
  polyad_plan *plan = plan_on(context, "cuda", POLYAD_F64);
  polyad_cp_complete_options options = options_of(0);
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  options.method = POLYAD_COMPLETE_SGD;
  assert_int_equal(polyad_cp_complete(context, plan, &options, &model, &info), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "stochastic gradient descent"));
  options = options_of(0);
  options.rank = 1024;
  options.biases = 1;
  assert_int_equal(polyad_cp_complete(context, plan, &options, &model, &info), POLYAD_UNSUPPORTED);
  options = options_of(0);
  polyad_set_progress(context, stop_at_once, NULL);
  assert_int_equal(polyad_cp_complete(context, plan, &options, &model, &info), POLYAD_OK);
  assert_int_equal(info.reason, POLYAD_REASON_CANCELLED);
  assert_int_equal(info.iterations, 1);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
}

GPU_TESTS(cmocka_unit_test(test_few), cmocka_unit_test(test_steps),
          cmocka_unit_test(test_runs_equal_those_of_the_cpu), cmocka_unit_test(test_same_bits),
          cmocka_unit_test(test_resume), cmocka_unit_test(test_refused_and_cancelled))
