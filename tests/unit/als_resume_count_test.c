/* What a resumed run of CP-ALS reports: the same as one that was never interrupted. */
#include "als_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* More components than factors of two rows can tell apart: every solve is singular. */
static void singular_solves_are_counted_on(void **state) {
  (void)state;
  enum { RANK = 9 };
  static const uint64_t dims[] = {2, 2, 2};
  char folder[] = "/tmp/polyad-resume-XXXXXX", path[64], previous[80];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/state", folder);
  snprintf(previous, sizeof previous, "%s.prev", path);
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 20, 4, 1);
  polyad_plan *plan = als_plan(context, tensor, RANK, POLYAD_F64);
  polyad_cp_als_options options;
  polyad_run_info whole = {0}, first = {0}, second = {0};
  polyad_ktensor *model;
  polyad_cp_als_options_init(&options);
  options.rank = RANK;
  options.run.tolerance = 0;
  options.run.max_iterations = 6;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &whole));
  polyad_ktensor_destroy(model);
  options.run.max_iterations = 4;
  options.run.checkpoint = path;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &first));
  polyad_ktensor_destroy(model);
  options.run.max_iterations = 6;
  options.run.checkpoint = NULL;
  options.run.resume = path;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &second));
  polyad_ktensor_destroy(model);
  assert_true(first.regularized_solves > 0 && whole.regularized_solves > first.regularized_solves);
  assert_int_equal(second.regularized_solves, whole.regularized_solves);
  polyad_run_info_clear(&whole);
  polyad_run_info_clear(&first);
  polyad_run_info_clear(&second);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
  (void)unlink(path);
  (void)unlink(previous);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(singular_solves_are_counted_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
