#include "property/ttmc_case.h"
#include "harness.h"
#include "oracle/ttmc_oracle.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct ttmc_case ttmc_cases[] = {
    {{"one mode", 1, {50}, 30, SHAPE_UNIFORM, true}, {7}},
    {{"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, true}, {5, 16}},
    {{"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false}, {2, 3, 4}},
    {{"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false}, {3, 1, 2}},
    {{"three modes", 3, {60, 50, 40}, 1500, SHAPE_UNIFORM, true}, {8, 16, 17}},
    {{"rank one", 3, {60, 50, 40}, 1500, SHAPE_UNIFORM, true}, {1, 1, 1}},
    {{"fibers", 3, {30, 40, 300}, 1500, SHAPE_FIBERS, false}, {16, 16, 16}},
    {{"heavy slices", 3, {300, 200, 100}, 1500, SHAPE_HEAVY, false}, {17, 3, 32}},
    {{"long and empty", 3, {70000, 3, 66000}, 1500, SHAPE_UNIFORM, false}, {2, 3, 5}},
    {{"rank 64", 3, {20, 30, 40}, 60, SHAPE_UNIFORM, false}, {64, 64, 64}},
    {{"two rows", 3, {2, 90, 110}, 1500, SHAPE_FIBERS, false}, {2, 9, 8}},
    {{"a mode of one", 4, {20, 1, 30, 25}, 1000, SHAPE_UNIFORM, true}, {5, 1, 8, 3}},
    {{"four modes", 4, {25, 24, 50, 60}, 1000, SHAPE_FIBERS, true}, {8, 2, 16, 3}},
    {{"five modes", 5, {12, 11, 2, 10, 9}, 1500, SHAPE_HEAVY, false}, {3, 4, 2, 5, 3}},
    {{"six modes", 6, {6, 5, 7, 4, 8, 3}, 1000, SHAPE_UNIFORM, true}, {2, 3, 1, 4, 3, 2}},
    {{"seven modes", 7, {3, 4, 3, 5, 3, 4, 3}, 800, SHAPE_FIBERS, false}, {3, 2, 3, 2, 2, 1, 3}},
    {{"eight modes", 8, {3, 2, 4, 2, 3, 2, 3, 2}, 400, SHAPE_UNIFORM, true},
     {3, 2, 2, 2, 3, 1, 2, 2}},
};
const int ttmc_case_count = sizeof ttmc_cases / sizeof *ttmc_cases;

static double number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  float x = (float)(*state >> 41) / (float)(1 << 23) + 0.25F;
  return *state >> 40 & 1 ? (double)x : -(double)x;
}

void ttmc_problem_make(const struct ttmc_case *from, uint64_t seed, struct ttmc_problem *problem) {
  *problem = (struct ttmc_problem){.from = from};
  problem_make(&from->tensor, 1, seed, &problem->tensor);
  for (int n = 0; n < from->tensor.order; ++n) {
    size_t count = (size_t)(from->tensor.dims[n] * from->ranks[n]);
    problem->factor[n] = malloc(count * sizeof(double));
    assert_non_null(problem->factor[n]);
    for (size_t k = 0; k < count; ++k)
      problem->factor[n][k] = number(&seed);
  }
}

void ttmc_problem_free(struct ttmc_problem *problem) {
  for (int n = 0; n < problem->from->tensor.order; ++n)
    free(problem->factor[n]);
  problem_free(&problem->tensor);
}

size_t ttmc_problem_columns(const struct ttmc_problem *problem, int mode) {
  size_t columns = 1;
  for (int n = 0; n < problem->from->tensor.order; ++n)
    if (n != mode) columns *= (size_t)problem->from->ranks[n];
  return columns;
}

void ttmc_problem_run(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                      const struct ttmc_problem *problem, int mode, double *out) {
  int order = problem->from->tensor.order;
  const struct problem *tensor = &problem->tensor;
  const uint64_t *ranks = problem->from->ranks;
  polyad_type type = polyad_plan_type(plan);
  const void *factors[POLYAD_MAX_ORDER] = {NULL};
  size_t columns = ttmc_problem_columns(problem, mode);
  for (int n = 0; n < order; ++n)
    if (n != mode) factors[n] = problem_matrix(tensor, n, problem->factor[n], ranks[n], type);
  void *result = problem_matrix(tensor, mode, NULL, columns, type);
  if (polyad_ttmc(context, plan, workspace, mode, factors, result) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  problem_matrix_read(tensor, mode, columns, type, result, out);
  problem_matrix_free(tensor, mode, columns, type, result);
  for (int n = 0; n < order; ++n)
    problem_matrix_free(tensor, n, ranks[n], type, factors[n]);
}

/* Roundings on the way to one entry: a product at each level, and again where partial sums are
 * multiplied; additions at most one per nonzero of the row and level; all in float64. In float32
 * one more to write the result and one where repeats are merged. */
static long double bound_of(const struct ttmc_problem *problem, polyad_type type, bool atomic,
                            size_t terms) {
  long double order = problem->from->tensor.order;
  long double wide = oracle_gamma(2 * order + (long double)terms + 2, DBL_EPSILON / 2);
  long double added = atomic ? (long double)terms : 0;
  return type == POLYAD_F64 ? wide : wide + oracle_gamma(3 + added, FLT_EPSILON / 2);
}

static void compare_mode(polyad_context *context, const polyad_plan *plan,
                         polyad_workspace *workspace, const struct ttmc_problem *problem, int mode,
                         bool atomic, const char *what) {
  size_t columns = ttmc_problem_columns(problem, mode);
  size_t rows = (size_t)problem->from->tensor.dims[mode], count = rows * columns;
  if (!problem_has_room(&problem->tensor, mode, columns)) return;
  long double *exact = malloc((count + 1) * sizeof *exact);
  long double *magnitude = malloc((count + 1) * sizeof *magnitude);
  size_t *terms = malloc((rows + 1) * sizeof *terms);
  double *out = malloc((count + 1) * sizeof *out);
  assert_true(exact != NULL && magnitude != NULL && terms != NULL && out != NULL);
  struct oracle_tensor tensor = problem_tensor(&problem->tensor);
  oracle_ttmc(&tensor, mode, problem->from->ranks, (const double *const *)problem->factor, exact,
              magnitude, terms);
  ttmc_problem_run(context, plan, workspace, problem, mode, out);
  for (size_t k = 0; k < count; ++k) {
    long double bound =
        magnitude[k] * bound_of(problem, polyad_plan_type(plan), atomic, terms[k / columns]);
    if (!(fabsl((long double)out[k] - exact[k]) <= bound))
      fail_msg("%s, case %s, mode %d, row %zu column %zu: %.17g, expected %.17Lg within %.3Lg",
               what, problem->from->tensor.name, mode, k / columns, k % columns, out[k], exact[k],
               bound);
  }
  free(exact);
  free(magnitude);
  free(terms);
  free(out);
}

bool ttmc_problem_compare(polyad_context *context, const polyad_plan *plan,
                          const struct ttmc_problem *problem, bool atomic, const char *what) {
  polyad_workspace *workspace = NULL;
  polyad_status status =
      polyad_ttmc_workspace_create(context, plan, problem->from->ranks, &workspace);
  if (problem_is_too_long(context, &problem->tensor, status)) return false;
  for (int n = 0; n < problem->from->tensor.order; ++n)
    compare_mode(context, plan, workspace, problem, n, atomic, what);
  polyad_workspace_destroy(workspace);
  return true;
}
