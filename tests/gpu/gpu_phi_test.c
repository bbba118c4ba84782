/* Phi and the log-likelihood of CP-APR on a GPU, of every format and variant that has them, beside
 * those of the CPU, which the property tests compare with an oracle. Nothing is negative, so both
 * are within a relative error of the exact sums. */
#include "core/core.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, false},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
    {"three modes", 3, {160, 50, 40}, 40000, SHAPE_UNIFORM, false},
    {"heavy slices", 3, {300, 200, 100}, 60000, SHAPE_HEAVY, false},
    {"two rows", 3, {2, 900, 1100}, 90000, SHAPE_FIBERS, false},
    {"four modes", 4, {25, 24, 110, 170}, 50000, SHAPE_FIBERS, true},
    {"five modes", 5, {12, 11, 2, 10, 9}, 9000, SHAPE_HEAVY, false},
    {"eight modes", 8, {30, 20, 4, 20, 3, 2, 3, 200}, 7000, SHAPE_UNIFORM, false},
};
enum { CASES = sizeof cases / sizeof *cases };
static const size_t ranks[] = {1, 7, 16, 32, 33, 64, 65, 128, 129, 200};
enum { RANKS = sizeof ranks / sizeof *ranks };
static const double EPSILON = 1e-10;

/* One plan with all factors on its device. */
struct side {
  polyad_context *context;
  polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_matrix matrix[POLYAD_MAX_ORDER];
  const struct pd_matrix *factor[POLYAD_MAX_ORDER];
};

static void side_make(struct side *side, polyad_context *context, const struct problem *problem,
                      const polyad_plan_options *options) {
  *side = (struct side){.context = context};
  side->plan = gpu_plan(context, problem, options);
  assert_int_equal(polyad_workspace_create(context, side->plan, problem->rank, &side->workspace),
                   POLYAD_OK);
  bool narrow = options->precision == POLYAD_F32;
  for (int n = 0; n < problem->from->order; ++n) {
    size_t count = (size_t)problem->from->dims[n] * problem->rank;
    float *copy = malloc(count * sizeof *copy + 1);
    assert_non_null(copy);
    for (size_t k = 0; k < count; ++k)
      copy[k] = (float)problem->factor[n][k];
    side->factor[n] = &side->matrix[n];
    assert_int_equal(pd_matrix_create(context, side->plan->device, options->precision,
                                      problem->from->dims[n], problem->rank, &side->matrix[n]),
                     POLYAD_OK);
    assert_int_equal(pd_matrix_from_host(context, &side->matrix[n],
                                         narrow ? (void *)copy : (void *)problem->factor[n]),
                     POLYAD_OK);
    free(copy);
  }
}

static void side_free(struct side *side) {
  for (int n = 0; n < side->plan->order; ++n)
    pd_matrix_destroy(side->context, &side->matrix[n]);
  polyad_workspace_destroy(side->workspace);
  polyad_plan_destroy(side->plan);
}

/* Phi of a mode as doubles; free() it. */
static double *side_phi(struct side *side, int mode, size_t rank) {
  struct pd_matrix out;
  size_t count = (size_t)side->plan->dims[mode] * rank;
  bool narrow = side->plan->type == POLYAD_F32;
  double *result = malloc(count * sizeof *result + 1);
  void *raw = malloc(count * sizeof *result + 1);
  assert_true(result != NULL && raw != NULL);
  memset(raw, 0xFF, count * (narrow ? 4 : 8)); /* NaN wherever nothing is written */
  assert_int_equal(pd_matrix_create(side->context, side->plan->device, side->plan->type,
                                    side->plan->dims[mode], rank, &out),
                   POLYAD_OK);
  assert_int_equal(pd_matrix_from_host(side->context, &out, raw), POLYAD_OK);
  const struct pd_call call = {
      .op = PD_PHI(EPSILON), .mode = mode, .factors = side->factor, .out = &out};
  if (pd_plan_run(side->context, side->plan, side->workspace, &call) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(side->context));
  assert_int_equal(pd_matrix_to_host(side->context, &out, raw), POLYAD_OK);
  for (size_t k = 0; k < count; ++k)
    result[k] = narrow ? (double)((float *)raw)[k] : ((double *)raw)[k];
  pd_matrix_destroy(side->context, &out);
  free(raw);
  return result;
}

static double side_logarithms(struct side *side, int mode) {
  struct pd_matrix out;
  double result = NAN;
  assert_int_equal(pd_matrix_create(side->context, side->plan->device, POLYAD_F64, 1, 1, &out),
                   POLYAD_OK);
  const struct pd_call call = {
      .op = PD_LIKELIHOOD, .mode = mode, .factors = side->factor, .out = &out};
  assert_int_equal(pd_plan_run(side->context, side->plan, side->workspace, &call), POLYAD_OK);
  assert_int_equal(pd_matrix_to_host(side->context, &out, &result), POLYAD_OK);
  pd_matrix_destroy(side->context, &out);
  return result;
}

