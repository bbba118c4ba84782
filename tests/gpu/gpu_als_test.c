/* CP-ALS in every format on the GPU against the CPU, and where normal equations are hard. */
#include "gpu/gpu_context.h"
#include "harness.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { ROWS = 20 };

/* What is left of a run on a file. */
struct outcome {
  double fit;
  polyad_reason reason;
  int rows, summed; /* of the trace; those whose fit is from a residual */
  double residual[ROWS];
};

/* CP-ALS in float32 on a file of tests/data; of `rows` iterations, or with the defaults for 0. */
static struct outcome als_of_file(const char *file, const char *device, const char *format,
                                  int rank, int rows) {
  polyad_context *context = NULL;
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  polyad_plan_options options;
  polyad_cp_als_options als_options;
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", POLYAD_TEST_DATA, file);
  polyad_plan_options_init(&options);
  polyad_cp_als_options_init(&als_options);
  options.format = format;
  options.precision = POLYAD_F32;
  options.rank = als_options.rank = (uint64_t)rank;
  if (rows > 0) {
    als_options.run.tolerance = 0;
    als_options.run.max_iterations = rows;
  }
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  assert_int_equal(polyad_tensor_read(context, path, NULL, &tensor), POLYAD_OK);
  if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK ||
      polyad_cp_als(context, plan, &als_options, &model, &info) != POLYAD_OK)
    fail_msg("%s: %s", format, polyad_last_error(context));
  struct outcome found = {.fit = info.fit, .reason = info.reason};
  for (; found.rows < info.trace_rows && found.rows < ROWS; ++found.rows) {
    found.residual[found.rows] = info.trace[found.rows].residual;
    found.summed += info.trace[found.rows].fit_from == POLYAD_FIT_RESIDUAL;
  }
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
  return found;
}

/* An exact model of rank 3 asked for in rank 10, in float32: normal equations that float32 cannot
 * tell apart. The check around every decomposition judges the reported fit. */
static void test_ill_posed(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "flycoo",   "coo",   "alto",   "blco",
                                        "bcsf",     "hbcsf",    "mmcsf", "hicoo",  "fcoo",
                                        "fwc",      "portable", "hls",   "twotree"};
  static const char *const files[] = {"plant.tns.gz", "plant-noise-1e-5.tns.gz"};
  for (size_t f = 0; f < 2 * sizeof formats / sizeof *formats; ++f)
    for (int rank = 10; rank <= 16; rank += 6) {
      struct outcome found = als_of_file(files[f % 2], "cuda", formats[f / 2], rank, 0);
      if (!(found.fit > 0.999))
        fail_msg("%s, %s, rank %d: fit %.6f (%s)", formats[f / 2], files[f % 2], rank, found.fit,
                 polyad_reason_string(found.reason));
    }
}

/* Near an exact model every residual is summed, in iterations that are recorded and replayed too.
 * Two runs sum the same bits. */
static void test_summed_residuals(void **state) {
  (void)state;
  for (int rank = 2; rank <= 8; rank += 3) {
    struct outcome cpu = als_of_file("plant-noise-1e-5.tns.gz", "cpu", "coo", rank, ROWS);
    struct outcome gpu = als_of_file("plant-noise-1e-5.tns.gz", "cuda", "modecopy", rank, ROWS);
    struct outcome again = als_of_file("plant-noise-1e-5.tns.gz", "cuda", "modecopy", rank, ROWS);
    assert_int_equal(gpu.rows, again.rows);
    for (int i = 0; i < gpu.rows && i < cpu.rows; ++i) {
      assert_true(gpu.residual[i] == again.residual[i]);
      if (!(fabs(cpu.residual[i] - gpu.residual[i]) <= 1e-6))
        fail_msg("rank %d, iteration %d: %.17g on the CPU, %.17g on the GPU", rank, i + 1,
                 cpu.residual[i], gpu.residual[i]);
    }
    if (rank > 2) assert_true(gpu.summed > 5);
  }
}

/* A tensor and how often CP-ALS goes over it. */
struct als_run {
  struct mttkrp_case tensor;
  int iterations;
};

static const struct als_run whole = {{"als", 4, {60, 24, 110, 70}, 20000, SHAPE_FIBERS, false}, 20};
static const struct als_run short_run = {{"few", 3, {20, 9, 30}, 500, SHAPE_FIBERS, false}, 3};

/* Factors that a run keeps nonnegative. */
enum signs { FREE, NONNEGATIVE, NONNEGATIVE_SECOND, NONNEGATIVE_ENDS };

