/* Contexts on the first GPU, for the tests that need one. */
#ifndef GPU_CONTEXT_H
#define GPU_CONTEXT_H

#include "harness.h"
#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <polyad/polyad.h>

/* 0 when there is a GPU, else 77 (CTest's "skipped") after saying why there is none. */
int gpu_missing(void);

polyad_context *gpu_context(void);

/* A checked plan of the problem. */
polyad_plan *gpu_plan(polyad_context *context, const struct problem *problem,
                      const polyad_plan_options *options);
/* A plan of the tensor, in a format and for so many components. */
polyad_plan *gpu_plan_of(polyad_context *context, const polyad_tensor *tensor, const char *format,
                         uint64_t rank, polyad_type type);

/* Runs CP-ALS, whose fit must be that of its model, which is returned. The caller clears `info`. */
double gpu_als_fit(polyad_context *context, const polyad_plan *plan, const polyad_tensor *tensor,
                   const polyad_cp_als_options *options, polyad_run_info *info);

/* Compares two models bit by bit, and destroys both. */
void gpu_same_models(polyad_ktensor *found, polyad_ktensor *expected);

/* A program of these tests: skipped without a GPU; an argument names the one test to run. */
#define GPU_TESTS(...)                                                                             \
  int main(int count, char **arguments) {                                                          \
    const struct CMUnitTest tests[] = {__VA_ARGS__};                                               \
    int missing = gpu_missing();                                                                   \
    if (missing != 0) return missing;                                                              \
    if (count > 1) cmocka_set_test_filter(arguments[1]);                                           \
    return cmocka_run_group_tests(tests, NULL, NULL);                                              \
  }

#endif
