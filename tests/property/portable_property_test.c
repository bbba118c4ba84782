/* The kernels that are written once, in every edition, on the CPU with each of its instruction
 * sets, on OpenCL and on GPUs, against the oracles: MTTKRP, Phi on the fly and from stored rows of
 * Pi, and the log-likelihood. */
#include "core/isa.h"
#include "device/device_registry.h"
#include "harness.h"
#include "oracle/phi_oracle.h"
#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <float.h>
#include <math.h>
#include <polyad/bench.h>
#include <polyad/gcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"three modes", 3, {60, 50, 40}, 1200, SHAPE_UNIFORM, false},
    {"long and empty", 3, {700, 30, 660}, 500, SHAPE_UNIFORM, false},
    {"two rows", 3, {2, 90, 110}, 1500, SHAPE_FIBERS, false},
    {"four modes", 4, {25, 24, 110, 170}, 1500, SHAPE_FIBERS, false},
    {"heavy slices", 4, {30, 40, 20, 50}, 1500, SHAPE_HEAVY, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 1000, SHAPE_HEAVY, false},
    {"six modes", 6, {6, 5, 7, 4, 8, 3}, 800, SHAPE_UNIFORM, false},
    {"eight modes", 8, {3, 2, 4, 2, 3, 2, 3, 2}, 700, SHAPE_UNIFORM, false},
    {"seven modes", 7, {3, 4, 3, 5, 3, 4, 3}, 900, SHAPE_FIBERS, false},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, false},
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, false},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static const size_t ranks[] = {1, 16, 17, 129, 8, 33};
static const char *const variants[] = {"auto", "atomic", "stored"};
enum { RANKS = sizeof ranks / sizeof *ranks, VARIANTS = 3 };
static const double EPSILON = 1e-10;

/* Phi is for counts: nothing is negative, and a coordinate comes once. */
static void make_counts(const struct mttkrp_case *from, size_t rank, uint64_t seed,
                        struct problem *problem) {
  problem_make(from, rank, seed, problem);
  size_t order = (size_t)from->order, kept = 0;
  for (size_t p = 0; p < problem->entries; ++p) {
    bool repeated = false;
    for (size_t q = 0; q < kept && !repeated; ++q)
      repeated = memcmp(problem->index + q * order, problem->index + p * order,
                        order * sizeof *problem->index) == 0;
    if (repeated) continue;
    memmove(problem->index + kept * order, problem->index + p * order,
            order * sizeof *problem->index);
    problem->value[kept++] = floor(8 * fabs(problem->value[p])) + 1;
  }
  problem->entries = kept;
  for (int n = 0; n < from->order; ++n)
    for (size_t k = 0; k < (size_t)from->dims[n] * rank; ++k)
      problem->factor[n][k] = fabs(problem->factor[n][k]);
}

static polyad_context *make_context(const char *device, int threads) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  if (polyad_set_device(context, device) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  return context;
}

static polyad_plan *make_plan(polyad_context *context, const struct problem *problem,
                              polyad_type type, const char *variant) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = "portable";
  options.variant = variant;
  options.rank = problem->rank;
  options.precision = type;
  polyad_tensor *tensor = problem_polyad(context, problem, type);
  polyad_plan *plan = NULL;
  if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  polyad_tensor_destroy(tensor);
  if (pd_plan_check(context, plan) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  return plan;
}

/* The factors as the plan has them, in the order that polyad_measurement wants. */
static void *typed(const double *from, size_t count, polyad_type type) {
  void *copy = malloc(count * sizeof(double) + 1);
  assert_non_null(copy);
  for (size_t k = 0; k < count; ++k)
    if (type == POLYAD_F32)
      ((float *)copy)[k] = (float)from[k];
    else
      ((double *)copy)[k] = from[k];
  return copy;
}

/* Roundings on the way to one entry: products, the dot product, the quotient, and the sum; float
 * sums hold at most 512 terms before they are rounded into another, and then a few parts. */
