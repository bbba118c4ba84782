/* The tensor-times-matrix chain of every format, variant and instruction set against the oracle,
 * and properties that need none. */
#include "contexts.h"
#include "core/isa.h"
#include "drawn.h"
#include "harness.h"
#include "plan/plan.h"
#include "property/ttmc_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static polyad_plan *make_plan(polyad_context *context, const struct ttmc_problem *problem,
                              const polyad_plan_options *options) {
  polyad_tensor *tensor = problem_polyad(context, &problem->tensor, options->precision);
  polyad_plan *plan = NULL;
  polyad_status status = polyad_plan_create(context, tensor, options, &plan);
  polyad_tensor_destroy(tensor);
  return problem_is_too_long(context, &problem->tensor, status) ? NULL : plan;
}

static bool supported(const char *name, const struct ttmc_case *from) {
  const struct polyad_format *format = pd_format_find(name);
  return from->tensor.order >= format->min_order && from->tensor.order <= format->max_order;
}

static void options_for(const char *format, const char *variant, int turn,
                        polyad_plan_options *options) {
  polyad_plan_options_init(options);
  options->format = format;
  options->variant = variant;
  options->precision = turn % 2 ? POLYAD_F32 : POLYAD_F64;
  options->force_index64 = turn % 4 == 3;
}

static enum pd_isa best_isa;

static void cases_against_oracle(const char *format, const char *variant) {
  static const int threads[] = {1, 2, 3, 7};
  bool best = pd_isa_current() == best_isa; /* the others differ in their inner loops alone */
  for (int c = best ? 0 : 4; c < (best ? ttmc_case_count : 5); ++c)
    for (int k = 0; k < 2; ++k) {
      if (!supported(format, &ttmc_cases[c])) continue;
      int count = threads[(c + 2 * k) % 4];
      polyad_context *context = cpu_context(count);
      polyad_plan_options options;
      options_for(format, variant, c / 4 + k, &options);
      struct ttmc_problem problem;
      ttmc_problem_make(&ttmc_cases[c], (uint64_t)(c + 31 * k), &problem);
      polyad_plan *plan = make_plan(context, &problem, &options);
      char what[128];
      snprintf(what, sizeof what, "%s/%s %s, %d threads, %s", format, variant,
               options.precision == POLYAD_F32 ? "f32" : "f64", count,
               pd_isa_name(pd_isa_current()));
      ttmc_problem_compare(context, plan, &problem, false, what);
      polyad_plan_destroy(plan);
      ttmc_problem_free(&problem);
      polyad_context_destroy(context);
    }
}

static void test_every_case(void **state) {
  (void)state;
  best_isa = pd_isa_current();
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa) {
    if (!pd_isa_available((enum pd_isa)isa)) continue;
    pd_isa_force((enum pd_isa)isa);
    /* alto, coo, csf and modecopy at least */
    assert_true(property_each_variant("cpu", PD_OPS_TTMC, cases_against_oracle) >= 4);
  }
  pd_isa_force(PD_ISA_COUNT);
}

/* The same plan run again gives the same bits; so does a plan built again. */
static void same_bits(const char *format, const char *variant) {
  const struct ttmc_case *from = &ttmc_cases[7];
  if (!supported(format, from)) return;
  struct ttmc_problem problem;
  ttmc_problem_make(from, 5, &problem);
  size_t count = (size_t)from->tensor.dims[0] * ttmc_problem_columns(&problem, 0);
  double *out[2] = {malloc(count * sizeof(double)), malloc(count * sizeof(double))};
  for (int k = 0; k < 2; ++k) {
    polyad_context *context = cpu_context(3);
    polyad_plan_options options;
    options_for(format, variant, 0, &options);
    polyad_plan *plan = make_plan(context, &problem, &options);
    polyad_workspace *workspace = NULL;
    assert_int_equal(polyad_ttmc_workspace_create(context, plan, from->ranks, &workspace),
                     POLYAD_OK);
    for (int again = 0; again <= k; ++again)
      ttmc_problem_run(context, plan, workspace, &problem, 0, out[k]);
    polyad_workspace_destroy(workspace);
    polyad_plan_destroy(plan);
    polyad_context_destroy(context);
  }
  assert_memory_equal(out[0], out[1], count * sizeof(double));
  free(out[0]);
  free(out[1]);
  ttmc_problem_free(&problem);
}

static void test_same_bits(void **state) {
  (void)state;
  assert_true(property_each_variant("cpu", PD_OPS_TTMC, same_bits) > 0);
}

