/* MTTKRP of the GPU's formats, all variants, against the oracle; determinism; remapping. */
#include "formats/flycoo/flycoo_layout.h"
#include "formats/format.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, true},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, true},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
    {"three modes", 3, {160, 50, 40}, 40000, SHAPE_UNIFORM, true},
    {"fibers", 3, {30, 40, 300}, 50000, SHAPE_FIBERS, false},
    {"heavy slices", 3, {300, 200, 100}, 60000, SHAPE_HEAVY, false},
    {"two rows", 3, {2, 900, 1100}, 90000, SHAPE_FIBERS, false},
    {"long and empty", 3, {70000, 30, 66000}, 2000, SHAPE_UNIFORM, false},
    {"four modes", 4, {25, 24, 110, 170}, 50000, SHAPE_FIBERS, true},
    {"a mode of one", 4, {20, 1, 30, 25}, 3000, SHAPE_UNIFORM, true},
    {"diagonal", 4, {97, 97, 97, 97}, 97, SHAPE_DIAGONAL, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 9000, SHAPE_HEAVY, false},
    {"six modes", 6, {6, 5, 7, 4, 8, 3}, 2000, SHAPE_UNIFORM, true},
    {"seven modes", 7, {3, 4, 3, 5, 3, 4, 3}, 1500, SHAPE_FIBERS, false},
    {"eight modes", 8, {30, 20, 4, 20, 3, 2, 3, 200}, 7000, SHAPE_UNIFORM, true},
    {"all of one", 5, {1, 1, 1, 1, 1}, 1, SHAPE_UNIFORM, true},
};
enum { CASES = sizeof cases / sizeof *cases };

static const size_t ranks[] = {1, 7, 16, 32, 33, 64, 128, 200};
enum { RANKS = sizeof ranks / sizeof *ranks };

static const struct {
  const char *format, *variant;
  bool paper;
} variants[] = {
    {"modecopy", "auto", false},
    {"modecopy", "paper", true},
    {"modecopy", "paper-scheme1", true},
    {"modecopy", "paper-scheme2", true},
    {"flycoo", "auto", false},
    {"flycoo", "cyclic", false},
    {"flycoo", "no-remap", false},
    {"flycoo", "paper", true},
    {"flycoo", "paper-cyclic", true},
    {"flycoo", "paper-no-remap", true},
    {"coo", "auto", false},
    {"coo", "paper", true},
    {"blco", "auto", true},
    {"blco", "stream", true},
    {"mmcsf", "auto", true},
    {"bcsf", "auto", true},
    {"hbcsf", "auto", true},
    {"hicoo", "auto", true},
    {"hicoo:block=2", "auto", true},
    {"hicoo:block=256", "auto", true},
    {"fcoo", "auto", false},
    {"fwc", "auto", true},
    {"twotree", "auto", false},
    {"alto", "auto", false},
    {"alto", "keys-pull", false},
    {"alto", "keys-atomic", true},
    {"alto", "coo-pull", false},
    {"alto", "coo-atomic", true},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Roundings on the way to one entry: merging repeats, the products, the sum. A default variant
 * adds at most a segment (512) in a group, the groups of a block and the blocks of the row one
 * after another; the paper's add in any order. */
static long double bound_of(const struct problem *problem, polyad_type type, bool paper,
                            size_t terms) {
  long double unit = type == POLYAD_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
  long double order = problem->from->order, repeats = problem->from->repeats ? 1 : 0;
  long double tree = 512 + 64 + (long double)terms / 512 + 8;
  long double sums = paper || terms < tree ? (long double)terms : tree;
  return oracle_gamma(order + repeats + sums + 2, unit);
}

/* What a mode's result should be. */
struct expected {
  long double *exact, *magnitude;
  size_t *terms;
};

static struct expected expect(const struct problem *problem, int mode) {
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  struct expected expected = {malloc((count + 1) * sizeof(long double)),
                              malloc((count + 1) * sizeof(long double)),
                              malloc((rows + 1) * sizeof(size_t))};
  assert_true(expected.exact != NULL && expected.magnitude != NULL && expected.terms != NULL);
  struct oracle_tensor tensor = problem_tensor(problem);
  oracle_mttkrp(&tensor, mode, problem->rank, (const double *const *)problem->factor,
                expected.exact, expected.magnitude, expected.terms);
  return expected;
}

static void expected_free(struct expected *expected) {
  free(expected->exact);
  free(expected->magnitude);
  free(expected->terms);
}

static void compare_mode(polyad_context *context, const polyad_plan *plan,
                         polyad_workspace *workspace, const struct problem *problem, int mode,
                         int variant, const struct expected *expected) {
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  double *out = malloc((count + 1) * sizeof *out);
  assert_non_null(out);
  problem_mttkrp(context, plan, workspace, problem, mode, out);
  for (size_t k = 0; k < count; ++k) {
    long double bound =
        expected->magnitude[k] * bound_of(problem, polyad_plan_type(plan), variants[variant].paper,
                                          expected->terms[k / problem->rank]);
    if (!(fabsl((long double)out[k] - expected->exact[k]) <= bound))
      fail_msg("%s/%s %s, case %s, mode %d of %d, rank %zu, row %zu column %zu: %.17g, expected "
               "%.17Lg within %.3Lg",
               variants[variant].format, variants[variant].variant,
               polyad_plan_type(plan) == POLYAD_F32 ? "f32" : "f64", problem->from->name, mode,
               problem->from->order, problem->rank, k / problem->rank, k % problem->rank, out[k],
               expected->exact[k], bound);
  }
  free(out);
}

static polyad_plan_options options_of(int variant, size_t rank, polyad_type precision) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = variants[variant].format;
  options.variant = variants[variant].variant;
  options.rank = rank;
  options.precision = precision;
  return options;
}

