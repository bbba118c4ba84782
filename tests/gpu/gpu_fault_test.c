/* Every CUDA call of a small run fails in turn: an error each time, nothing leaks, and the device
 * works afterwards. Memory limits on the device. */
#define _GNU_SOURCE /* dladdr */
#include "figures.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "plan/stream.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct mttkrp_case from = {"small", 3, {20, 30, 40}, 500, SHAPE_FIBERS, false};

typedef long fail_call_function(long call);

/* The module is loaded by now: this finds the same one. */
static fail_call_function *fail_call(void) {
  const struct pd_device *device = NULL;
  polyad_context *context = gpu_context();
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  polyad_context_destroy(context);
  Dl_info info;
  assert_int_not_equal(dladdr((const void *)device->functions, &info), 0);
  void *module = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(module);
  fail_call_function *found;
  *(void **)&found = dlsym(module, "pd_module_fail_call");
  assert_non_null((void *)(uintptr_t)found);
  return found;
}

/* A small run: of CP-ALS, a completion by one of its methods, or PDNR. */
struct small_run {
  const char *format;
  bool completes;
  polyad_complete_method method;
  bool streams; /* from disk, in several chunks */
  bool newton;
};

static const char *file_name(void) {
  static char name[64];
  snprintf(name, sizeof name, "gpu_fault.%ld.ptn", (long)getpid());
  return name;
}

static polyad_status stream_plan(polyad_context *context, const polyad_tensor *tensor,
                                 polyad_plan **plan) {
  const polyad_stream_options stream = {.spill_directory = ".", .chunk_nonzeros = 250};
  struct pd_request request = {.variant = "auto",
                               .rank = 4,
                               .precision = POLYAD_F64,
                               .threads = polyad_threads(context),
                               .compute = POLYAD_COMPUTE_NATIVE};
  PD_TRY(pd_device_of(context, &request.device));
  PD_TRY(polyad_tensor_write(context, tensor, file_name(), POLYAD_FILE_AUTO));
  return pd_stream_plan_create(context, file_name(), &stream, &request, false, plan);
}

/* Decompositions without the check that the linker puts around them (tests/invariant.c): that
 * brings nonzeros from the device, and may not be what is refused. */
polyad_status __real_polyad_cp_complete(polyad_context *context, const polyad_plan *plan,
                                        const polyad_cp_complete_options *options,
                                        polyad_ktensor **model, polyad_run_info *info);
polyad_status __real_polyad_cp_apr(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_apr_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);
polyad_status __real_polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);

/* PDNR tells its fit where the nonzeros can be brought back for it; *untold: they could not. */
static polyad_status decompose(polyad_context *context, const polyad_plan *plan,
                               const struct small_run *what, polyad_ktensor **model, bool *untold) {
  polyad_cp_als_options als;
  polyad_cp_complete_options complete;
  polyad_cp_apr_options apr;
  polyad_cp_apr_options_init(&apr);
  apr.rank = 4;
  apr.method = POLYAD_APR_PDNR;
  apr.run.max_iterations = 2;
  if (what->newton) {
    polyad_run_info info = {0};
    polyad_status status = __real_polyad_cp_apr(context, plan, &apr, model, &info);
    *untold = isnan(info.fit);
    polyad_run_info_clear(&info);
    return status;
  }
  polyad_cp_als_options_init(&als);
  als.rank = 4;
  als.run.max_iterations = 4; /* the last ones are recorded and replayed */
  als.run.tolerance = 0;
  if (!what->completes) return __real_polyad_cp_als(context, plan, &als, model, NULL);
  polyad_cp_complete_options_init(&complete);
  complete.rank = 4;
  complete.method = what->method;
  complete.biases = 1;
  complete.validation_share = 0.2;
  complete.run.max_iterations = 2;
  return __real_polyad_cp_complete(context, plan, &complete, model, NULL);
}

static polyad_status run(const struct small_run *what, bool *leaked, bool *untold) {
  struct problem problem;
  polyad_context *context = gpu_context();
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  *untold = false;
  problem_make(&from, 4, 1, &problem);
  for (size_t p = 0; p < problem.entries && what->newton; ++p) /* counts */
    problem.value[p] = 1 + (double)(p % 3);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  polyad_plan_options_init(&options);
  options.format = what->format;
  options.rank = 4;
  polyad_status status = what->streams ? stream_plan(context, tensor, &plan)
                                       : polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK) status = decompose(context, plan, what, &model, untold);
  if (status != POLYAD_OK) assert_string_not_equal(polyad_last_error(context), "");
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  if (what->streams) unlink(file_name());
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
  *leaked = polyad_memory_in_use(context) != 0;
  polyad_context_destroy(context);
  return status;
}

/* Bytes that the library holds on the device. Free memory of the whole device would not tell: the
 * driver keeps what it took for modules, local memory and small allocations. */
static uint64_t bytes_held(void) {
  const struct pd_device *device = NULL;
  const uint64_t limit = UINT64_C(64) << 20; /* below what is free, so that it decides */
  polyad_context *context = gpu_context();
  assert_int_equal(polyad_set_memory_limit(context, limit), POLYAD_OK);
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  uint64_t left = device->functions->memory_available(context, device);
  polyad_context_destroy(context);
  return limit - left;
}