/* Products, the sum of the model, a division, and sums of at most so many terms one by one; twice,
 * since both sides round. */
static double bound_of(const struct problem *problem, polyad_type type) {
  double unit = type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
  double sums = problem->entries < 2000 ? (double)problem->entries : 2000;
  return (2 * problem->from->order + (double)problem->rank + 10 + sums) * unit;
}

static void compare_mode(struct side *cpu, struct side *gpu, const struct problem *problem,
                         int mode, bool atomic, const char *what) {
  size_t count = (size_t)problem->from->dims[mode] * problem->rank;
  double bound = bound_of(problem, gpu->plan->type);
  double *expected = side_phi(cpu, mode, problem->rank),
         *found = side_phi(gpu, mode, problem->rank);
  for (size_t k = 0; k < count; ++k)
    if (!(fabs(found[k] - expected[k]) <= bound * expected[k]))
      fail_msg("%s, case %s, rank %zu, mode %d, row %zu column %zu: %.17g, expected %.17g", what,
               problem->from->name, problem->rank, mode, k / problem->rank, k % problem->rank,
               found[k], expected[k]);
  double *again = side_phi(gpu, mode, problem->rank);
  if (!atomic) assert_memory_equal(found, again, count * sizeof *found);
  free(expected);
  free(found);
  free(again);
  if (pd_walk_of(gpu->plan->kernels, PD_OPS_GAIN) == NULL ||
      pd_walk_of(cpu->plan->kernels, PD_OPS_GAIN) == NULL)
    return;
  double there = side_logarithms(gpu, mode), here = side_logarithms(cpu, mode), size = 1;
  for (size_t p = 0; p < problem->entries; ++p)
    size += 20 * problem->value[p]; /* the logarithms are of models between 1e-8 and 1e8 */
  assert_true(fabs(there - here) <= bound * size);
  assert_true(there == side_logarithms(gpu, mode));
}

/* Counts and factors that are not negative; models of zero would make a log-likelihood of
 * -infinity. */
static void make_counts(const struct mttkrp_case *from, size_t rank, uint64_t seed,
                        struct problem *problem) {
  problem_make(from, rank, seed, problem);
  for (size_t p = 0; p < problem->entries; ++p)
    problem->value[p] = ceil(4 * fabs(problem->value[p]));
  for (int n = 0; n < from->order; ++n)
    for (size_t k = 0; k < (size_t)from->dims[n] * rank; ++k)
      problem->factor[n][k] = fabs(problem->factor[n][k]);
}

/* `few`: only small cases in float, for a sanitizer. */
static void compare_variant(const char *format, const char *variant, bool few) {
  const struct polyad_format *about = pd_format_find(format);
  polyad_context *here = NULL, *there = gpu_context();
  assert_int_equal(polyad_context_create(&here), POLYAD_OK);
  assert_int_equal(polyad_set_device(here, "cpu"), POLYAD_OK);
  for (int k = 0; k < (few ? CASES : 2 * RANKS); ++k) {
    const struct mttkrp_case *from = &cases[k % CASES];
    if (few && from->nnz > 10000) continue;
    if (from->order < about->min_order || from->order > about->max_order) continue;
    struct problem problem;
    struct side cpu, gpu;
    char what[128];
    make_counts(from, ranks[(k + k / CASES) % RANKS], (uint64_t)k, &problem);
    polyad_plan_options options;
    polyad_plan_options_init(&options);
    options.rank = problem.rank;
    options.precision = k / CASES == 0 ? POLYAD_F32 : POLYAD_F64;
    options.format = "alto";
    side_make(&cpu, here, &problem, &options);
    options.format = format;
    options.variant = variant;
    side_make(&gpu, there, &problem, &options);
    bool atomic = strstr(variant, "atomic") != NULL || strstr(variant, "paper") != NULL;
    snprintf(what, sizeof what, "%s/%s %s", format, variant, k / CASES == 0 ? "f32" : "f64");
    for (int mode = 0; mode < from->order; ++mode)
      compare_mode(&cpu, &gpu, &problem, mode, atomic, what);
    side_free(&cpu);
    side_free(&gpu);
    problem_free(&problem);
  }
  polyad_context_destroy(here);
  polyad_context_destroy(there);
}

static void compare_all(bool few) {
  int visited = 0;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cuda");
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_GRADIENT) == NULL) continue;
    char variants[PD_REASON_BYTES], *rest = variants;
    snprintf(variants, sizeof variants, "%s", format->variants);
    for (char *v = strtok_r(variants, " ", &rest); v != NULL; v = strtok_r(NULL, " ", &rest))
      if (strcmp(format->name, "modecopy") != 0 || strncmp(v, "paper", 5) != 0) /* has no Phi */
        compare_variant(format->name, v, few);
    ++visited;
  }
  assert_true(visited > 0);
}

static void test_phi(void **state) {
  (void)state;
  compare_all(false);
}

static void test_few(void **state) {
  (void)state;
  compare_all(true);
}

GPU_TESTS(cmocka_unit_test(test_few), cmocka_unit_test(test_phi))
