/* Tucker decomposition on the GPU: the same iterates as on the CPU, orthonormal factors, ranks that
 * the data does not have. */
#include "formats/format.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
  double fit[16];
  int iterations;
};

static double entry(polyad_ttensor *model, int n, uint64_t k) {
  return polyad_ttensor_type(model) == POLYAD_F32
             ? (double)((float *)polyad_ttensor_factor(model, n))[k]
             : ((double *)polyad_ttensor_factor(model, n))[k];
}

static void check_orthonormal(polyad_ttensor *model) {
  double bound = polyad_ttensor_type(model) == POLYAD_F32 ? 1e-5 : 1e-12;
  for (int n = 0; n < polyad_ttensor_order(model); ++n) {
    uint64_t rank = polyad_ttensor_ranks(model)[n], rows = polyad_ttensor_dims(model)[n];
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s <= r; ++s) {
        double sum = 0;
        for (uint64_t i = 0; i < rows; ++i)
          sum += entry(model, n, i * rank + r) * entry(model, n, i * rank + s);
        if (!(fabs(sum - (r == s)) < bound))
          fail_msg("mode %d, columns %d and %d: inner product %.17g", n, (int)r, (int)s, sum);
      }
  }
}

static polyad_tensor *tensor_of(polyad_context *context, int order, const uint64_t *dims,
                                uint64_t nnz, polyad_type type) {
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.order = order;
  memcpy(options.dims, dims, (size_t)order * sizeof *dims);
  options.nnz = nnz;
  options.type = type;
  polyad_tensor *tensor = NULL;
  if (polyad_generate(context, &options, &tensor, NULL) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  return tensor;
}

struct request {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER], nnz;
  polyad_type type;
  polyad_svd svd;
};

static struct outcome run(const struct request *request, const char *device, const char *format) {
  struct outcome outcome = {.iterations = 0};
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  if (polyad_set_device(context, device) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  polyad_tensor *tensor =
      tensor_of(context, request->order, request->dims, request->nnz, request->type);
  polyad_plan_options plan_options;
  polyad_plan_options_init(&plan_options);
  plan_options.format = format;
  plan_options.precision = request->type;
  plan_options.kernel = POLYAD_KERNEL_TTMC;
  polyad_plan *plan = NULL;
  if (polyad_plan_create(context, tensor, &plan_options, &plan) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  polyad_tucker_options options;
  polyad_tucker_options_init(&options);
  memcpy(options.ranks, request->ranks, sizeof options.ranks);
  options.run.tolerance = 0;
  options.run.max_iterations = 8;
  options.init = POLYAD_INIT_RANDOM;
  options.svd = request->svd;
  polyad_ttensor *model = NULL;
  polyad_run_info info = {0};
  if (polyad_tucker(context, plan, &options, &model, &info) != POLYAD_OK)
    fail_msg("%s: %s", format, polyad_last_error(context));
  outcome.iterations = info.iterations;
  for (int k = 0; k < info.trace_rows && k < 16; ++k)
    outcome.fit[k] = info.trace[k].fit;
  check_orthonormal(model);
  double fit;
  assert_int_equal(polyad_ttensor_fit(context, model, tensor, &fit), POLYAD_OK);
  assert_true(fabs(fit - info.fit) < (request->type == POLYAD_F32 ? 1e-4 : 1e-10));
  polyad_run_info_clear(&info);
  polyad_ttensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
  return outcome;
}

static const struct request requests[] = {
    {3, {140, 120, 90}, {4, 3, 5}, 9000, POLYAD_F64, POLYAD_SVD_EXACT},
    {3, {140, 120, 90}, {17, 8, 16}, 9000, POLYAD_F32, POLYAD_SVD_EXACT},
    {4, {40, 30, 20, 50}, {3, 8, 2, 5}, 8000, POLYAD_F64, POLYAD_SVD_EXACT},
    {5, {12, 11, 9, 10, 8}, {2, 3, 2, 2, 3}, 3000, POLYAD_F64, POLYAD_SVD_EXACT},
    {3, {6000, 20, 15}, {10, 6, 4}, 20000, POLYAD_F64, POLYAD_SVD_EXACT},
};

static void test_same_iterates(void **state) {
  (void)state;
  static const char *const formats[] = {"coo", "alto", "modecopy"};
  for (size_t c = 0; c < sizeof requests / sizeof *requests; ++c) {
    struct outcome cpu = run(&requests[c], "cpu", "coo");
    for (int f = 0; f < 3; ++f) {
      const struct polyad_kernels *kernels = pd_kernels_find(formats[f], "cuda");
      assert_true(kernels != NULL && pd_walk_of(kernels, PD_OPS_TTMC) != NULL);
      struct outcome gpu = run(&requests[c], "cuda", formats[f]);
      assert_int_equal(gpu.iterations, cpu.iterations);
      for (int k = 0; k < cpu.iterations; ++k)
        if (!(fabs(gpu.fit[k] - cpu.fit[k]) < (requests[c].type == POLYAD_F32 ? 1e-4 : 1e-10)))
          fail_msg("%s, case %d, iteration %d: fit %.17g, %.17g on the CPU", formats[f], (int)c,
                   k + 1, gpu.fit[k], cpu.fit[k]);
    }
  }
}

static void test_randomized(void **state) {
  (void)state;
  struct request request = requests[0];
  struct outcome exact = run(&request, "cuda", "coo");
  request.svd = POLYAD_SVD_RANDOMIZED;
  struct outcome first = run(&request, "cuda", "coo"), second = run(&request, "cuda", "coo");
  assert_memory_equal(first.fit, second.fit, sizeof first.fit);
  assert_true(fabs(first.fit[7] - exact.fit[7]) < 0.02);
}

/* More columns than the other ranks give, and full ranks: factors are orthonormal all the same. */
static void test_odd_ranks(void **state) {
  (void)state;
  const struct request more = {3, {30, 20, 10}, {9, 2, 3}, 900, POLYAD_F64, POLYAD_SVD_EXACT};
  const struct request full = {3, {12, 9, 7}, {12, 9, 7}, 200, POLYAD_F64, POLYAD_SVD_EXACT};
  (void)run(&more, "cuda", "coo");
  struct outcome outcome = run(&full, "cuda", "coo");
  assert_true(outcome.fit[7] > 1 - 1e-7);
}

GPU_TESTS(cmocka_unit_test(test_same_iterates), cmocka_unit_test(test_randomized),
          cmocka_unit_test(test_odd_ranks))