enum { FAILING_CALLS_LEAST = 300 };

/* 1, or, in the run that must fail for want of points, how many calls are passed over. */
static long every(void) {
  const char *named = getenv("GPU_FAULT_EVERY");
  return named == NULL ? 1 : strtol(named, NULL, 10);
}

/* Lets every `step`-th call of a run fail in turn, and returns how many did. */
static long sweep(fail_call_function *refuse, const struct small_run *what, long step) {
  bool leaked, untold;
  refuse(0);
  assert_int_equal(run(what, &leaked, &untold), POLYAD_OK);
  assert_false(untold);
  long calls = refuse(0);
  long failed = 0;
  assert_true(calls > 50);
  for (long k = 1; k <= calls; k += step) {
    refuse(k);
    polyad_status status = run(what, &leaked, &untold);
    refuse(0);
    if (status != POLYAD_DEVICE && (status != POLYAD_OK || !untold))
      fail_msg("%s, call %ld: status %d", what->format, k, status);
    assert_false(leaked);
    assert_int_equal(bytes_held(), 0);
    ++failed;
  }
  assert_int_equal(run(what, &leaked, &untold), POLYAD_OK);
  assert_int_equal(bytes_held(), 0);
  return failed;
}

/* Free memory of the whole device: what the driver keeps in pools counts as taken. */
static uint64_t bytes_free(void) {
  const struct pd_device *device = NULL;
  polyad_context *context = gpu_context();
  assert_int_equal(polyad_set_memory_limit(context, UINT64_MAX), POLYAD_OK);
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  uint64_t left = device->functions->memory_available(context, device);
  polyad_context_destroy(context);
  return left;
}

/* Bytes of the device that some sweeps took and did not give back. A third of the calls will do:
 * each way out of a function is left by many of them. */
static uint64_t taken_by_sweeps(fail_call_function *refuse, const struct small_run *what) {
  enum { AGAIN = 2, STEP = 3 };
  uint64_t before = bytes_free();
  for (int k = 0; k < AGAIN; ++k)
    (void)sweep(refuse, what, STEP * every());
  uint64_t after = bytes_free();
  return after < before ? before - after : 0;
}

/* Pools are full after the first sweep, so later ones take no more from the device: thousands of
 * failing runs that left anything behind would. The driver may take one more block, but not again
 * and again. */
static void test_every_call_fails(void **state) {
  (void)state;
  static const struct small_run runs[] = {
      {.format = "modecopy"},
      {.format = "flycoo"},
      {.format = "hls"},
      {.format = "mmcsf"},
      {.format = "twotree"},
      {.format = "coo", .completes = true, .method = POLYAD_COMPLETE_ALS},
      {.format = "coo", .completes = true, .method = POLYAD_COMPLETE_CCD},
      {.format = "coo", .newton = true},
      {.format = "blco", .newton = true},
      {.format = "streamed", .streams = true}};
  fail_call_function *refuse = fail_call();
  long failed = 0;
  for (size_t f = 0; f < sizeof runs / sizeof *runs; ++f) {
    bool leaked, untold;
    assert_int_equal(run(&runs[f], &leaked, &untold), POLYAD_OK);
    failed += sweep(refuse, &runs[f], every());
    uint64_t first = taken_by_sweeps(refuse, &runs[f]);
    uint64_t second = first > 0 ? taken_by_sweeps(refuse, &runs[f]) : 0;
    print_message("%s: %ld calls so far\n", runs[f].format, failed);
    if (second > 0)
      fail_msg("%s: %llu bytes are gone, then %llu", runs[f].format, (unsigned long long)first,
               (unsigned long long)second);
  }
  print_message("%ld calls failed in turn\n", failed);
  assert_true(failed >= FAILING_CALLS_LEAST);
  if (every() == 1) record_figures("gpu_failing_calls", 1, (struct figure[]){{"calls", failed}});
}

static void test_memory_limit(void **state) {
  (void)state;
  const struct pd_device *device = NULL;
  void *pointer = NULL;
  polyad_context *context = gpu_context();
  assert_int_equal(polyad_set_memory_limit(context, 1 << 20), POLYAD_OK);
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  assert_int_equal(device->functions->allocate(context, device, 2 << 20, &pointer),
                   POLYAD_MEMORY_LIMIT);
  assert_null(pointer);
  assert_non_null(strstr(polyad_last_error(context), "2.0 MiB"));
  polyad_context_destroy(context);
}

static void test_out_of_memory(void **state) {
  (void)state;
  const struct pd_device *device = NULL;
  void *pointer = NULL;
  polyad_context *context = gpu_context();
  assert_int_equal(polyad_set_memory_limit(context, UINT64_MAX), POLYAD_OK);
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  assert_int_equal(device->functions->allocate(context, device, UINT64_C(1) << 44, &pointer),
                   POLYAD_OUT_OF_MEMORY);
  assert_null(pointer);
  assert_non_null(strstr(polyad_last_error(context), "16.0 TiB"));
  polyad_context_destroy(context);
}

GPU_TESTS(cmocka_unit_test(test_every_call_fails), cmocka_unit_test(test_memory_limit),
          cmocka_unit_test(test_out_of_memory))
