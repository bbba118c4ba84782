/* Loss and gradient of generalized CP over all cells, of every format that claims the operations,
 * against the oracle that visits a dense tensor: variants, losses, ranks, numbers of threads, both
 * precisions. On the CPU, or on the device that is named as the argument. */
#include "harness.h"

#include "oracle/gcp_oracle.h"
#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <float.h>
#include <math.h>
#include <polyad/gcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 20, SHAPE_UNIFORM, true},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 170}, 900, SHAPE_UNIFORM, true},
    {"three modes", 3, {6, 15, 140}, 700, SHAPE_HEAVY, false},
    {"a mode of one", 4, {20, 1, 13, 25}, 300, SHAPE_UNIFORM, true},
    {"diagonal", 4, {9, 9, 9, 9}, 9, SHAPE_DIAGONAL, false},
    {"eight modes", 8, {3, 2, 4, 2, 3, 2, 3, 2}, 200, SHAPE_UNIFORM, true},
};
enum { CASES = sizeof cases / sizeof *cases };
static const size_t ranks[] = {1, 5, 17};
enum { RANKS = sizeof ranks / sizeof *ranks };
static const char *device = "cpu";

struct setting {
  const char *format, *variant;
  polyad_type type;
  int threads;
};

/* Whether an entry before has the same coordinate. */
static bool is_repeat(const struct problem *problem, size_t p) {
  size_t order = (size_t)problem->from->order;
  for (size_t q = 0; q < p; ++q)
    if (memcmp(problem->index + q * order, problem->index + p * order,
               order * sizeof *problem->index) == 0)
      return true;
  return false;
}

/* Values that the loss is made for. Models of counts stay away from zero. */
static void fit_values(struct problem *problem, enum oracle_values values) {
  for (size_t p = 0; p < problem->entries; ++p)
    if (values == ORACLE_COUNTS)
      problem->value[p] = ceil(4 * fabs(problem->value[p]));
    else if (values == ORACLE_ONES)
      problem->value[p] = is_repeat(problem, p) ? 0 : 1;
  for (int n = 0; n < problem->from->order && values == ORACLE_COUNTS; ++n)
    for (size_t k = 0; k < (size_t)problem->from->dims[n] * problem->rank; ++k)
      problem->factor[n][k] = fmax(0.125, fabs(problem->factor[n][k]));
}

static struct oracle_gcp sums_create(size_t count) {
  struct oracle_gcp sums = {malloc((count + 1) * sizeof *sums.exact),
                            malloc((count + 1) * sizeof *sums.grid),
                            malloc((count + 1) * sizeof *sums.nonzeros)};
  assert_true(sums.exact != NULL && sums.grid != NULL && sums.nonzeros != NULL);
  return sums;
}

static void sums_free(struct oracle_gcp *sums) {
  free(sums->exact);
  free(sums->grid);
  free(sums->nonzeros);
}

static void compare(const struct problem *problem, const struct setting *setting, const char *what,
                    const struct oracle_gcp *exact, size_t k, double found, bool rounded) {
  long double unit = setting->type == POLYAD_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2, cells = 1;
  for (int n = 0; n < problem->from->order; ++n)
    cells *= (long double)problem->from->dims[n];
  long double steps = 3 * problem->from->order + (long double)problem->rank + 16;
  long double bound =
      oracle_gamma(steps + cells, DBL_EPSILON / 2) * (exact->grid[k] + exact->nonzeros[k]) +
      oracle_gamma(steps + (long double)problem->entries, unit) * exact->nonzeros[k];
  if (rounded) bound += 2 * unit * (exact->grid[k] + exact->nonzeros[k]);
  if (!(fabsl((long double)found - exact->exact[k]) <= bound))
    fail_msg("%s/%s on %s, %s, %d threads, case %s, rank %zu, %s, number %zu: %.17g, expected "
             "%.17Lg within %.3Lg",
             setting->format, setting->variant, device, setting->type == POLYAD_F32 ? "f32" : "f64",
             setting->threads, problem->from->name, problem->rank, what, k, found, exact->exact[k],
             bound);
}

