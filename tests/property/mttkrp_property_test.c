/* MTTKRP of every format, variant and instruction set against the oracle, and properties that
 * need none. */
#include "contexts.h"
#include "core/isa.h"
#include "drawn.h"
#include "harness.h"
#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, true},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, true},
    {"three modes", 3, {60, 50, 40}, 4000, SHAPE_UNIFORM, true},
    {"fibers", 3, {30, 40, 300}, 5000, SHAPE_FIBERS, false},
    {"heavy slices", 3, {300, 200, 100}, 6000, SHAPE_HEAVY, false},
    {"long and empty", 3, {70000, 30, 66000}, 2000, SHAPE_UNIFORM, false},
    {"a mode of one", 4, {20, 1, 30, 25}, 3000, SHAPE_UNIFORM, true},
    {"two rows", 3, {2, 90, 110}, 4000, SHAPE_FIBERS, false},
    {"all of one", 5, {1, 1, 1, 1, 1}, 1, SHAPE_UNIFORM, true},
    {"four modes", 4, {25, 24, 110, 170}, 5000, SHAPE_FIBERS, true},
    {"diagonal", 4, {97, 97, 97, 97}, 97, SHAPE_DIAGONAL, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 3000, SHAPE_HEAVY, false},
    {"six modes", 6, {6, 5, 7, 4, 8, 3}, 2000, SHAPE_UNIFORM, true},
    {"seven modes", 7, {3, 4, 3, 5, 3, 4, 3}, 1500, SHAPE_FIBERS, false},
    {"eight modes", 8, {3, 2, 4, 2, 3, 2, 3, 2}, 700, SHAPE_UNIFORM, true},
};
enum { CASES = sizeof cases / sizeof *cases };

static const size_t ranks[] = {1, 2, 3, 7, 8, 15, 16, 17, 32, 33, 64, 129};
enum { RANKS = sizeof ranks / sizeof *ranks };

static polyad_plan *make_plan(polyad_context *context, const struct problem *problem,
                              const polyad_plan_options *options) {
  polyad_tensor *tensor = problem_polyad(context, problem, options->precision);
  polyad_plan *plan = NULL;
  polyad_status status = polyad_plan_create(context, tensor, options, &plan);
  polyad_tensor_destroy(tensor);
  if (problem_is_too_long(context, problem, status)) return NULL;
  if (pd_plan_check(context, plan) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  return plan;
}

/* Format dense refuses large tensors that are almost empty, as all large ones here are. */
static bool supported(const char *name, const struct mttkrp_case *from) {
  char plain[32];
  (void)sscanf(name, "%31[^:]", plain);
  const struct polyad_format *format = pd_format_find(plain);
  double cells = 1;
  for (int n = 0; n < from->order; ++n)
    cells *= (double)from->dims[n];
  if (strcmp(name, "dense") == 0 && cells > 0x1p20) return false;
  return from->order >= format->min_order && from->order <= format->max_order;
}

/* Whether every combination is tested; without it some for each case and rank. */
static bool all_combinations;

/* What the visited formats are to compute now. */
static struct turn {
  struct problem problem;
  polyad_type precision;
  int threads;
  bool index64;
} turn;

static void against_oracle(const char *format, const char *variant) {
  if (!supported(format, turn.problem.from)) return;
  if (turn.problem.length > 0 && strcmp(format, "dense") == 0) return;
  polyad_context *context = cpu_context(turn.threads);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.rank = turn.problem.rank;
  options.precision = turn.precision;
  options.force_index64 = turn.index64;
  polyad_plan *plan = make_plan(context, &turn.problem, &options);
  if (planted) turn.problem.value[0] *= 1 + 0x1p-40;
  char what[128];
  snprintf(what, sizeof what, "%s/%s %s on %s, %d threads", format, variant,
           turn.precision == POLYAD_F32 ? "f32" : "f64", pd_isa_name(pd_isa_current()),
           turn.threads);
  if (plan != NULL && problem_compare(context, plan, &turn.problem, what)) {
    ++compared;
    if (turn.problem.length > longest_mode) longest_mode = turn.problem.length;
    long_modes += turn.problem.length > 0;
  }
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
}

/* Every case with one rank, precision, number of threads and width of indices of its own, so that
 * the combinations are spread over the cases. */
static void test_every_case(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 7};
  for (int c = 0; c < CASES; ++c)
    for (int k = 0; k < 4; ++k) {
      if (!all_combinations && k != c % 4 && k != (c + 1) % 4) continue;
      int number = c + 5 * k;
      turn = (struct turn){.precision = k % 2 ? POLYAD_F32 : POLYAD_F64,
                           .threads = threads[(c + k) % 4],
                           .index64 = k == 3};
      problem_make(&cases[c], ranks[number % RANKS], (uint64_t)number, &turn.problem);
      assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, against_oracle) > 0);
      problem_free(&turn.problem);
    }
}