/* Returns its context: what the run left, models of its starts among it, is destroyed before. */
static polyad_context *als(const struct als_run *of, const char *device, const char *format,
                           const char *variant, size_t rank, enum signs signs,
                           polyad_run_info *info) {
  polyad_context *context = NULL;
  polyad_plan_options options;
  polyad_cp_als_options als_options;
  polyad_ktensor *model = NULL;
  struct problem problem;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  problem_make(&of->tensor, 1, 3, &problem);
  for (size_t p = 0; p < problem.entries; ++p)
    problem.value[p] = fabs(problem.value[p]);
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.rank = rank;
  polyad_plan *plan = gpu_plan(context, &problem, &options);
  polyad_cp_als_options_init(&als_options);
  als_options.rank = rank;
  als_options.run.max_iterations = of->iterations;
  als_options.run.tolerance = 0;
  als_options.nonnegative = signs == NONNEGATIVE;
  if (signs == NONNEGATIVE_SECOND) als_options.nonnegative_modes = 1u << 1;
  if (signs == NONNEGATIVE_ENDS) als_options.nonnegative_modes = 1u | 1u << (of->tensor.order - 1);
  if (polyad_cp_als(context, plan, &als_options, &model, info) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  problem_free(&problem);
  return context;
}

/* The residual's error is of second order in that of the factors: 1e-11 is far from both. */
static void compare_runs(const struct als_run *of, const char *format, const char *variant,
                         size_t rank, enum signs signs) {
  polyad_run_info cpu = {0}, gpu = {0};
  polyad_context *there[] = {als(of, "cpu", "coo", "auto", rank, signs, &cpu),
                             als(of, "cuda", format, variant, rank, signs, &gpu)};
  assert_int_equal(cpu.trace_rows, gpu.trace_rows);
  for (int i = 0; i < cpu.trace_rows; ++i)
    if (!(fabs(cpu.trace[i].residual - gpu.trace[i].residual) <= 1e-11))
      fail_msg("%s:%s, rank %zu, iteration %d: %.17g on the CPU, %.17g on the GPU", format, variant,
               rank, i + 1, cpu.trace[i].residual, gpu.trace[i].residual);
  polyad_run_info_clear(&cpu);
  polyad_run_info_clear(&gpu);
  polyad_context_destroy(there[0]);
  polyad_context_destroy(there[1]);
}

static void test_cp_als(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "flycoo"};
  static const size_t ranks[] = {5, 16, 32};
  for (int f = 0; f < 2; ++f)
    for (int k = 0; k < 3; ++k)
      for (int signs = FREE; signs <= NONNEGATIVE_ENDS; ++signs)
        compare_runs(&whole, formats[f], "auto", ranks[k], (enum signs)signs);
}

/* Modes of whose indices most have no nonzeros: rows that no MTTKRP writes, which held the numbers
 * of a factor before. A block of rows has none, some, or only such ones. */
static const struct als_run gaps = {{"gaps", 3, {5000, 9, 1037}, 900, SHAPE_FIBERS, false}, 7};

static void test_rows_without_nonzeros(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "flycoo", "twotree", "portable"};
  static const size_t ranks[] = {3, 16, 27, 32, 40};
  for (int f = 0; f < 4; ++f)
    for (int k = 0; k < 5; ++k)
      for (int signs = FREE; signs <= NONNEGATIVE_SECOND; ++signs)
        compare_runs(&gaps, formats[f], "auto", ranks[k], (enum signs)signs);
}

/* Tensors whose iterations are recorded, and so large that they are not. */
static const struct mttkrp_case small = {"small", 3, {60, 50, 40}, 20000, SHAPE_FIBERS, false};
static const struct mttkrp_case large = {"large", 3, {600, 500, 400}, 4700000, SHAPE_FIBERS, false};

/* A run whose model is wanted. */
struct kept_run {
  polyad_context *context;
  polyad_plan *plan;
  polyad_cp_als_options options;
};

static void kept_run_make(struct kept_run *run, const char *format,
                          const struct mttkrp_case *tensor, size_t rank, enum signs signs,
                          int iterations) {
  struct problem problem;
  polyad_plan_options options;
  assert_int_equal(polyad_context_create(&run->context), POLYAD_OK);
  assert_int_equal(polyad_set_device(run->context, "cuda"), POLYAD_OK);
  problem_make(tensor, 1, 3, &problem);
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = rank;
  run->plan = gpu_plan(run->context, &problem, &options);
  problem_free(&problem);
  polyad_cp_als_options_init(&run->options);
  run->options.rank = rank;
  run->options.nonnegative = signs == NONNEGATIVE;
  run->options.run.tolerance = 0;
  run->options.run.max_iterations = iterations;
}

static polyad_ktensor *kept_run_model(struct kept_run *run, polyad_run_info *info) {
  polyad_ktensor *model = NULL;
  if (polyad_cp_als(run->context, run->plan, &run->options, &model, info) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(run->context));
  return model;
}

static void kept_run_free(struct kept_run *run) {
  polyad_plan_destroy(run->plan);
  polyad_context_destroy(run->context);
}

static int ends_there(void *user, const polyad_progress *progress) {
  const int *iterations = user;
  return progress->iteration == *iterations;
}

