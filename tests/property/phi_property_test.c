/* Phi of every format that has it against the oracle: variants, instruction sets, ranks, numbers
 * of threads, both precisions, rows of Pi stored and made on the fly. */
#include "drawn.h"
#include "harness.h"

#include "core/isa.h"
#include "oracle/phi_oracle.h"
#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, true},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, true},
    {"three modes", 3, {60, 50, 40}, 2000, SHAPE_UNIFORM, true},
    {"heavy slices", 3, {300, 200, 100}, 1500, SHAPE_HEAVY, false},
    {"long and empty", 3, {5000, 30, 900}, 700, SHAPE_UNIFORM, false},
    {"a mode of one", 4, {20, 1, 30, 25}, 600, SHAPE_UNIFORM, true},
    {"four modes", 4, {25, 24, 110, 170}, 2000, SHAPE_FIBERS, true},
    {"diagonal", 4, {97, 97, 97, 97}, 97, SHAPE_DIAGONAL, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 1000, SHAPE_HEAVY, false},
    {"eight modes", 8, {3, 2, 4, 2, 3, 2, 3, 2}, 700, SHAPE_UNIFORM, true},
};
enum { CASES = sizeof cases / sizeof *cases };
static const size_t ranks[] = {1, 3, 8, 15, 16, 17, 32, 64, 65, 129};
enum { RANKS = sizeof ranks / sizeof *ranks };
static const double EPSILON = 1e-10;

struct setting {
  const char *format, *variant;
  size_t rank;
  polyad_type type;
  int threads;
  bool index64;
};

/* Counts and factors are not negative; every fifth row of each factor is zero, so that models of
 * zero occur. */
static void make_counts(const struct mttkrp_case *from, size_t rank, uint64_t seed,
                        struct problem *problem) {
  problem_make(from, rank, seed, problem);
  for (size_t p = 0; p < problem->entries; ++p)
    problem->value[p] = ceil(4 * fabs(problem->value[p]));
  for (int n = 0; n < from->order; ++n)
    for (size_t k = 0; k < (size_t)from->dims[n] * rank; ++k)
      problem->factor[n][k] = k / rank % 5 == 4 ? 0 : fabs(problem->factor[n][k]);
}

static bool same_place(const uint64_t *a, const uint64_t *b, size_t order) {
  size_t n = 0;
  while (n < order && a[n] == b[n])
    ++n;
  return n == order;
}

/* Lists each coordinate once, with the sum of its values. */
static void merge_repeats(struct problem *problem) {
  size_t order = (size_t)problem->from->order, kept = 0;
  for (size_t p = 0; p < problem->entries && problem->from->repeats; ++p) {
    size_t q = 0;
    const uint64_t *index = problem->index + p * order;
    while (q < kept && !same_place(problem->index + q * order, index, order))
      ++q;
    if (q < kept) {
      problem->value[q] += problem->value[p];
      continue;
    }
    memmove(problem->index + kept * order, index, order * sizeof *index);
    problem->value[kept++] = problem->value[p];
  }
  if (problem->from->repeats) problem->entries = kept;
}

/* Products, the sum of the model, a division, a product; sums of rows in double. */
static long double bound_of(const struct problem *problem, polyad_type type, size_t terms) {
  long double steps = 2 * problem->from->order + (long double)problem->rank + 6;
  long double wide = oracle_gamma(steps + (long double)terms + 2, DBL_EPSILON / 2);
  long double run =
      terms < 256 ? (long double)terms : 256; /* in float before they go into double */
  return type == POLYAD_F64 ? wide : wide + oracle_gamma(steps + run + 2, FLT_EPSILON / 2);
}

/* What a mode's Phi must be. */
struct expected {
  long double *exact;
  size_t *terms;
};

static struct expected expect(const struct problem *problem, int mode) {
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  struct expected expected = {malloc((count + 1) * sizeof *expected.exact),
                              malloc((rows + 1) * sizeof *expected.terms)};
  assert_true(expected.exact != NULL && expected.terms != NULL);
  struct oracle_tensor tensor = problem_tensor(problem);
  oracle_phi(&tensor, mode, problem->rank, (const double *const *)problem->factor, EPSILON,
             expected.exact, expected.terms);
  return expected;
}