/* Every rank in both precisions on one tensor, for one instruction set after the other. */
static void test_every_instruction_set(void **state) {
  (void)state;
  for (int k = 0; k < 2 * RANKS; ++k) {
    if (!all_combinations && (k / 2 + k) % 2 != 0) continue;
    turn = (struct turn){.precision = k % 2 ? POLYAD_F32 : POLYAD_F64, .threads = 2};
    problem_make(&cases[11], ranks[k / 2], (uint64_t)k, &turn.problem);
    for (int isa = 0; isa < PD_ISA_COUNT; ++isa) {
      if (!pd_isa_available((enum pd_isa)isa)) continue;
      pd_isa_force((enum pd_isa)isa);
      assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, against_oracle) > 0);
    }
    problem_free(&turn.problem);
  }
  pd_isa_force(PD_ISA_COUNT);
}

/* Blocks of one bit of every index up to those of a whole byte, and superblocks of many of them. */
static void test_hicoo_blocks(void **state) {
  (void)state;
  static const char *const formats[] = {"hicoo:block=2", "hicoo:block=4", "hicoo:block=32",
                                        "hicoo:block=256"};
  for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f)
    for (int c = (int)f % 2; c < CASES; c += 2) {
      turn = (struct turn){.precision = (f / 2 + (size_t)c / 2) % 2 ? POLYAD_F32 : POLYAD_F64,
                           .threads = 1 + c % 3};
      problem_make(&cases[c], 1 + (size_t)c, (uint64_t)c, &turn.problem);
      against_oracle(formats[f], "auto");
      problem_free(&turn.problem);
    }
}

/* Atomic additions come in any order, which the adaptive variant has in some modes. */
static bool in_any_order(const char *variant) {
  return strstr(variant, "atomic") != NULL || strstr(variant, "adaptive") != NULL;
}

/* The same plan run again, and a plan built again, give the same bits. */
static void same_bits(const char *format, const char *variant) {
  bool paper = strcmp(format, "coo") == 0 && strcmp(variant, "paper") == 0;
  if (paper || in_any_order(variant)) return;
  for (int c = 5; c < 12; ++c) {
    if (!supported(format, &cases[c])) continue;
    polyad_context *context = cpu_context(3);
    polyad_plan_options options;
    polyad_plan_options_init(&options);
    options.format = format;
    options.variant = variant;
    options.precision = c % 2 ? POLYAD_F32 : POLYAD_F64;
    struct problem problem;
    problem_make(&cases[c], options.rank, 77, &problem);
    for (int mode = 0; mode < problem.from->order; ++mode) {
      size_t count = (size_t)problem.from->dims[mode] * problem.rank;
      double *first = malloc(count * sizeof *first), *again = malloc(count * sizeof *again);
      for (int run = 0; run < 3; ++run) {
        polyad_plan *plan = make_plan(context, &problem, &options);
        polyad_workspace *workspace = NULL;
        assert_int_equal(polyad_workspace_create(context, plan, problem.rank, &workspace), 0);
        problem_mttkrp(context, plan, workspace, &problem, mode, run == 0 ? first : again);
        if (run > 0) assert_memory_equal(first, again, count * sizeof *first);
        problem_mttkrp(context, plan, workspace, &problem, mode, again);
        assert_memory_equal(first, again, count * sizeof *first);
        polyad_workspace_destroy(workspace);
        polyad_plan_destroy(plan);
      }
      free(first);
      free(again);
    }
    problem_free(&problem);
    polyad_context_destroy(context);
  }
}