/* Twice through the modes in turn, then out of turn. */
static void compare_all(polyad_context *context, const struct problem *problem, int variant,
                        polyad_type precision) {
  polyad_plan_options options = options_of(variant, problem->rank, precision);
  polyad_plan *plan = gpu_plan(context, problem, &options);
  polyad_workspace *workspace = NULL;
  int order = problem->from->order;
  if (polyad_workspace_create(context, plan, problem->rank, &workspace) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  struct expected expected[POLYAD_MAX_ORDER];
  for (int mode = 0; mode < order; ++mode)
    expected[mode] = expect(problem, mode);
  for (int turn = 0; turn < 2 * order; ++turn)
    compare_mode(context, plan, workspace, problem, turn % order, variant, &expected[turn % order]);
  for (int mode = order; mode-- > 0;) {
    compare_mode(context, plan, workspace, problem, mode, variant, &expected[mode]);
    expected_free(&expected[mode]);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
}

/* Formats named on the command line; NULL: all. */
static const char *wanted;

static const struct polyad_format *gpu_format(int variant) {
  char name[32];
  (void)sscanf(variants[variant].format, "%31[^:]", name);
  return pd_format_find(name);
}

static bool supported(int variant, const struct mttkrp_case *from) {
  const struct polyad_format *format = gpu_format(variant);
  if (wanted != NULL && strstr(wanted, format->name) == NULL) return false;
  return from->order >= format->min_order && from->order <= format->max_order;
}

/* Each case with some ranks and both precisions, so that the combinations spread over the cases. */
static void test_cases(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; ++v)
    for (int c = 0; c < CASES; ++c)
      for (int k = 0; k < 2 && supported(v, &cases[c]); ++k) {
        polyad_context *context = gpu_context();
        struct problem problem;
        problem_make(&cases[c], ranks[(c + v + 3 * k) % RANKS], (uint64_t)(c + 100 * k), &problem);
        compare_all(context, &problem, v, k ? POLYAD_F32 : POLYAD_F64);
        problem_free(&problem);
        polyad_context_destroy(context);
      }
}

/* Every rank in both precisions on a tensor of three, four and five modes. */
static void test_ranks(void **state) {
  (void)state;
  static const int chosen[] = {5, 9, 12};
  for (int v = 0; v < VARIANTS; ++v)
    for (int k = 0; k < 2 * RANKS && supported(v, &cases[chosen[k % 3]]); ++k) {
      polyad_context *context = gpu_context();
      struct problem problem;
      problem_make(&cases[chosen[k % 3]], ranks[k / 2], (uint64_t)k, &problem);
      compare_all(context, &problem, v, k % 2 ? POLYAD_F32 : POLYAD_F64);
      problem_free(&problem);
      polyad_context_destroy(context);
    }
}

/* More columns than a thread block has threads. */
static void test_many_columns(void **state) {
  (void)state;
  static const int chosen[] = {10, 14};
  for (int v = 0; v < VARIANTS; ++v)
    for (int k = 0; k < 2; ++k) {
      if (!supported(v, &cases[chosen[k]])) continue;
      polyad_context *context = gpu_context();
      struct problem problem;
      problem_make(&cases[chosen[k]], k ? 1025 : 1100, (uint64_t)k, &problem);
      compare_all(context, &problem, v, k ? POLYAD_F32 : POLYAD_F64);
      problem_free(&problem);
      polyad_context_destroy(context);
    }
}

/* A handful of small cases, for every third variant from `first`: what compute-sanitizer has the
 * time for. */
static void few_of(int first) {
  static const int chosen[] = {2, 3, 10, 11, 12, 14, 16};
  for (int v = first; v < VARIANTS; v += 3)
    for (int k = 0; k < 7; ++k) {
      if (!supported(v, &cases[chosen[k]])) continue;
      polyad_context *context = gpu_context();
      struct problem problem;
      problem_make(&cases[chosen[k]], k % 2 ? 33 : 32, (uint64_t)k, &problem);
      compare_all(context, &problem, v, k % 3 == 0 ? POLYAD_F64 : POLYAD_F32);
      problem_free(&problem);
      polyad_context_destroy(context);
    }
}

static void test_few_from_0(void **state) {
  (void)state;
  few_of(0);
}

static void test_few_from_1(void **state) {
  (void)state;
  few_of(1);
}

static void test_few_from_2(void **state) {
  (void)state;
  few_of(2);
}

/* Bits of all modes, concatenated; free() them. */
static double *all_modes(polyad_context *context, const struct problem *problem,
                         const polyad_plan_options *options, int rounds, size_t *count) {
  polyad_plan *plan = gpu_plan(context, problem, options);
  polyad_workspace *workspace = NULL;
  assert_int_equal(polyad_workspace_create(context, plan, problem->rank, &workspace), POLYAD_OK);
  *count = 0;
  for (int n = 0; n < problem->from->order; ++n)
    *count += (size_t)problem->from->dims[n] * problem->rank;
  double *bits = malloc(*count * sizeof *bits), *again = malloc(*count * sizeof *again);
  assert_true(bits != NULL && again != NULL);
  for (int round = 0; round < rounds; ++round) {
    size_t at = 0;
    for (int n = 0; n < problem->from->order; ++n) {
      problem_mttkrp(context, plan, workspace, problem, n, (round == 0 ? bits : again) + at);
      at += (size_t)problem->from->dims[n] * problem->rank;
    }
    if (round > 0) assert_memory_equal(bits, again, *count * sizeof *bits);
  }
  free(again);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return bits;
}

/* Default variants give the same bits 20 times; so does a plan built again. */
static void test_same_bits(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; ++v) {
    if (variants[v].paper || !supported(v, &cases[4])) continue;
    for (int c = 4; c < 10; ++c) {
      polyad_context *context = gpu_context();
      struct problem problem;
      size_t count;
      problem_make(&cases[c], 32, 7, &problem);
      polyad_plan_options options = options_of(v, 32, c % 2 ? POLYAD_F32 : POLYAD_F64);
      double *first = all_modes(context, &problem, &options, 20, &count);
      double *again = all_modes(context, &problem, &options, 1, &count);
      assert_memory_equal(first, again, count * sizeof *first);
      free(first);
      free(again);
      problem_free(&problem);
      polyad_context_destroy(context);
    }
  }
}