static void compare(const struct problem *problem, const struct setting *setting, int mode,
                    const struct expected *expected, const void *out, const char *what) {
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  double *numbers = malloc((count + 1) * sizeof *numbers);
  assert_non_null(numbers);
  problem_matrix_read(problem, mode, problem->rank, setting->type, out, numbers);
  for (size_t k = 0; k < count; ++k) {
    double found = numbers[k];
    long double exact = expected->exact[k];
    long double bound =
        exact * bound_of(problem, setting->type, expected->terms[k / problem->rank]);
    if (!(fabsl((long double)found - exact) <= bound))
      fail_msg("%s/%s %s %s, %d threads, case %s, mode %d, rank %zu, row %zu column %zu: %.17g, "
               "expected %.17Lg within %.3Lg",
               setting->format, setting->variant, setting->type == POLYAD_F32 ? "f32" : "f64", what,
               setting->threads, problem->from->name, mode, problem->rank, k / problem->rank,
               k % problem->rank, found, exact, bound);
  }
  free(numbers);
}

static void run_mode(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                     const struct problem *problem, const struct setting *setting, int mode) {
  struct pd_matrix matrix[POLYAD_MAX_ORDER], out;
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  size_t item = setting->type == POLYAD_F32 ? 4 : 8, rank = problem->rank;
  if (!problem_has_room(problem, mode, rank)) return;
  for (int n = 0; n < plan->order; ++n) {
    matrix[n] = (struct pd_matrix){
        .device = plan->device,
        .type = plan->type,
        .rows = plan->dims[n],
        .columns = rank,
        .stride = rank,
        .data = problem_matrix(problem, n, problem->factor[n], rank, setting->type)};
    pointer[n] = &matrix[n];
  }
  out = matrix[mode];
  size_t bytes = (size_t)out.rows * problem->rank * item;
  void *again = malloc(bytes + 1);
  out.data = malloc(bytes + 1);
  assert_true(out.data != NULL && again != NULL);
  bool paper = strcmp(setting->format, "coo") == 0 && strcmp(setting->variant, "paper") == 0;
  bool atomic = paper || strstr(setting->variant, "atomic") != NULL ||
                strstr(setting->variant, "adaptive") != NULL;
  struct expected expected = expect(problem, mode);
  const struct pd_call pi = {.op = PD_PI, .mode = mode, .factors = pointer};
  const struct pd_call phi = {.op = PD_PHI(EPSILON), .mode = mode, .factors = pointer, .out = &out};
  for (int stored = 0; stored <= (pd_walk_of(plan->kernels, PD_OPS_PI) != NULL); ++stored) {
    for (int n = 0; stored && n < plan->order; ++n)
      pd_matrix_touch(&matrix[n]); /* what has no version is not kept */
    if (stored) assert_int_equal(pd_plan_run(context, plan, workspace, &pi), POLYAD_OK);
    for (int run = 0; run < 2; ++run) {
      memset(out.data, 0xFF, bytes);
      assert_int_equal(pd_plan_run(context, plan, workspace, &phi), POLYAD_OK);
      compare(problem, setting, mode, &expected, out.data, stored ? "stored" : "on the fly");
      if (run == 0) memcpy(again, out.data, bytes);
      if (!atomic) assert_memory_equal(again, out.data, bytes);
    }
  }
  free(expected.exact);
  free(expected.terms);
  free(again);
  free(out.data);
  for (int n = 0; n < plan->order; ++n)
    problem_matrix_free(problem, n, rank, setting->type, matrix[n].data);
}