static void run_loss(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                     const struct problem *problem, const struct setting *setting, int loss) {
  struct oracle_gcp objective = sums_create(1), gradient[POLYAD_MAX_ORDER];
  void *factor[POLYAD_MAX_ORDER], *found[POLYAD_MAX_ORDER];
  size_t item = setting->type == POLYAD_F32 ? 4 : 8;
  int order = problem->from->order;
  for (int n = 0; n < order; ++n) {
    size_t count = (size_t)problem->from->dims[n] * problem->rank;
    gradient[n] = sums_create(count);
    factor[n] = problem_in_type(problem->factor[n], count, setting->type);
    found[n] = malloc(count * item + 1);
    assert_non_null(found[n]);
    memset(found[n], 0xFF, count * item);
  }
  struct oracle_tensor tensor = problem_tensor(problem);
  const char *name = polyad_loss_name(loss);
  oracle_gcp(&tensor, oracle_loss_find(name), problem->rank, (const double *const *)problem->factor,
             &objective, gradient);
  double sum = NAN, alone = NAN;
  polyad_status status = polyad_gcp_objective(context, plan, workspace, (polyad_loss)loss,
                                              (const void *const *)factor, &sum, found);
  /* A paper's scheme may have MTTKRP alone. */
  bool refused = status == POLYAD_UNSUPPORTED && strstr(setting->variant, "paper") != NULL;
  if (!refused && status == POLYAD_OK)
    status = polyad_gcp_objective(context, plan, workspace, (polyad_loss)loss,
                                  (const void *const *)factor, &alone, NULL);
  if (!refused && status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  if (!refused) {
    assert_true(sum == alone);
    compare(problem, setting, name, &objective, 0, sum, false);
  }
  for (int n = 0; n < order; ++n) {
    for (size_t k = 0; !refused && k < (size_t)problem->from->dims[n] * problem->rank; ++k)
      compare(problem, setting, name, &gradient[n], k,
              item == 4 ? (double)((float *)found[n])[k] : ((double *)found[n])[k], true);
    sums_free(&gradient[n]);
    free(factor[n]);
    free(found[n]);
  }
  sums_free(&objective);
}

static void run_case(polyad_context *context, const struct setting *setting,
                     const struct mttkrp_case *from, size_t rank, int loss, uint64_t seed) {
  struct problem problem;
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  problem_make(from, rank, seed, &problem);
  const struct oracle_loss *exact = oracle_loss_find(polyad_loss_name(loss));
  if (exact == NULL) fail_msg("loss %s has no definition in the oracle", polyad_loss_name(loss));
  fit_values(&problem, exact->values);
  polyad_tensor *tensor = problem_polyad(context, &problem, setting->type);
  polyad_plan_options_init(&options);
  options.format = setting->format;
  options.variant = setting->variant;
  options.rank = rank;
  options.precision = setting->type;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK) status = polyad_workspace_create(context, plan, rank, &workspace);
  if (status == POLYAD_OK)
    run_loss(context, plan, workspace, &problem, setting, loss);
  else if (status != POLYAD_UNSUPPORTED)
    fail_msg("%s", polyad_last_error(context));
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void every_case(const char *format, const char *variant) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  for (int k = 0; polyad_loss_name(k / CASES / RANKS) != NULL; ++k) {
    int c = k % CASES, r = k / CASES % RANKS, loss = k / CASES / RANKS;
    struct setting setting = {format, variant, k % 2 == 0 ? POLYAD_F64 : POLYAD_F32, 1 + k % 3};
    assert_int_equal(polyad_set_threads(context, setting.threads), POLYAD_OK);
    run_case(context, &setting, &cases[c], ranks[r], loss, (uint64_t)k);
  }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void test_losses_and_gradients(void **state) {
  (void)state;
  assert_true(property_each_variant(device, PD_OPS_GRADIENT | PD_OPS_GAIN, every_case) > 0);
}

/* What callers may get wrong. */
static void test_refusals(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  struct problem problem;
  problem_make(&cases[1], 2, 1, &problem);
  problem.value[0] = 1;
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  const void *const *factor = (const void *const *)problem.factor;
  void *none[3] = {NULL};
  double sum;
  int losses = 0;
  while (polyad_loss_name(losses) != NULL)
    ++losses;
  assert_int_equal(losses, 3);
  assert_string_equal(polyad_loss_name(POLYAD_LOSS_BERNOULLI_LOGIT), "bernoulli-logit");
  assert_null(polyad_loss_name(-1));
  polyad_plan_options_init(&options);
  options.kernel = POLYAD_KERNEL_PHI;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
  assert_int_equal(polyad_workspace_create(context, plan, 2, &workspace), POLYAD_OK);
  assert_int_equal(
      polyad_gcp_objective(NULL, plan, workspace, POLYAD_LOSS_POISSON, factor, &sum, NULL),
      POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_gcp_objective(context, plan, workspace, (polyad_loss)losses, factor, &sum, NULL),
      POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_gcp_objective(context, plan, workspace, POLYAD_LOSS_POISSON, factor, NULL, NULL),
      POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_gcp_objective(context, plan, workspace, POLYAD_LOSS_POISSON, factor, &sum, none),
      POLYAD_INVALID_ARGUMENT);
  polyad_cancel(context); /* only what visits every cell is long enough to be ended */
  assert_int_equal(polyad_gcp_objective(context, plan, workspace, POLYAD_LOSS_BERNOULLI_LOGIT,
                                        factor, &sum, NULL),
                   POLYAD_CANCELLED);
  assert_int_equal(
      polyad_gcp_objective(context, plan, workspace, POLYAD_LOSS_POISSON, factor, &sum, NULL),
      POLYAD_OK);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
  polyad_context_destroy(context);
}

/* Values that a loss is not for: the first ones of a tensor of ones, or its only one. */
static void refuse_values(polyad_context *context, int count, const double *values,
                          const bool *refused) {
  struct problem problem;
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  double sum;
  problem_make(&cases[count > 1 ? 6 : 1], 2, 1, &problem);
  for (size_t p = 0; p < problem.entries; ++p)
    problem.value[p] = p < (size_t)count ? values[p] : 1;
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  polyad_plan_options_init(&options);
  options.kernel = POLYAD_KERNEL_PHI;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
  assert_int_equal(polyad_workspace_create(context, plan, 2, &workspace), POLYAD_OK);
  for (int loss = 0; polyad_loss_name(loss) != NULL; ++loss)
    assert_int_equal(polyad_gcp_objective(context, plan, workspace, (polyad_loss)loss,
                                          (const void *const *)problem.factor, &sum, NULL),
                     refused[loss] ? POLYAD_NUMERICAL : POLYAD_OK);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void refuse_value(polyad_context *context, double value, const bool *refused) {
  refuse_values(context, 1, &value, refused);
}

static void test_values_are_refused(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "cpu"), POLYAD_OK);
  static const bool counts[] = {false, true, false}, negative[] = {true, true, false},
                    ones[] = {false, false, false};
  refuse_value(context, 1, ones);
  refuse_value(context, 2, counts);
  refuse_value(context, 0.5, counts);
  refuse_value(context, 1e200, counts);
  refuse_value(context, -1, negative);
  static const double balanced[] = {0.5, 1.5, 0.5, 0.5}; /* their sum is that of their squares */
  refuse_values(context, 4, balanced, counts);
  polyad_context_destroy(context);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_losses_and_gradients),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_values_are_refused),
  };
  if (argc > 1) device = argv[1];
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  bool there = polyad_set_device(context, device) == POLYAD_OK;
  polyad_context_destroy(context);
  return there ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