/* Remapped elements are those of the ordered copies: the same bits, round after round. */
static void test_remapping_keeps_the_order(void **state) {
  (void)state;
  for (int c = 4; c < CASES; ++c) {
    polyad_context *context = gpu_context();
    struct problem problem;
    size_t count;
    problem_make(&cases[c], 16, 11, &problem);
    polyad_plan_options options = options_of(4, 16, POLYAD_F64);
    double *remapped = all_modes(context, &problem, &options, 3, &count);
    options.variant = "no-remap";
    double *ordered = all_modes(context, &problem, &options, 1, &count);
    assert_memory_equal(remapped, ordered, count * sizeof *ordered);
    free(remapped);
    free(ordered);
    problem_free(&problem);
    polyad_context_destroy(context);
  }
}

/* Elements that are remapped between two copies and the plan's give the bits of ordered copies.
 * Without room for the copies there is an error. */
static void test_two_copies(void **state) {
  (void)state;
  for (int c = 4; c < 7; ++c) {
    polyad_context *context = gpu_context();
    struct problem problem;
    size_t count, at = 0;
    problem_make(&cases[c], 16, 13, &problem);
    polyad_plan_options options = options_of(6, 16, POLYAD_F64); /* no-remap */
    double *ordered = all_modes(context, &problem, &options, 1, &count);
    double *out = malloc(count * sizeof *out);
    assert_non_null(out);
    options.variant = "auto";
    polyad_plan *plan = gpu_plan(context, &problem, &options);
    polyad_workspace *workspace = NULL;
    uint64_t copy = pd_flycoo_copy_bytes(plan->storage), used = polyad_memory_in_use(context);
    assert_int_equal(polyad_set_memory_limit(context, used + copy / 4), POLYAD_OK);
    assert_int_equal(polyad_workspace_create(context, plan, 16, &workspace), POLYAD_MEMORY_LIMIT);
    assert_int_equal(polyad_set_memory_limit(context, used + 6 * copy), POLYAD_OK);
    if (polyad_workspace_create(context, plan, 16, &workspace) != POLYAD_OK)
      fail_msg("%s", polyad_last_error(context));
    for (int turn = 0; turn < 3 * cases[c].order; ++turn) {
      int mode = turn % cases[c].order;
      if (mode == 0) at = 0;
      problem_mttkrp(context, plan, workspace, &problem, mode, out + at);
      at += (size_t)cases[c].dims[mode] * 16;
      if (at == count) assert_memory_equal(out, ordered, count * sizeof *out);
    }
    polyad_workspace_destroy(workspace);
    polyad_plan_destroy(plan);
    free(out);
    free(ordered);
    problem_free(&problem);
    polyad_context_destroy(context);
  }
}

