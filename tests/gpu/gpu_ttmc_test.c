/* The tensor-times-matrix chain of the GPU's formats, all variants, against the oracle;
 * determinism. */
#include "formats/format.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "property/ttmc_case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More work than the CPU's cases: several segments of a row, several blocks. */
static const struct ttmc_case large_cases[] = {
    {{"ranks 8", 3, {160, 50, 40}, 40000, SHAPE_UNIFORM, true}, {8, 8, 8}},
    {{"ranks 16", 3, {2, 900, 1100}, 30000, SHAPE_FIBERS, false}, {2, 16, 16}},
    {{"ranks 17", 3, {300, 200, 100}, 20000, SHAPE_HEAVY, false}, {17, 17, 17}},
    {{"ranks 32", 3, {300, 40, 50}, 8000, SHAPE_FIBERS, true}, {32, 32, 32}},
    {{"ranks 64", 3, {70, 80, 90}, 1500, SHAPE_UNIFORM, false}, {64, 64, 64}},
    {{"unequal", 3, {400, 300, 20}, 30000, SHAPE_HEAVY, false}, {1, 33, 5}},
    {{"one row", 3, {1, 500, 400}, 30000, SHAPE_UNIFORM, false}, {1, 7, 12}},
    {{"order 4", 4, {25, 24, 110, 170}, 8000, SHAPE_FIBERS, true}, {8, 3, 16, 5}},
    {{"order 5", 5, {12, 11, 2, 10, 9}, 5000, SHAPE_HEAVY, false}, {4, 8, 2, 3, 5}},
    {{"order 6", 6, {16, 15, 7, 4, 8, 13}, 3000, SHAPE_UNIFORM, true}, {2, 4, 3, 4, 2, 3}},
    {{"order 8", 8, {30, 20, 4, 20, 3, 2, 3, 200}, 2000, SHAPE_UNIFORM, true},
     {2, 3, 2, 2, 3, 2, 1, 4}},
};
enum { LARGE = sizeof large_cases / sizeof *large_cases };

static polyad_plan *plan_of(polyad_context *context, const struct ttmc_problem *problem,
                            const char *format, const char *variant, polyad_type type) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.precision = type;
  options.kernel = POLYAD_KERNEL_TTMC;
  return gpu_plan(context, &problem->tensor, &options);
}

/* Whether the default variant sums in a fixed order, and in float64: hls sums in float32. */
static bool in_order(const struct polyad_format *format) {
  return !pd_walk_of(pd_kernels_find(format->name, "cuda"), PD_OPS_TTMC)->any_order &&
         strcmp(format->name, "hls") != 0;
}

static void compare_case(const struct ttmc_case *from, const char *format, const char *variant,
                         int turn) {
  const struct polyad_format *about = pd_format_find(format);
  if (from->tensor.order < about->min_order || from->tensor.order > about->max_order) return;
  /* hls adds in float where it adds atomically. */
  bool narrow = turn % 2 || (strcmp(format, "hls") == 0 && strncmp(variant, "paper", 5) == 0);
  polyad_context *context = gpu_context();
  polyad_type type = narrow ? POLYAD_F32 : POLYAD_F64;
  struct ttmc_problem problem;
  ttmc_problem_make(from, (uint64_t)turn, &problem);
  polyad_plan *plan = plan_of(context, &problem, format, variant, type);
  char what[128];
  snprintf(what, sizeof what, "%s/%s %s on a GPU", format, variant, narrow ? "f32" : "f64");
  bool atomic = strcmp(variant, "auto") != 0 || !in_order(about);
  ttmc_problem_compare(context, plan, &problem, atomic, what);
  polyad_plan_destroy(plan);
  ttmc_problem_free(&problem);
  polyad_context_destroy(context);
}

/* Calls `visit` for every format with a chain on the GPU and each of its variants that a GPU takes.
 */
static int each_variant(void (*visit)(const char *format, const char *variant)) {
  int formats = 0;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cuda");
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_TTMC) == NULL) continue;
    ++formats;
    char variants[PD_REASON_BYTES], *rest = variants;
    snprintf(variants, sizeof variants, "%s",
             kernels->variants != NULL ? kernels->variants : format->variants);
    for (char *v = strtok_r(variants, " ", &rest); v != NULL; v = strtok_r(NULL, " ", &rest))
      if (strcmp(v, "tiled") != 0) visit(format->name, v);
  }
  return formats;
}

static void all_cases(const char *format, const char *variant) {
  for (int c = 0; c < ttmc_case_count; ++c)
    compare_case(&ttmc_cases[c], format, variant, c);
  for (int c = 0; c < LARGE; ++c)
    compare_case(&large_cases[c], format, variant, c + 1);
}

static void test_against_oracle(void **state) {
  (void)state;
  assert_true(each_variant(all_cases) >= 3); /* alto, coo, modecopy */
}

static void few_cases(const char *format, const char *variant) {
  compare_case(&large_cases[9], format, variant, 0);
  compare_case(&large_cases[4], format, variant, 1);
}

/* What compute-sanitizer has the time for. */
static void test_few(void **state) {
  (void)state;
  each_variant(few_cases);
}

/* The default variant gives the same bits every time, also from a plan made again. */
static void same_bits(const char *format, const char *variant) {
  if (strcmp(variant, "auto") != 0 || !in_order(pd_format_find(format))) return;
  const struct ttmc_case *from = &large_cases[2];
  size_t count = 0;
  double *out[3] = {NULL};
  struct ttmc_problem problem;
  ttmc_problem_make(from, 3, &problem);
  count = (size_t)from->tensor.dims[0] * ttmc_problem_columns(&problem, 0);
  for (int k = 0; k < 3; ++k) {
    polyad_context *context = gpu_context();
    polyad_plan *plan = plan_of(context, &problem, format, variant, POLYAD_F32);
    polyad_workspace *workspace = NULL;
    if (polyad_ttmc_workspace_create(context, plan, from->ranks, &workspace) != POLYAD_OK)
      fail_msg("%s", polyad_last_error(context));
    out[k] = malloc(count * sizeof(double));
    assert_non_null(out[k]);
    ttmc_problem_run(context, plan, workspace, &problem, 0, out[k]);
    if (k > 0) assert_memory_equal(out[0], out[k], count * sizeof(double));
    polyad_workspace_destroy(workspace);
    polyad_plan_destroy(plan);
    polyad_context_destroy(context);
  }
  for (int k = 0; k < 3; ++k)
    free(out[k]);
  ttmc_problem_free(&problem);
}

static void test_same_bits(void **state) {
  (void)state;
  each_variant(same_bits);
}

GPU_TESTS(cmocka_unit_test(test_against_oracle), cmocka_unit_test(test_same_bits),
          cmocka_unit_test(test_few))