static void test_every_run_again(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, same_bits) > 0);
}

static void run_mode(polyad_context *context, const struct problem *problem,
                     const polyad_plan_options *options, int mode, double *out) {
  polyad_plan *plan = make_plan(context, problem, options);
  polyad_workspace *workspace = NULL;
  assert_int_equal(polyad_workspace_create(context, plan, problem->rank, &workspace), POLYAD_OK);
  problem_mttkrp(context, plan, workspace, problem, mode, out);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
}

/* Doubling the values or one factor doubles the result, in all bits; another mode order gives the
 * same sums within rounding is left to the oracle. */
static void linear(const char *format, const char *variant) {
  bool paper = strcmp(format, "coo") == 0 && strcmp(variant, "paper") == 0;
  if (paper || in_any_order(variant)) return;
  const struct mttkrp_case *from = &cases[5];
  if (!supported(format, from)) return;
  polyad_context *context = cpu_context(2);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  struct problem problem;
  problem_make(from, 9, 5, &problem);
  for (int mode = 0; mode < from->order; ++mode) {
    size_t count = (size_t)from->dims[mode] * problem.rank;
    double *once = malloc(count * sizeof *once), *twice = malloc(count * sizeof *twice);
    run_mode(context, &problem, &options, mode, once);
    for (size_t p = 0; p < problem.entries; ++p)
      problem.value[p] *= 2;
    int other = (mode + 1) % from->order;
    size_t length = (size_t)from->dims[other] * problem.rank;
    for (size_t k = 0; k < length; ++k)
      problem.factor[other][k] *= -4;
    run_mode(context, &problem, &options, mode, twice);
    for (size_t k = 0; k < count; ++k)
      assert_true(twice[k] == -8 * once[k]);
    for (size_t p = 0; p < problem.entries; ++p)
      problem.value[p] /= 2;
    for (size_t k = 0; k < length; ++k)
      problem.factor[other][k] /= -4;
    free(once);
    free(twice);
  }
  problem_free(&problem);
  polyad_context_destroy(context);
}

static void test_linear(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, linear) > 0);
}

/* One nonzero gives one row: the product of its value and the other factors' rows. */
static void one_row(const char *format, const char *variant) {
  struct mttkrp_case from = {"one nonzero", 4, {9, 8, 7, 6}, 1, SHAPE_UNIFORM, false};
  polyad_context *context = cpu_context(2);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  struct problem problem;
  problem_make(&from, 5, 3, &problem);
  for (int mode = 0; mode < 4; ++mode) {
    double out[9 * 5];
    run_mode(context, &problem, &options, mode, out);
    for (size_t i = 0; i < from.dims[mode]; ++i)
      for (size_t r = 0; r < 5; ++r)
        if (i == problem.index[mode])
          assert_true(out[i * 5 + r] != 0);
        else
          assert_true(out[i * 5 + r] == 0);
  }
  problem_free(&problem);
  polyad_context_destroy(context);
}

static void test_one_row(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, one_row) > 0);
}

