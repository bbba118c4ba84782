/* Two GPUs that NCCL connects, where a call of CUDA fails on one of them: inside an operation of
 * NCCL that leaves the other in one that nobody else takes part in. Both end with the first one's
 * error, soon, nothing is left, and the GPUs work afterwards. */
#define _GNU_SOURCE /* dladdr */
#include "device/device_registry.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_SECONDS = 3, SECONDS_MOST = 8 };

typedef long fail_call_function(long call);

static fail_call_function *team_fail_call(void) {
  struct pd_device_list list;
  polyad_context *context = gpu_context();
  assert_int_equal(pd_device_list_of(context, &list), POLYAD_OK);
  polyad_context_destroy(context);
  Dl_info info;
  assert_int_not_equal(dladdr((const void *)list.device[0]->functions, &info), 0);
  void *module = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(module);
  fail_call_function *found;
  *(void **)&found = dlsym(module, "pd_module_fail_call");
  assert_non_null((void *)(uintptr_t)found);
  return found;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Decompositions without the check that the linker puts around them (tests/invariant.c). */
polyad_status __real_polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);

static const struct mttkrp_case shape = {"team", 3, {200, 300, 400}, 5000, SHAPE_FIBERS, false};
static bool linked; /* NCCL carried the data */

static void listen(void *user, polyad_log_level level, const char *message) {
  (void)user;
  (void)level;
  if (strstr(message, "no library carries") != NULL) linked = false;
}

static polyad_status run_team(const struct problem *problem, char *message, size_t size) {
  polyad_context *context;
  polyad_plan_options options;
  polyad_cp_als_options als;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "cuda:0,cuda:1"), POLYAD_OK);
  linked = true;
  polyad_set_log(context, POLYAD_LOG_INFO, listen, NULL);
  polyad_tensor *tensor = problem_polyad(context, problem, POLYAD_F64);
  polyad_plan_options_init(&options);
  polyad_cp_als_options_init(&als);
  options.rank = als.rank = 4;
  als.run.max_iterations = 3;
  als.run.tolerance = 0;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK) status = __real_polyad_cp_als(context, plan, &als, &model, NULL);
  snprintf(message, size, "%s", status == POLYAD_OK ? "" : polyad_last_error(context));
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
  return status;
}

/* How many of the calls are let fail: GPU_TEAM_FAULTS, else 60. */
static long wanted_faults(void) {
  const char *named = getenv("GPU_TEAM_FAULTS");
  return named == NULL ? 60 : strtol(named, NULL, 10);
}

static void faults_end_soon(void **state) {
  (void)state;
  struct problem problem;
  char message[1024];
  fail_call_function *refuse = team_fail_call();
  problem_make(&shape, 4, 1, &problem);
  refuse(0);
  assert_int_equal(run_team(&problem, message, sizeof message), POLYAD_OK);
  assert_true(linked);
  long calls = refuse(0), step = calls / wanted_faults() + 1, failed = 0, others = 0;
  double longest = 0;
  for (long k = 1; k <= calls; k += step) {
    double began = now();
    refuse(k);
    polyad_status status = run_team(&problem, message, sizeof message);
    refuse(0);
    double took = now() - began;
    longest = took > longest ? took : longest;
    failed += status != POLYAD_OK;
    /* The one whose call was refused has the word, whoever else has waited for it. */
    others += strstr(message, "gave up") != NULL;
    if (took > SECONDS_MOST) fail_msg("call %ld: %.1f s: %s", k, took, message);
    if (status != POLYAD_OK) assert_string_not_equal(message, "");
  }
  assert_int_equal(run_team(&problem, message, sizeof message), POLYAD_OK);
  print_message("%ld of %ld calls: %ld failed, the longest took %.2f s, %ld told of the waiting\n",
                (calls + step - 1) / step, calls, failed, longest, others);
  assert_int_equal(others, 0);
  assert_true(2 * failed > (calls + step - 1) / step);
  problem_free(&problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(faults_end_soon)};
  char seconds[16];
  polyad_context *context = NULL;
  snprintf(seconds, sizeof seconds, "%d", TIMEOUT_SECONDS);
  if (setenv("POLYAD_NCCL_TIMEOUT", seconds, 1) != 0) return 1;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  bool two = polyad_set_device(context, "cuda:0,cuda:1") == POLYAD_OK;
  if (!two) fprintf(stderr, "skipped: %s\n", polyad_last_error(context));
  polyad_context_destroy(context);
  return two ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
