/* CP-ALS on a device whose kernels round the factors that they read, as those for tensor cores do:
 * here the CPU with a table that says so. */
#include "als_fixture.h"
#include "linalg/linalg.h"
#include "plan/plan.h"
#include "rounded_matrix.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static polyad_status round_matrix(polyad_context *context, struct pd_linalg_work *work,
                                  polyad_compute compute, const struct pd_matrix *from,
                                  struct pd_matrix *to) {
  (void)context;
  (void)work;
  rounding_of_matrix(compute, from, to);
  return POLYAD_OK;
}

static struct pd_linalg rounding_linalg;
static struct pd_device rounding_device;

static polyad_plan *plan_of(polyad_context *context, const polyad_tensor *tensor, int compute) {
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = "hls:tile-threshold=8";
  options.rank = 8;
  options.compute = (polyad_compute)compute;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  rounding_linalg = *plan->device->linalg;
  rounding_linalg.round = round_matrix;
  rounding_device = *plan->device;
  rounding_device.linalg = &rounding_linalg;
  plan->device = &rounding_device;
  return plan;
}

/* Within 1e-3 of the fit in double. Rank 8 is more than the amino acids need: their normal
 * equations are nearly singular, and with Gram matrices of other factors than MTTKRP reads the run
 * leaves the fit again. */
static void ends_near_the_fit_in_double(void **state) {
  (void)state;
  static const char *const files[] = {"aminoacids.tns.gz", "nycflights13.tns.gz"};
  for (int f = 0; f < 2; ++f) {
    char path[1024];
    double first = 0;
    snprintf(path, sizeof path, "%s/%s", POLYAD_DATA, files[f]);
    for (int compute = POLYAD_COMPUTE_NATIVE; compute <= POLYAD_COMPUTE_TF32; ++compute) {
      polyad_context *context = cpu_context(2);
      polyad_tensor *tensor = NULL;
      polyad_ktensor *model = NULL;
      polyad_run_info info = {0};
      polyad_cp_als_options options;
      double fit;
      polyad_cp_als_options_init(&options);
      options.rank = 8;
      options.run.max_iterations = f == 0 ? 200 : 20;
      options.run.tolerance = 0;
      ALS_OK(context, polyad_tensor_read(context, path, NULL, &tensor));
      polyad_plan *plan = plan_of(context, tensor, compute);
      ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
      if (compute == POLYAD_COMPUTE_NATIVE) first = info.fit;
      ALS_OK(context, polyad_ktensor_fit(context, model, tensor, &fit));
      /* The run's fit is that of the model with the stored values, which differ by rounding. */
      if (fabs(info.fit - first) > 1e-3 || fabs(fit - info.fit) > 1e-4)
        fail_msg("%s, compute type %d: fit %.6f, of the model %.6f; in double %.6f", files[f],
                 compute, info.fit, fit, first);
      polyad_run_info_clear(&info);
      polyad_ktensor_destroy(model);
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      context_end(context);
    }
  }
}

/* Ten iterations, and ten in two runs: the rounded factors are made again. */
static void resumed_run_has_the_same_bits(void **state) {
  (void)state;
  char path[] = "/tmp/polyad-compute-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  static const uint64_t dims[] = {30, 20, 25};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 4000, 3, 0);
  polyad_plan *plan = plan_of(context, tensor, POLYAD_COMPUTE_BF16);
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = 5;
  options.run.tolerance = 0;
  polyad_ktensor *model[3] = {NULL};
  for (int run = 0; run < 3; ++run) { /* unbroken, first half, second half */
    polyad_run_info info = {0};
    options.run.max_iterations = run == 1 ? 5 : 10;
    options.run.checkpoint = run == 1 ? path : NULL;
    options.run.resume = run == 2 ? path : NULL;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model[run], &info));
    polyad_run_info_clear(&info);
  }
  assert_true(als_same_model(model[0], model[2]));
  for (int run = 0; run < 3; ++run)
    polyad_ktensor_destroy(model[run]);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_near_the_fit_in_double),
      cmocka_unit_test(resumed_run_has_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