static long double bound_of(const struct problem *problem, polyad_type type, size_t terms) {
  long double steps = 2 * problem->from->order + (long double)problem->rank + 4;
  if (type == POLYAD_F64) return oracle_gamma(steps + (long double)terms + 2, DBL_EPSILON / 2);
  return oracle_gamma(steps + (terms < 512 ? (long double)terms : 512) + 16, FLT_EPSILON / 2);
}

static void compare_phi(polyad_measurement *measurement, const struct problem *problem,
                        polyad_type type, bool stores, int mode, const char *what) {
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  long double *exact = malloc((count + 1) * sizeof *exact);
  size_t *terms = malloc((rows + 1) * sizeof *terms);
  double *out = malloc((count + 1) * sizeof *out), seconds;
  assert_true(exact != NULL && terms != NULL && out != NULL);
  struct oracle_tensor tensor = problem_tensor(problem);
  oracle_phi(&tensor, mode, problem->rank, (const double *const *)problem->factor, EPSILON, exact,
             terms);
  if (stores)
    assert_int_equal(polyad_measurement_run(measurement, POLYAD_KERNEL_PI, mode, EPSILON, &seconds),
                     0);
  assert_int_equal(polyad_measurement_run(measurement, POLYAD_KERNEL_PHI, mode, EPSILON, &seconds),
                   0);
  assert_true(seconds >= 0);
  assert_int_equal(polyad_measurement_result(measurement, mode, out), 0);
  for (size_t k = 0; k < count; ++k) {
    double found = type == POLYAD_F32 ? (double)((float *)(void *)out)[k] : out[k];
    long double bound = exact[k] * bound_of(problem, type, terms[k / problem->rank]);
    if (!(fabsl((long double)found - exact[k]) <= bound))
      fail_msg("%s, case %s, mode %d, rank %zu, row %zu column %zu: %.17g, expected %.17Lg", what,
               problem->from->name, mode, problem->rank, k / problem->rank, k % problem->rank,
               found, exact[k]);
  }
  free(exact);
  free(terms);
  free(out);
}

/* The sum of the model over all cells: products of sums of columns. */
static long double mass_of(const struct problem *problem) {
  long double mass = 0;
  for (size_t r = 0; r < problem->rank; ++r) {
    long double product = 1;
    for (int n = 0; n < problem->from->order; ++n) {
      long double sum = 0;
      for (size_t i = 0; i < (size_t)problem->from->dims[n]; ++i)
        sum += problem->factor[n][i * problem->rank + r];
      product *= sum;
    }
    mass += product;
  }
  return mass;
}

/* What Poisson's loss sums over the nonzeros, -x log m, and of how large terms; a model that is
 * relatively wrong by e moves its term by x e. */
static long double terms_of(const struct problem *problem, long double *size, long double *counts) {
  const int order = problem->from->order;
  long double sum = 0;
  *size = *counts = 0;
  for (size_t p = 0; p < problem->entries; ++p) {
    long double model = 0, x = problem->value[p];
    for (size_t r = 0; r < problem->rank; ++r) {
      long double product = 1;
      for (int n = 0; n < order; ++n)
        product *=
            problem->factor[n][problem->index[p * (size_t)order + (size_t)n] * problem->rank + r];
      model += product;
    }
    sum -= x * logl(model);
    *size += fabsl(x * logl(model));
    *counts += x;
  }
  return sum;
}

static void compare_likelihood(polyad_context *context, const polyad_plan *plan,
                               const struct problem *problem, polyad_type type,
                               void *const *factors, const char *what) {
  polyad_workspace *workspace = NULL;
  double found = NAN;
  long double size, counts, mass = mass_of(problem), rows = 0;
  long double exact = mass + terms_of(problem, &size, &counts);
  assert_int_equal(polyad_workspace_create(context, plan, problem->rank, &workspace), POLYAD_OK);
  if (polyad_gcp_objective(context, plan, workspace, POLYAD_LOSS_POISSON,
                           (const void *const *)factors, &found, NULL) != POLYAD_OK)
    fail_msg("%s: %s", what, polyad_last_error(context));
  polyad_workspace_destroy(workspace);
  for (int n = 0; n < problem->from->order; ++n)
    rows += (long double)problem->from->dims[n];
  long double unit = type == POLYAD_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2,
              steps = 2 * problem->from->order + (long double)problem->rank + 4;
  long double bound = oracle_gamma(steps, unit) * counts +
                      oracle_gamma((long double)problem->entries + 16, DBL_EPSILON / 2) * size +
                      oracle_gamma(steps + rows, DBL_EPSILON / 2) * (mass + size);
  if (!(fabsl((long double)found - exact) <= bound))
    fail_msg("%s, case %s, rank %zu, loss: %.17g, expected %.17Lg within %.3Lg", what,
             problem->from->name, problem->rank, found, exact, bound);
}

