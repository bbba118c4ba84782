/* The tensor-times-matrix chain of the GPU's formats against the oracle. */
#include "formats/format.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "property/ttmc_case.h"
#include <stdio.h>
#include <string.h>

/* Formats named on the command line; NULL: all. */
static const char *wanted;

static void compare(const struct polyad_format *format, const struct ttmc_case *from, int turn) {
  polyad_context *context = gpu_context();
  struct ttmc_problem problem;
  polyad_plan_options options;
  char what[64];
  polyad_plan_options_init(&options);
  options.format = format->name;
  options.precision = turn % 2 ? POLYAD_F32 : POLYAD_F64;
  ttmc_problem_make(from, (uint64_t)turn, &problem);
  problem.any_order = !format->deterministic || options.precision == POLYAD_F32;
  polyad_plan *plan = gpu_plan(context, &problem.tensor, &options);
  snprintf(what, sizeof what, "%s %s", format->name, turn % 2 ? "f32" : "f64");
  ttmc_problem_compare(context, plan, &problem, what);
  polyad_plan_destroy(plan);
  ttmc_problem_free(&problem);
  polyad_context_destroy(context);
}

static void test_every_case(void **state) {
  (void)state;
  int formats = 0;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cuda");
    if (kernels == NULL || kernels->ttmc == NULL) continue;
    if (wanted != NULL && strstr(wanted, format->name) == NULL) continue;
    ++formats;
    for (int c = 0; c < ttmc_case_count; ++c) {
      int order = ttmc_cases[c].tensor.order;
      if (order < format->min_order || order > format->max_order) continue;
      for (int k = 0; k < 2; ++k)
        compare(format, &ttmc_cases[c], k);
    }
  }
  assert_true(formats > 0);
}

int main(int count, char **arguments) {
  int missing = gpu_missing();
  if (missing != 0) return missing;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_case)};
  if (count > 1) wanted = arguments[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