static void run_case(const struct setting *setting, const struct mttkrp_case *from, uint64_t seed,
                     bool lengthens) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, setting->threads), POLYAD_OK);
  struct problem problem;
  make_counts(from, setting->rank, seed, &problem);
  if (lengthens) problem_lengthen(&problem, seed);
  polyad_tensor *tensor = problem_polyad(context, &problem, setting->type);
  merge_repeats(&problem);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = setting->format;
  options.variant = setting->variant;
  options.rank = setting->rank;
  options.precision = setting->type;
  options.force_index64 = setting->index64;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  polyad_tensor_destroy(tensor);
  if (status == POLYAD_OK)
    status = polyad_workspace_create(context, plan, setting->rank, &workspace);
  if (!problem_is_too_long(context, &problem, status)) {
    if (planted) problem.value[0] *= 1 + 0x1p-40;
    for (int mode = 0; mode < from->order; ++mode)
      run_mode(context, plan, workspace, &problem, setting, mode);
    ++compared;
    if (problem.length > longest_mode) longest_mode = problem.length;
    long_modes += problem.length > 0;
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  problem_free(&problem);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void every_case(const char *format, const char *variant) {
  static const int threads[] = {1, 2, 3, 7};
  for (int c = 0; c < CASES; ++c)
    for (int k = 0; k < 4; ++k) {
      if (TEST_SANITIZED && k != c % 4 && k != (c + 1) % 4) continue;
      struct setting setting = {.format = format,
                                .variant = variant,
                                .rank = ranks[(c + 3 * k) % RANKS],
                                .type = k % 2 ? POLYAD_F32 : POLYAD_F64,
                                .threads = threads[(c + k) % 4],
                                .index64 = k == 3};
      const struct polyad_format *about = pd_format_find(format);
      if (cases[c].order < about->min_order || cases[c].order > about->max_order) continue;
      run_case(&setting, &cases[c], (uint64_t)(c + 100 * k), false);
    }
}

static void every_rank(const char *format, const char *variant) {
  for (int k = 0; k < 2 * RANKS; ++k) {
    if (TEST_SANITIZED && (k / 2 + k) % 2 != 0) continue;
    struct setting setting = {.format = format,
                              .variant = variant,
                              .rank = ranks[k / 2],
                              .type = k % 2 ? POLYAD_F32 : POLYAD_F64,
                              .threads = 2};
    run_case(&setting, &cases[7], (uint64_t)k, false);
  }
}

static void test_every_case(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_GRADIENT, every_case) > 0);
}

static void test_every_instruction_set(void **state) {
  (void)state;
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa) {
    if (!pd_isa_available((enum pd_isa)isa)) continue;
    pd_isa_force((enum pd_isa)isa);
    assert_true(property_each_variant("cpu", PD_OPS_GRADIENT, every_rank) > 0);
  }
  pd_isa_force(PD_ISA_COUNT);
}

static uint64_t drawn; /* number of the case that is tested now */

static void drawn_case(const char *format, const char *variant) {
  static const size_t drawn_ranks[] = {1, 3, 16, 33};
  static const int threads[] = {1, 2, 3, 7};
  struct mttkrp_case from;
  property_draw_case(drawn, &from);
  struct setting setting = {.format = format,
                            .variant = variant,
                            .rank = drawn_ranks[drawn / 2 % 4],
                            .type = drawn % 2 ? POLYAD_F32 : POLYAD_F64,
                            .threads = threads[drawn / 8 % 4],
                            .index64 = drawn % 7 == 0};
  const struct polyad_format *about = pd_format_find(format);
  if (from.order < about->min_order || from.order > about->max_order) return;
  run_case(&setting, &from, drawn, true);
}

/* Small tensors of all kinds, each in the next format and variant. */
static void test_drawn_cases(void **state) {
  (void)state;
  for (drawn = 0; compared < drawn_count; ++drawn)
    property_one_variant("cpu", PD_OPS_GRADIENT, drawn, drawn_case);
  drawn_finish("drawn_phi");
}

/* usage: [drawn COUNT [planted]] */
int main(int count, char **arguments) {
  if (drawn_asked(count, arguments)) return run_drawn(test_drawn_cases);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_case),
      cmocka_unit_test(test_every_instruction_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