static void check_phi(polyad_context *context, const struct mttkrp_case *from, size_t rank,
                      polyad_type type, const char *variant, const char *what) {
  struct problem problem;
  make_counts(from, rank, rank + from->nnz, &problem);
  polyad_plan *plan = make_plan(context, &problem, type, variant);
  polyad_measurement *measurement = NULL;
  void *factors[POLYAD_MAX_ORDER] = {NULL};
  for (int n = 0; n < from->order; ++n)
    factors[n] = typed(problem.factor[n], (size_t)from->dims[n] * rank, type);
  if (polyad_measurement_create(context, plan, rank, (const void *const *)factors, &measurement) !=
      POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  for (int mode = 0; mode < from->order; ++mode)
    compare_phi(measurement, &problem, type, strcmp(variant, "stored") == 0, mode, what);
  polyad_measurement_destroy(measurement);
  compare_likelihood(context, plan, &problem, type, factors, what);
  for (int n = 0; n < from->order; ++n)
    free(factors[n]);
  polyad_plan_destroy(plan);
  problem_free(&problem);
}

static void check_mttkrp(polyad_context *context, const struct mttkrp_case *from, size_t rank,
                         polyad_type type, const char *variant, const char *what) {
  struct problem problem;
  problem_make(from, rank, rank + 7 * from->nnz, &problem);
  polyad_plan *plan = make_plan(context, &problem, type, variant);
  problem_compare(context, plan, &problem, what);
  polyad_plan_destroy(plan);
  problem_free(&problem);
}

static void check_case(const char *device, int turn, const struct mttkrp_case *from, size_t rank,
                       polyad_type type, const char *variant) {
  static const int threads[] = {1, 2, 3, 2};
  char what[96];
  polyad_context *context = make_context(device, threads[turn % 4]);
  snprintf(what, sizeof what, "%s %s %s on %s, %d threads", "portable", variant,
           type == POLYAD_F32 ? "f32" : "f64", device, threads[turn % 4]);
  check_mttkrp(context, from, rank, type, variant, what);
  check_phi(context, from, rank, type, variant, what);
  polyad_context_destroy(context);
}

/* The device that the command line names, and which of how many parts of the cases. */
static const char *chosen = "opencl";
static int chosen_part = 1, chosen_parts = 1;

/* Every rank and variant in both types; cases in turn. */
static void check_device(const char *device) {
  for (int c = chosen_part - 1; c < CASES; c += chosen_parts)
    for (int r = 0; r < 4; ++r) {
      int turn = c + r;
      check_case(device, turn, &cases[c], ranks[(c * 5 + r) % RANKS],
                 turn % 2 ? POLYAD_F32 : POLYAD_F64, variants[(turn / 2 + c) % VARIANTS]);
    }
}

static void test_every_instruction_set(void **state) {
  (void)state;
  for (int k = 0; k < PD_ISA_COUNT; ++k) {
    if (!pd_isa_available((enum pd_isa)k)) continue;
    pd_isa_force((enum pd_isa)k);
    for (int c = 0; c < CASES; ++c)
      for (int r = 0; r < RANKS; ++r)
        check_case("cpu", c + r + k, &cases[c], ranks[r], (c + r + k) % 2 ? POLYAD_F32 : POLYAD_F64,
                   variants[(c + r / 2 + k) % VARIANTS]);
  }
  pd_isa_force(PD_ISA_COUNT);
}

static void test_device(void **state) {
  (void)state;
  check_device(chosen);
}

/* 77, which ctest takes for skipped, when there is no such device. */
static int missing(const char *kind) {
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  const char *why = polyad_device_why_not(context, kind);
  if (why[0] != '\0') fprintf(stderr, "skipped: %s\n", why);
  int code = why[0] != '\0' ? 77 : 0;
  polyad_context_destroy(context);
  return code;
}

/* The pull-based edition gives the same bits every time. */
static void test_same_bits(void **state) {
  (void)state;
  struct problem problem;
  polyad_context *context = make_context("cpu", 3);
  make_counts(&cases[4], 17, 1, &problem);
  polyad_plan *plan = make_plan(context, &problem, POLYAD_F32, "auto");
  polyad_workspace *workspace = NULL;
  assert_int_equal(polyad_workspace_create(context, plan, problem.rank, &workspace), 0);
  double first[50 * 17], again[50 * 17];
  for (int mode = 0; mode < 4; ++mode)
    for (int run = 0; run < 4; ++run) {
      problem_mttkrp(context, plan, workspace, &problem, mode, run == 0 ? first : again);
      size_t bytes = (size_t)cases[4].dims[mode] * 17 * sizeof *first;
      if (run > 0) assert_memory_equal(first, again, bytes);
    }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  problem_free(&problem);
  polyad_context_destroy(context);
}

static void test_wrong_arguments(void **state) {
  (void)state;
  struct problem problem;
  polyad_context *context = make_context("cpu", 1);
  polyad_measurement *measurement = NULL;
  double seconds, out[60 * 2];
  make_counts(&cases[0], 2, 1, &problem);
  polyad_plan *plan = make_plan(context, &problem, POLYAD_F64, "auto");
  const void *factors[3] = {problem.factor[0], problem.factor[1], problem.factor[2]};
  const void *missing[3] = {problem.factor[0], NULL, problem.factor[2]};
  assert_int_equal(polyad_measurement_create(NULL, plan, 2, factors, &measurement),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_measurement_create(context, plan, 2, missing, &measurement),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_measurement_create(context, plan, 0, factors, &measurement),
                   POLYAD_INVALID_ARGUMENT);
  assert_null(measurement);
  assert_int_equal(polyad_measurement_create(context, plan, 2, factors, &measurement), POLYAD_OK);
  assert_int_equal(polyad_measurement_result(measurement, 0, out), POLYAD_MISMATCH);
  assert_int_equal(polyad_measurement_run(measurement, POLYAD_KERNEL_MTTKRP, 3, 0, &seconds),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_measurement_run(measurement, POLYAD_KERNEL_PHI, 0, -1, &seconds),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_measurement_run(measurement, POLYAD_KERNEL_MTTKRP, 0, 0, &seconds), 0);
  assert_int_equal(polyad_measurement_result(measurement, 1, out), POLYAD_MISMATCH);
  assert_int_equal(polyad_measurement_result(measurement, 0, out), POLYAD_OK);
  polyad_measurement_destroy(measurement);
  polyad_measurement_destroy(NULL);
  polyad_plan_destroy(plan);
  problem_free(&problem);
  polyad_context_destroy(context);
}

/* Without an argument the CPU; with one, that device; with another, K/N, part K of N of its cases.
 */
int main(int argc, char **argv) {
  const struct CMUnitTest of_cpu[] = {
      cmocka_unit_test(test_every_instruction_set),
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_wrong_arguments),
  };
  const struct CMUnitTest of_device[] = {cmocka_unit_test(test_device)};
  if (argc < 2) return cmocka_run_group_tests(of_cpu, NULL, NULL);
  chosen = argv[1];
  if (argc > 2 && sscanf(argv[2], "%d/%d", &chosen_part, &chosen_parts) != 2) return 1;
  int code = missing(chosen);
  return code != 0 ? code : cmocka_run_group_tests(of_device, NULL, NULL);
}
