#include "gpu/gpu_context.h"
#include "tensor/ktensor.h"
#include <math.h>
#include <stdio.h>

int gpu_missing(void) {
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  const char *why = polyad_device_why_not(context, "cuda");
  if (why[0] != '\0') fprintf(stderr, "skipped: %s\n", why);
  int missing = why[0] != '\0' ? 77 : 0;
  /* The module registers its kernels when it is loaded: tests look for them. */
  if (missing == 0 && polyad_set_device(context, "cuda") != POLYAD_OK) missing = 1;
  polyad_context_destroy(context);
  return missing;
}

polyad_context *gpu_context(void) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  if (polyad_set_device(context, "cuda") != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  return context;
}

polyad_plan *gpu_plan(polyad_context *context, const struct problem *problem,
                      const polyad_plan_options *options) {
  polyad_tensor *tensor = problem_polyad(context, problem, options->precision);
  polyad_plan *plan = NULL;
  if (polyad_plan_create(context, tensor, options, &plan) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  polyad_tensor_destroy(tensor);
  if (pd_plan_check(context, plan) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  return plan;
}

polyad_plan *gpu_plan_of(polyad_context *context, const polyad_tensor *tensor, const char *format,
                         uint64_t rank, polyad_type type) {
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = rank;
  options.precision = type;
  if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  return plan;
}

double gpu_als_fit(polyad_context *context, const polyad_plan *plan, const polyad_tensor *tensor,
                   const polyad_cp_als_options *options, polyad_run_info *info) {
  polyad_ktensor *model = NULL;
  double fit = NAN;
  if (polyad_cp_als(context, plan, options, &model, info) != POLYAD_OK ||
      polyad_ktensor_fit(context, model, tensor, &fit) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  if (!(fabs(fit - info->fit) <= info->fit_bound + 1e-6))
    fail_msg("%s, rank %d: fit %.9g, of the model %.9g, bound %.3g", polyad_plan_format(plan),
             (int)options->rank, info->fit, fit, info->fit_bound);
  polyad_ktensor_destroy(model);
  return fit;
}

void gpu_same_models(polyad_ktensor *found, polyad_ktensor *expected) {
  size_t row = pd_type_bytes(found->type) * found->rank;
  assert_memory_equal(found->weights, expected->weights, row);
  for (int n = 0; n < found->order; ++n)
    assert_memory_equal(found->factor[n], expected->factor[n], row * found->dims[n]);
  polyad_ktensor_destroy(found);
  polyad_ktensor_destroy(expected);
}