/* With R columns everywhere, the chain's column r, r, ... is column r of MTTKRP. */
static void test_diagonal_is_mttkrp(void **state) {
  (void)state;
  const struct ttmc_case *from = &ttmc_cases[6];
  enum { R = 16, MODE = 1 };
  struct ttmc_problem problem;
  ttmc_problem_make(from, 9, &problem);
  polyad_context *context = cpu_context(2);
  polyad_plan_options options;
  options_for("csf", "auto", 0, &options);
  polyad_plan *plan = make_plan(context, &problem, &options);
  polyad_workspace *chain = NULL, *workspace = NULL;
  assert_int_equal(polyad_ttmc_workspace_create(context, plan, from->ranks, &chain), POLYAD_OK);
  assert_int_equal(polyad_workspace_create(context, plan, R, &workspace), POLYAD_OK);
  size_t rows = (size_t)from->tensor.dims[MODE];
  double *wide = malloc(rows * R * R * sizeof *wide), *narrow = malloc(rows * R * sizeof *narrow);
  ttmc_problem_run(context, plan, chain, &problem, MODE, wide);
  assert_int_equal(
      polyad_mttkrp(context, plan, workspace, MODE, (const void *const *)problem.factor, narrow),
      POLYAD_OK);
  double norm = 0, error = 0;
  for (size_t i = 0; i < rows; ++i)
    for (size_t r = 0; r < R; ++r) {
      error = fmax(error, fabs(wide[i * R * R + r * R + r] - narrow[i * R + r]));
      norm = fmax(norm, fabs(narrow[i * R + r]));
    }
  assert_true(norm > 0 && error <= 1e-12 * norm);
  /* Each kernel has its own workspace. */
  assert_int_equal(
      polyad_mttkrp(context, plan, chain, MODE, (const void *const *)problem.factor, narrow),
      POLYAD_MISMATCH);
  assert_int_equal(
      polyad_ttmc(context, plan, workspace, MODE, (const void *const *)problem.factor, wide),
      POLYAD_MISMATCH);
  free(wide);
  free(narrow);
  polyad_workspace_destroy(chain);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
  ttmc_problem_free(&problem);
}

/* Sizes are checked before anything is allocated. */
static void test_too_large(void **state) {
  (void)state;
  struct ttmc_problem problem;
  ttmc_problem_make(&ttmc_cases[4], 1, &problem);
  polyad_context *context = cpu_context(1);
  polyad_plan_options options;
  options_for("coo", "auto", 0, &options);
  polyad_plan *plan = make_plan(context, &problem, &options);
  polyad_workspace *workspace = NULL;
  uint64_t columns, bytes;
  const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40, 2};
  assert_int_equal(polyad_ttmc_columns(context, plan, huge, 2, &columns), POLYAD_OVERFLOW);
  assert_int_equal(polyad_ttmc_workspace_create(context, plan, huge, &workspace), POLYAD_OVERFLOW);
  assert_null(workspace);
  const uint64_t large[] = {1, 1 << 12, 1 << 12};
  assert_int_equal(polyad_ttmc_columns(context, plan, large, 0, &columns), POLYAD_OK);
  assert_true(columns == UINT64_C(1) << 24);
  assert_int_equal(polyad_set_memory_limit(context, UINT64_C(1) << 30), POLYAD_OK);
  assert_int_equal(pd_plan_ttmc_bytes(context, plan, large, 0, &bytes), POLYAD_MEMORY_LIMIT);
  assert_non_null(strstr(polyad_last_error(context), "8053063680 bytes"));
  const uint64_t zero[] = {1, 0, 1};
  assert_int_equal(polyad_ttmc_workspace_create(context, plan, zero, &workspace),
                   POLYAD_INVALID_ARGUMENT);
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
  ttmc_problem_free(&problem);
}

static uint64_t drawn; /* number of the case that is tested now */

static void drawn_against_oracle(const char *format, const char *variant) {
  static const int threads[] = {1, 2, 3, 7};
  struct ttmc_case from = {.ranks = {1}};
  property_draw_case(drawn, &from.tensor);
  uint64_t most = from.tensor.order <= 3 ? 17 : from.tensor.order <= 5 ? 4 : 2;
  for (int n = 0; n < from.tensor.order; ++n)
    from.ranks[n] = 1 + (drawn * 7 + (uint64_t)n * 5) % most;
  if (!supported(format, &from)) return;
  polyad_context *context = cpu_context(threads[drawn / 8 % 4]);
  polyad_plan_options options;
  options_for(format, variant, (int)(drawn % 4), &options);
  struct ttmc_problem problem;
  ttmc_problem_make(&from, drawn, &problem);
  problem_coarsen(&problem.tensor);
  problem_lengthen(&problem.tensor, drawn);
  polyad_plan *plan = make_plan(context, &problem, &options);
  if (planted) problem.tensor.value[0] *= 1 + 0x1p-40;
  char what[128];
  snprintf(what, sizeof what, "%s/%s, drawn case %llu", format, variant, (unsigned long long)drawn);
  if (plan != NULL && ttmc_problem_compare(context, plan, &problem, false, what)) {
    ++compared;
    if (problem.tensor.length > longest_mode) longest_mode = problem.tensor.length;
    long_modes += problem.tensor.length > 0;
  }
  polyad_plan_destroy(plan);
  ttmc_problem_free(&problem);
  polyad_context_destroy(context);
}

/* Small tensors of all kinds, each in the next format and variant. */
static void test_drawn_cases(void **state) {
  (void)state;
  for (drawn = 0; compared < drawn_count; ++drawn)
    property_one_variant("cpu", PD_OPS_TTMC, drawn, drawn_against_oracle);
  drawn_finish("drawn_ttmc");
}

/* usage: [drawn COUNT [planted]] */
int main(int count, char **arguments) {
  if (drawn_asked(count, arguments)) return run_drawn(test_drawn_cases);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_case),
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_diagonal_is_mttkrp),
      cmocka_unit_test(test_too_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
