/* Decompositions with more components than rows of a factor lie in shared memory (1,024 columns),
 * on a device (the program's argument, default the GPU) against other kernels on the CPU. */
#include "gpu/gpu_context.h"
#include "harness.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* 50 * 40 rows of a Khatri-Rao product and more carry 1,500 components: the normal equations have
 * full rank. Rows of the first mode come in more than one piece of 2,048. */
static const struct mttkrp_case from = {"many components", 3,    {2100, 50, 40}, 30000,
                                        SHAPE_UNIFORM,     false};
static const uint64_t ranks[] = {1025, 1500};
enum { RANKS = sizeof ranks / sizeof *ranks, ITERATIONS = 3 };

enum method { ALS, NONNEGATIVE, APR, METHODS };
static const char *const names[] = {"CP-ALS", "nonnegative CP-ALS", "CP-APR"};

static const char *device = "cuda";

static polyad_context *context_on(const char *name) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  if (polyad_set_device(context, name) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  return context;
}

static polyad_plan *plan_of(polyad_context *context, const char *format, uint64_t rank) {
  struct problem problem;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = rank;
  problem_make(&from, 1, 3, &problem);
  for (size_t p = 0; p < problem.entries; ++p)
    problem.value[p] = ceil(8 * fabs(problem.value[p]) + 0.5);
  polyad_plan *plan = gpu_plan(context, &problem, &options);
  problem_free(&problem);
  return plan;
}

static polyad_status run(polyad_context *context, const polyad_plan *plan, enum method method,
                         uint64_t rank, polyad_ktensor **model, polyad_run_info *info) {
  polyad_cp_als_options als;
  polyad_cp_apr_options apr;
  polyad_cp_als_options_init(&als);
  polyad_cp_apr_options_init(&apr);
  als.rank = apr.rank = rank;
  als.run.max_iterations = apr.run.max_iterations = ITERATIONS;
  als.run.tolerance = apr.run.tolerance = 0;
  als.nonnegative = method == NONNEGATIVE;
  return method == APR ? polyad_cp_apr(context, plan, &apr, model, info)
                       : polyad_cp_als(context, plan, &als, model, info);
}

static uint64_t peak_of(polyad_context *context, const char *where) {
  uint64_t peak = 0;
  if (strcmp(where, "cuda") == 0)
    assert_int_equal(polyad_device_memory(context, "cuda:0", NULL, &peak), POLYAD_OK);
  return peak;
}

/* One run, and what it minimised or maximised after each iteration; on the GPU its memory is at
 * most what was said before. */
static void decompose(const char *where, const char *format, enum method method, uint64_t rank,
                      double found[ITERATIONS]) {
  polyad_context *context = context_on(where);
  uint64_t before = peak_of(context, where);
  polyad_plan *plan = plan_of(context, format, rank);
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  if (run(context, plan, method, rank, &model, &info) != POLYAD_OK)
    fail_msg("%s, rank %llu: %s", names[method], (unsigned long long)rank,
             polyad_last_error(context));
  assert_true(polyad_ktensor_rank(model) == rank);
  if (strcmp(where, "cuda") == 0) {
    uint64_t peak = peak_of(context, where), said = polyad_plan_device_bytes(plan, "cuda:0");
    /* What is said is of CP-ALS without constraints; HALS keeps MTTKRP's result beside the factor.
     */
    if (method == NONNEGATIVE) said += from.dims[0] * rank * sizeof(double);
    /* A device's peak is that of all runs before, too. The inverse, its room and the parts of a
     * Gram matrix alone are four matrices of R x R. */
    if (method != APR &&
        ((peak > before && peak > said) || said < 4 * rank * rank * sizeof(double)))
      fail_msg("%s, rank %llu: %llu bytes taken, %llu said", names[method],
               (unsigned long long)rank, (unsigned long long)peak, (unsigned long long)said);
  }
  assert_int_equal(info.trace_rows, ITERATIONS);
  for (int i = 0; i < ITERATIONS; ++i)
    found[i] = method == APR ? info.trace[i].log_likelihood : info.trace[i].residual;
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
}

/* A residual is apart by the roundings of sums over R, those of the factors being of second order,
 * since an update is at the minimum. A log-likelihood is a sum, of magnitude no more than itself
 * and the counts (at most 9 each), whose terms have order + R roundings, in every sweep anew. */
static void compare(enum method method, uint64_t rank) {
  double cpu[ITERATIONS], other[ITERATIONS], unit = (double)rank * DBL_EPSILON;
  decompose("cpu", "coo", method, rank, cpu);
  decompose(device, "modecopy", method, rank, other);
  for (int i = 0; i < ITERATIONS; ++i) {
    double bound =
        method == APR ? 8 * (i + 1) * unit * (fabs(cpu[i]) + 9 * (double)from.nnz) : 32 * unit;
    if (!(fabs(cpu[i] - other[i]) <= bound))
      fail_msg("%s, rank %llu, iteration %d: %.17g on the CPU, %.17g on %s, bound %.3g",
               names[method], (unsigned long long)rank, i + 1, cpu[i], other[i], device, bound);
  }
}

static void test_cp_als(void **state) {
  (void)state;
  for (int k = 0; k < RANKS; ++k)
    compare(ALS, ranks[k]);
}

static void test_nonnegative(void **state) {
  (void)state;
  for (int k = 0; k < RANKS; ++k)
    compare(NONNEGATIVE, ranks[k]);
}

static void test_cp_apr(void **state) {
  (void)state;
  for (int k = 0; k < RANKS; ++k)
    compare(APR, ranks[k]);
}

int main(int count, char **arguments) {
  if (count > 1) device = arguments[1];
  int missing = strcmp(device, "cpu") == 0 ? 0 : gpu_missing();
  if (missing != 0) return missing;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cp_als),
                                     cmocka_unit_test(test_nonnegative),
                                     cmocka_unit_test(test_cp_apr)};
  if (count > 2) cmocka_set_test_filter(arguments[2]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