static void first_product_ahead(const char *format, const struct mttkrp_case *tensor, size_t rank,
                                enum signs signs, int iterations) {
  struct kept_run run;
  polyad_run_info info = {0}, longer = {0};
  char path[64]; /* several of these tests may run side by side */
  snprintf(path, sizeof path, "gpu-als-ahead-%d.state", (int)getpid());
  kept_run_make(&run, format, tensor, rank, signs, iterations);
  polyad_ktensor *model = kept_run_model(&run, &info);
  run.options.run.checkpoint = path;
  run.options.run.checkpoint_every = 1;
  gpu_same_models(kept_run_model(&run, NULL), model);
  (void)remove(path);
  run.options.run.checkpoint = NULL;
  model = kept_run_model(&run, NULL);
  run.options.run.max_iterations = 2 * iterations;
  polyad_set_progress(run.context, ends_there, &iterations);
  gpu_same_models(kept_run_model(&run, NULL), model);
  polyad_set_progress(run.context, NULL, NULL);
  polyad_ktensor_destroy(kept_run_model(&run, &longer));
  for (int i = 0; i < iterations; ++i)
    assert_true(info.trace[i].fit == longer.trace[i].fit);
  polyad_run_info_clear(&info);
  polyad_run_info_clear(&longer);
  kept_run_free(&run);
}

/* The first MTTKRP of an iteration is made before the end of the run is known: a run that ends
 * where it cannot know so leaves the same bits as one that does. So does one whose factors are
 * touched between all iterations. */
static void test_first_product_ahead(void **state) {
  (void)state;
  for (int k = 0; k < 2; ++k) {
    const struct mttkrp_case *tensor = k == 0 ? &small : &large;
    first_product_ahead("modecopy", tensor, 32, FREE, 9);
    first_product_ahead("modecopy", tensor, 40, FREE, 9);
    first_product_ahead("modecopy", tensor, 32, NONNEGATIVE, 9);
  }
}

/* Partial sums that one iteration leaves to the next, also where that is a replay. A run that
 * writes a checkpoint after each iteration makes them anew. */
static void test_partial_sums_ahead(void **state) {
  (void)state;
  static const enum signs signs[] = {FREE, NONNEGATIVE};
  for (int k = 0; k < 2; ++k) {
    first_product_ahead("twotree", &small, 16, signs[k], 9);
    first_product_ahead("twotree", &whole.tensor, 16, signs[k], 9);
  }
}

static void test_few_ahead(void **state) {
  (void)state;
  first_product_ahead("modecopy", &small, 5, FREE, 4);
  first_product_ahead("modecopy", &small, 5, NONNEGATIVE, 4);
  first_product_ahead("modecopy", &small, 40, FREE, 4);
}

/* Starts that follow each other in one run are what each is alone, though the first iteration of
 * one comes after a product that was made for the start before. */
static void starts_in_turn(const struct mttkrp_case *tensor) {
  struct kept_run run;
  polyad_run_info both = {0}, second = {0};
  kept_run_make(&run, "modecopy", tensor, 40, FREE, 9); /* too wide for starts side by side */
  run.options.run.starts = 2;
  run.options.run.tolerance = 1e-2;
  polyad_ktensor_destroy(kept_run_model(&run, &both));
  run.options.run.starts = 1;
  run.options.run.first_start = 1;
  polyad_ktensor_destroy(kept_run_model(&run, &second));
  assert_int_equal(both.start_count, 2);
  assert_true(both.starts[1].objective == second.starts[0].objective);
  assert_int_equal(both.starts[1].iterations, second.starts[0].iterations);
  polyad_run_info_clear(&both);
  polyad_run_info_clear(&second);
  kept_run_free(&run);
}

static void test_starts_in_turn(void **state) {
  (void)state;
  starts_in_turn(&small);
  starts_in_turn(&large);
}

/* What compute-sanitizer has the time for. */
static void test_few(void **state) {
  (void)state;
  compare_runs(&short_run, "modecopy", "auto", 5, NONNEGATIVE);
  compare_runs(&short_run, "modecopy", "auto", 5, NONNEGATIVE_ENDS);
  compare_runs(&short_run, "flycoo", "auto", 16, FREE);
  compare_runs(&gaps, "modecopy", "auto", 11, FREE);
}

/* Every format's kernels are recorded and replayed: what a replay must not do, such as waiting,
 * shows as an error, and what it leaves out as another residual. */
static void test_every_format(void **state) {
  (void)state;
  int count = 0;
  for (int k = 0; k < pd_format_count(); ++k) {
    const struct polyad_format *format = pd_format_at(k);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cuda");
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_MTTKRP) == NULL) continue;
    compare_runs(&whole, format->name, "auto", 16, FREE);
    compare_runs(&whole, format->name, "auto", 16, NONNEGATIVE);
    ++count;
  }
  assert_true(count > 8);
  compare_runs(&whole, "blco", "stream", 16, FREE);
  compare_runs(&whole, "modecopy", "paper", 16, FREE);
  compare_runs(&whole, "flycoo", "no-remap", 16, FREE);
}

GPU_TESTS(cmocka_unit_test(test_ill_posed), cmocka_unit_test(test_summed_residuals),
          cmocka_unit_test(test_few), cmocka_unit_test(test_cp_als),
          cmocka_unit_test(test_rows_without_nonzeros), cmocka_unit_test(test_first_product_ahead),
          cmocka_unit_test(test_partial_sums_ahead), cmocka_unit_test(test_few_ahead),
          cmocka_unit_test(test_starts_in_turn), cmocka_unit_test(test_every_format))