/* A mode of length two with millions of nonzeros, all positive: float sums one by one would be
 * far off (2e-2), sums of segments stay within rounding of few hundred terms. */
static void test_two_long_rows(void **state) {
  (void)state;
  static const struct mttkrp_case from = {"two long rows", 3,    {2, 3000, 2000}, 3000000,
                                          SHAPE_UNIFORM,   false};
  for (int v = 0; v < VARIANTS; ++v) {
    if (strncmp(variants[v].variant, "auto", 4) != 0 || !supported(v, &from)) continue;
    polyad_context *context = gpu_context();
    struct problem problem;
    problem_make(&from, 32, 5, &problem);
    for (size_t p = 0; p < problem.entries; ++p)
      problem.value[p] = fabs(problem.value[p]);
    polyad_plan_options options = options_of(v, 32, POLYAD_F32);
    polyad_plan *plan = gpu_plan(context, &problem, &options);
    polyad_workspace *workspace = NULL;
    assert_int_equal(polyad_workspace_create(context, plan, 32, &workspace), POLYAD_OK);
    struct expected expected = expect(&problem, 0);
    compare_mode(context, plan, workspace, &problem, 0, v, &expected);
    expected_free(&expected);
    polyad_workspace_destroy(workspace);
    polyad_plan_destroy(plan);
    problem_free(&problem);
    polyad_context_destroy(context);
  }
}

int main(int count, char **arguments) {
  int missing = gpu_missing();
  if (missing != 0) return missing;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),      cmocka_unit_test(test_ranks),
      cmocka_unit_test(test_same_bits),  cmocka_unit_test(test_remapping_keeps_the_order),
      cmocka_unit_test(test_two_copies), cmocka_unit_test(test_two_long_rows),
      cmocka_unit_test(test_few_from_0), cmocka_unit_test(test_few_from_1),
      cmocka_unit_test(test_few_from_2), cmocka_unit_test(test_many_columns),
  };
  if (count > 1) cmocka_set_test_filter(arguments[1]);
  if (count > 2) wanted = arguments[2];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