/* Modes in another order: the same sums; checked against the oracle of the permuted problem. */
static void permuted(const char *format, const char *variant) {
  struct mttkrp_case from = cases[11], turned = from;
  if (!supported(format, &from)) return;
  polyad_context *context = cpu_context(2);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  struct problem problem;
  problem_make(&from, 6, 8, &problem);
  struct problem other = problem;
  other.from = &turned;
  other.index = malloc(problem.entries * 4 * sizeof *other.index);
  for (int n = 0; n < 4; ++n) {
    turned.dims[(n + 1) % 4] = from.dims[n];
    other.factor[(n + 1) % 4] = problem.factor[n];
    for (size_t p = 0; p < problem.entries; ++p)
      other.index[p * 4 + (size_t)(n + 1) % 4] = problem.index[p * 4 + (size_t)n];
  }
  polyad_plan *plan = make_plan(context, &other, &options);
  problem_compare(context, plan, &other, "permuted modes");
  polyad_plan_destroy(plan);
  free(other.index);
  problem_forget_answers(&other);
  problem_free(&problem);
  polyad_context_destroy(context);
}

static void test_permuted(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, permuted) > 0);
}

/* Rows 0 of two factors multiplied overflow, but no nonzero has two indices 0; rows 1 hold no
 * number, but no nonzero has an index 1. */
static void ask_for_few_rows(struct problem *problem, double large) {
  size_t order = (size_t)problem->from->order;
  for (size_t p = 0; p < problem->entries; ++p) {
    uint64_t *index = problem->index + p * order;
    bool zero = false;
    for (size_t n = 0; n < order; ++n) {
      if (index[n] == 1 || (zero && index[n] == 0)) index[n] = 2;
      zero = zero || index[n] == 0;
    }
  }
  for (size_t n = 0; n < order; ++n)
    for (size_t r = 0; r < problem->rank; ++r) {
      problem->factor[n][r] *= large;
      problem->factor[n][problem->rank + r] = r % 2 == 0 ? NAN : INFINITY;
    }
}

/* Formats that make more products of rows than nonzeros ask for keep what those hold to themselves.
 */
static void unasked_rows(const char *format, const char *variant) {
  static const struct mttkrp_case from[] = {
      {"unasked, three modes", 3, {9, 8, 7}, 150, SHAPE_UNIFORM, true},
      {"unasked, five modes", 5, {6, 6, 6, 6, 5}, 900, SHAPE_UNIFORM, true}};
  for (int c = 0; c < 4; ++c) {
    turn = (struct turn){.precision = c % 2 ? POLYAD_F32 : POLYAD_F64, .threads = 2};
    problem_make(&from[c / 2], 5, (uint64_t)c, &turn.problem);
    ask_for_few_rows(&turn.problem, c % 2 ? 0x1p80 : 0x1p700);
    against_oracle(format, variant);
    problem_free(&turn.problem);
  }
}

static void test_unasked_rows(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_MTTKRP, unasked_rows) > 0);
}

/* Small tensors of all kinds, each in the next format and variant. */
static void test_drawn_cases(void **state) {
  (void)state;
  static const size_t drawn_ranks[] = {1, 3, 16, 33};
  static const int threads[] = {1, 2, 3, 7};
  for (uint64_t k = 0; compared < drawn_count; ++k) {
    struct mttkrp_case from;
    property_draw_case(k, &from);
    turn = (struct turn){.precision = k % 2 ? POLYAD_F32 : POLYAD_F64,
                         .threads = threads[k / 8 % 4],
                         .index64 = k % 7 == 0};
    problem_make(&from, drawn_ranks[k / 2 % 4], k, &turn.problem);
    problem_coarsen(&turn.problem);
    problem_lengthen(&turn.problem, k);
    property_one_variant("cpu", PD_OPS_MTTKRP, k, against_oracle);
    problem_free(&turn.problem);
  }
  drawn_finish("drawn_mttkrp");
}

/* usage: [all | drawn COUNT [planted]] */
int main(int count, char **arguments) {
  all_combinations = count > 1 && strcmp(arguments[1], "all") == 0;
  if (drawn_asked(count, arguments)) return run_drawn(test_drawn_cases);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_case),   cmocka_unit_test(test_every_instruction_set),
      cmocka_unit_test(test_hicoo_blocks), cmocka_unit_test(test_every_run_again),
      cmocka_unit_test(test_linear),       cmocka_unit_test(test_one_row),
      cmocka_unit_test(test_permuted),     cmocka_unit_test(test_unasked_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
