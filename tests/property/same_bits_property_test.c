/* Every (format, device) that says so gives the same bits every time: MTTKRP, the chain and Phi of
 * every mode, in one workspace again and again, and from a storage built anew, with several numbers
 * of threads. On the CPU, or on the device that is named as the argument. */
#include "harness.h"

#include "plan/plan.h"
#include "property/ttmc_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank that several threads are worth (core/threads.h), and rows that several threads share. */
enum { RANK = 20, REPEATS = 3 };
static const struct ttmc_case cases[] = {
    {{"heavy rows", 3, {60, 500, 90}, 24000, SHAPE_HEAVY, true}, {5, 4, 6}},
    {{"fibers", 4, {7, 900, 4, 50}, 24000, SHAPE_FIBERS, false}, {3, 4, 2, 4}},
};
enum { CASES = sizeof cases / sizeof *cases };
static const int thread_counts[] = {2, 3, 7};
enum { THREADS = sizeof thread_counts / sizeof *thread_counts };
static const char *device = "cpu";
static int compared; /* results */

/* One operation on one problem. */
struct trial {
  const char *format;
  polyad_kernel kernel;
  polyad_type type;
  int threads;
  struct ttmc_problem *problem;
};

static size_t trial_columns(const struct trial *trial, int mode) {
  return trial->kernel == POLYAD_KERNEL_TTMC ? ttmc_problem_columns(trial->problem, mode) : RANK;
}

/* Phi in the numbers' own type: what it leaves is compared as bytes. */
static void run_phi(polyad_context *context, const struct trial *trial, const polyad_plan *plan,
                    polyad_workspace *workspace, int mode, double *out) {
  const struct problem *problem = &trial->problem->tensor;
  void *factor[POLYAD_MAX_ORDER];
  for (int n = 0; n < problem->from->order; ++n)
    factor[n] =
        problem_in_type(problem->factor[n], (size_t)problem->from->dims[n] * RANK, trial->type);
  if (polyad_phi(context, plan, workspace, mode, (const void *const *)factor, 1e-10, out) !=
      POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  for (int n = 0; n < problem->from->order; ++n)
    free(factor[n]);
}

static void run_trial(polyad_context *context, const struct trial *trial, const polyad_plan *plan,
                      polyad_workspace *workspace, int mode, double *out) {
  if (trial->kernel == POLYAD_KERNEL_TTMC)
    ttmc_problem_run(context, plan, workspace, trial->problem, mode, out);
  else if (trial->kernel == POLYAD_KERNEL_PHI)
    run_phi(context, trial, plan, workspace, mode, out);
  else
    problem_mttkrp(context, plan, workspace, &trial->problem->tensor, mode, out);
}

/* The first results of every mode go to `first`, later ones are compared with them. */
static void compare_modes(polyad_context *context, const struct trial *trial,
                          const polyad_plan *plan, polyad_workspace *workspace, double **first) {
  const struct mttkrp_case *from = trial->problem->tensor.from;
  for (int mode = 0; mode < from->order; ++mode) {
    size_t count = (size_t)from->dims[mode] * trial_columns(trial, mode);
    double *out = calloc(count, sizeof *out);
    assert_non_null(out);
    run_trial(context, trial, plan, workspace, mode, out);
    if (first[mode] == NULL) {
      first[mode] = out;
      continue;
    }
    ++compared;
    if (memcmp(out, first[mode], count * sizeof *out) != 0)
      fail_msg("%s on %s, %s, kernel %d, %d threads, case %s: mode %d has other bits",
               trial->format, device, trial->type == POLYAD_F32 ? "f32" : "f64", (int)trial->kernel,
               trial->threads, from->name, mode);
    free(out);
  }
}

/* False: the format cannot hold the tensor. */
static bool compare_plan(polyad_context *context, const struct trial *trial, double **first) {
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  polyad_tensor *tensor = problem_polyad(context, &trial->problem->tensor, trial->type);
  polyad_plan_options_init(&options);
  options.format = trial->format;
  options.kernel = trial->kernel;
  options.rank = RANK;
  options.precision = trial->type;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK && trial->kernel == POLYAD_KERNEL_TTMC)
    status = polyad_ttmc_workspace_create(context, plan, trial->problem->from->ranks, &workspace);
  else if (status == POLYAD_OK)
    status = polyad_workspace_create(context, plan, RANK, &workspace);
  if (status != POLYAD_OK && status != POLYAD_UNSUPPORTED)
    fail_msg("%s", polyad_last_error(context));
  for (int k = 0; k < REPEATS && status == POLYAD_OK; ++k)
    compare_modes(context, trial, plan, workspace, first);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status == POLYAD_OK;
}

static void compare_case(const struct trial *trial) {
  double *first[POLYAD_MAX_ORDER] = {NULL};
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, trial->threads), POLYAD_OK);
  if (compare_plan(context, trial, first)) assert_true(compare_plan(context, trial, first));
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    free(first[n]);
  polyad_context_destroy(context);
}

/* Values and factors that CP-APR may have. */
static void make_positive(struct problem *problem) {
  for (size_t p = 0; p < problem->entries; ++p)
    problem->value[p] = ceil(4 * fabs(problem->value[p]));
  for (int n = 0; n < problem->from->order; ++n)
    for (size_t k = 0; k < (size_t)problem->from->dims[n] * problem->rank; ++k)
      problem->factor[n][k] = fabs(problem->factor[n][k]) + 0.125;
}

static void compare_format(const char *format, polyad_kernel kernel) {
  for (int k = 0; k < CASES * THREADS; ++k) {
    struct ttmc_problem problem;
    ttmc_problem_make(&cases[k % CASES], 11, &problem);
    problem_free(&problem.tensor);
    problem_make(&cases[k % CASES].tensor, RANK, 11, &problem.tensor);
    if (kernel == POLYAD_KERNEL_PHI) make_positive(&problem.tensor);
    const struct trial trial = {format, kernel, k / CASES % 2 == 0 ? POLYAD_F64 : POLYAD_F32,
                                thread_counts[k / CASES], &problem};
    compare_case(&trial);
    ttmc_problem_free(&problem);
  }
}

static bool claims(const polyad_format_description *about) {
  char kinds[sizeof about->deterministic], *rest = kinds;
  memcpy(kinds, about->deterministic, sizeof kinds);
  for (char *kind = strtok_r(kinds, " ", &rest); kind != NULL; kind = strtok_r(NULL, " ", &rest))
    if (strcmp(kind, device) == 0) return true;
  return false;
}

static void test_every_claim(void **state) {
  (void)state;
  static const polyad_kernel kernels[] = {POLYAD_KERNEL_MTTKRP, POLYAD_KERNEL_TTMC,
                                          POLYAD_KERNEL_PHI};
  polyad_format_description about;
  int claimed = 0;
  for (int f = 0; polyad_format_describe(f, &about) == POLYAD_OK; ++f) {
    if (!claims(&about)) continue;
    ++claimed;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k) {
      const struct pd_op op = pd_op_of_kernel(kernels[k], 1e-10);
      if (pd_walk_of(pd_kernels_find(about.name, device), pd_op_bit(&op)) != NULL)
        compare_format(about.name, kernels[k]);
    }
  }
  /* On the CPU all formats; on a GPU those whose sums do not meet in atomic operations. */
  assert_true(claimed >= (strcmp(device, "cpu") == 0 ? polyad_format_count() : 6));
  assert_true(compared > 50 * claimed);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_claim)};
  if (argc > 1) device = argv[1];
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  bool there = polyad_set_device(context, device) == POLYAD_OK;
  polyad_context_destroy(context);
  return there ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
