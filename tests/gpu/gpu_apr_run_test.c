/* Runs of CP-APR by multiplicative updates on the GPU, which records its iterations from the third
 * of a call on and ends the inner ones in loops of its own: against the CPU's in every format, and
 * bit by bit against calls that are too short to record anything. */
#include "gpu/gpu_context.h"
#include "harness.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a run is, beside its plan. */
struct apr_run {
  struct mttkrp_case tensor;
  size_t rank;
  int iterations, inner;
  double tolerance;
  int store_pi;
};

static const struct apr_run whole = {
    {"counts", 4, {30, 12, 55, 35}, 9000, SHAPE_FIBERS, false}, 16, 12, 10, 1e-4, 0};
static const struct apr_run gaps = {
    {"gaps", 3, {900, 7, 300}, 700, SHAPE_UNIFORM, false}, 5, 9, 4, 0.5, 0};
static const struct apr_run few = {
    {"few", 3, {20, 9, 30}, 500, SHAPE_FIBERS, false}, 5, 4, 3, 1e-2, 0};

struct kept {
  polyad_context *context;
  polyad_plan *plan;
  polyad_cp_apr_options options;
};

static void kept_make(struct kept *kept, const struct apr_run *run, const char *device,
                      const char *format, const char *variant) {
  struct problem problem;
  polyad_plan_options options;
  assert_int_equal(polyad_context_create(&kept->context), POLYAD_OK);
  assert_int_equal(polyad_set_device(kept->context, device), POLYAD_OK);
  problem_make(&run->tensor, 1, 3, &problem);
  for (size_t p = 0; p < problem.entries; ++p)
    problem.value[p] = ceil(8 * fabs(problem.value[p]) + 0.5);
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.rank = run->rank;
  if (run->store_pi) options.kernel = POLYAD_KERNEL_PHI;
  kept->plan = gpu_plan(kept->context, &problem, &options);
  problem_free(&problem);
  polyad_cp_apr_options_init(&kept->options);
  kept->options.rank = run->rank;
  kept->options.store_pi = run->store_pi;
  kept->options.max_inner_iterations = run->inner;
  kept->options.run.tolerance = run->tolerance;
  kept->options.run.max_iterations = run->iterations;
}

static void kept_free(struct kept *kept) {
  polyad_plan_destroy(kept->plan);
  polyad_context_destroy(kept->context);
}

static polyad_ktensor *kept_decompose(struct kept *kept, polyad_run_info *info) {
  polyad_ktensor *model = NULL;
  if (polyad_cp_apr(kept->context, kept->plan, &kept->options, &model, info) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(kept->context));
  return model;
}

/* In double precision, whose rounding grows over some hundred updates: the bounds lie orders of
 * magnitude above that and below what one update changes. Both count as many inner iterations. */
static void compare_with_cpu(const struct apr_run *run, const char *format, const char *variant) {
  struct kept cpu, gpu;
  polyad_run_info there = {0}, here = {0};
  kept_make(&cpu, run, "cpu", "coo", "auto");
  kept_make(&gpu, run, "cuda", format, variant);
  polyad_ktensor_destroy(kept_decompose(&cpu, &there));
  polyad_ktensor_destroy(kept_decompose(&gpu, &here));
  assert_int_equal(there.trace_rows, here.trace_rows);
  for (int i = 0; i < there.trace_rows; ++i) {
    const polyad_trace_row *a = &there.trace[i], *b = &here.trace[i];
    if (!(fabs(a->log_likelihood - b->log_likelihood) <= 1e-9 * fabs(a->log_likelihood)) ||
        !(fabs(a->kkt_violation - b->kkt_violation) <= 1e-6 * fabs(a->kkt_violation)) ||
        a->inner_iterations != b->inner_iterations)
      fail_msg("%s:%s, iteration %d: %.17g, %.9g, %llu on the CPU; %.17g, %.9g, %llu on the GPU",
               format, variant, i + 1, a->log_likelihood, a->kkt_violation,
               (unsigned long long)a->inner_iterations, b->log_likelihood, b->kkt_violation,
               (unsigned long long)b->inner_iterations);
  }
  polyad_run_info_clear(&there);
  polyad_run_info_clear(&here);
  kept_free(&cpu);
  kept_free(&gpu);
}

static void test_every_format(void **state) {
  (void)state;
  int count = 0;
  for (int k = 0; k < pd_format_count(); ++k) {
    const struct polyad_format *format = pd_format_at(k);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cuda");
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_GRADIENT) == NULL ||
        pd_walk_of(kernels, PD_OPS_GAIN) == NULL)
      continue;
    compare_with_cpu(&whole, format->name, "auto");
    compare_with_cpu(&gaps, format->name, "auto");
    ++count;
  }
  assert_true(count > 2);
}

static void test_stored_pi(void **state) {
  (void)state;
  struct apr_run run = whole;
  run.store_pi = 1;
  compare_with_cpu(&run, "portable", "auto");
}

/* Goes on from a checkpoint after every other iteration, so that no call comes to one that is
 * recorded. */
static polyad_ktensor *decompose_in_steps(struct kept *kept, int iterations) {
  char path[64]; /* several of these tests may run side by side */
  snprintf(path, sizeof path, "gpu-apr-run-%d.state", (int)getpid());
  polyad_ktensor *model = NULL;
  kept->options.run.checkpoint = path;
  kept->options.run.checkpoint_every = 1;
  for (int i = 2; i - 2 < iterations; i += 2) {
    polyad_ktensor_destroy(model);
    kept->options.run.max_iterations = i < iterations ? i : iterations;
    model = kept_decompose(kept, NULL);
    kept->options.run.resume = path;
  }
  kept->options.run.checkpoint = kept->options.run.resume = NULL;
  (void)remove(path);
  snprintf(path, sizeof path, "gpu-apr-run-%d.state.prev", (int)getpid());
  (void)remove(path);
  return model;
}

static void same_bits(const struct apr_run *run) {
  struct kept kept;
  kept_make(&kept, run, "cuda", "modecopy", "auto");
  polyad_ktensor *model = kept_decompose(&kept, NULL);
  gpu_same_models(model, decompose_in_steps(&kept, run->iterations));
  kept_free(&kept);
}

static void test_same_bits(void **state) {
  (void)state;
  same_bits(&whole);
  same_bits(&gaps);
}

/* Starts that follow each other replay one record. */
static void test_starts_in_turn(void **state) {
  (void)state;
  struct kept kept;
  polyad_run_info both = {0}, second = {0};
  kept_make(&kept, &whole, "cuda", "modecopy", "auto");
  kept.options.run.starts = 2;
  polyad_ktensor_destroy(kept_decompose(&kept, &both));
  kept.options.run.starts = 1;
  kept.options.run.first_start = 1;
  polyad_ktensor_destroy(kept_decompose(&kept, &second));
  assert_int_equal(both.start_count, 2);
  assert_true(both.starts[1].objective == second.starts[0].objective);
  polyad_run_info_clear(&both);
  polyad_run_info_clear(&second);
  kept_free(&kept);
}

/* What compute-sanitizer has the time for. */
static void test_few(void **state) {
  (void)state;
  compare_with_cpu(&few, "modecopy", "auto");
  same_bits(&few);
}

GPU_TESTS(cmocka_unit_test(test_few), cmocka_unit_test(test_every_format),
          cmocka_unit_test(test_stored_pi), cmocka_unit_test(test_same_bits),
          cmocka_unit_test(test_starts_in_turn))
