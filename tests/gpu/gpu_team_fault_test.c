/* Two GPUs that share a tensor, where a call of CUDA fails on one of them: as devices of one
 * process, which copy from each other, and as processes that NCCL connects, where the other member
 * is left in an operation that nobody else takes part in. All end with the first one's error, soon,
 * nothing is left, and the GPUs work afterwards. Threads whose team says that they are none stand
 * in for processes. */
#define _GNU_SOURCE /* dladdr */
#include "device/device_registry.h"
#include "gpu/gpu_context.h"
#include "linalg/linalg.h"
#include "unit/team_fixture.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_SECONDS = 2, SECONDS_MOST = 8 };

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

struct faulty_run {
  const struct problem *problem;
  polyad_status status;
  char message[1024];
};

static polyad_status decompose(polyad_context *context, const polyad_tensor *tensor,
                               polyad_team *team) {
  polyad_plan_options options;
  polyad_cp_als_options als;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_plan_options_init(&options);
  polyad_cp_als_options_init(&als);
  options.rank = als.rank = 4;
  options.team = team;
  als.run.max_iterations = 3;
  als.run.tolerance = 0;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK) status = __real_polyad_cp_als(context, plan, &als, &model, NULL);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  return status;
}

/* ---- devices of one process ------------------------------------------------------------------ */

static void run_devices(struct faulty_run *run) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, "cuda:0,cuda:1"), POLYAD_OK);
  polyad_tensor *tensor = problem_polyad(context, run->problem, POLYAD_F64);
  run->status = decompose(context, tensor, NULL);
  snprintf(run->message, sizeof run->message, "%s",
           run->status == POLYAD_OK ? "" : polyad_last_error(context));
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct pd_collectives of_processes[2]; /* of each member, which know of no other's memory */
static atomic_int linked;                     /* members whose data a library carries */

static polyad_status one_process(struct team_member *member) {
  const struct faulty_run *run = member->all->data;
  struct pd_collectives *collectives = &of_processes[member->rank];
  char name[32];
  *collectives = *member->team->collectives;
  collectives->one_process = false;
  member->team->collectives = collectives;
  snprintf(name, sizeof name, "cuda:%d", member->rank);
  polyad_status status = polyad_set_device(member->context, name);
  if (status != POLYAD_OK) return status;
  polyad_tensor *whole = problem_polyad(member->context, run->problem, POLYAD_F64), *share = NULL;
  status = team_share(member, whole, &share);
  if (status == POLYAD_OK) status = decompose(member->context, share, member->team);
  const struct pd_device *device = member->team->device;
  if (device != NULL && member->team->there == &device->linalg->link->collectives)
    atomic_fetch_add(&linked, 1);
  polyad_tensor_destroy(share);
  polyad_tensor_destroy(whole);
  return status;
}

static void run_processes(struct faulty_run *run) {
  struct team_case all = {.size = 2, .body = one_process, .data = run, .failing = -1};
  atomic_store(&linked, 0);
  team_run(&all);
  run->status = all.member[0].status;
  snprintf(run->message, sizeof run->message, "%s", all.member[0].message);
  assert_int_equal(all.member[1].status, run->status);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* How many of the calls are let fail: of devices each in turn, of processes, which wait seconds for
 * each other, a part. GPU_TEAM_FAULTS says another number. */
enum { OF_DEVICES = 10000, OF_PROCESSES = 60 };
static long wanted_faults(long usual) {
  const char *named = getenv("GPU_TEAM_FAULTS");
  return named == NULL ? usual : strtol(named, NULL, 10);
}

static void fail_calls(void (*run_once)(struct faulty_run *run), fail_call_function *refuse,
                       long usual) {
  struct problem problem;
  struct faulty_run run = {.problem = &problem};
  problem_make(&shape, 4, 1, &problem);
  run_once(&run); /* what is made once in a process is there */
  assert_int_equal(run.status, POLYAD_OK);
  refuse(0);
  run_once(&run);
  assert_int_equal(run.status, POLYAD_OK);
  long calls = refuse(0), step = calls / wanted_faults(usual) + 1, failed = 0, others = 0;
  double longest = 0;
  for (long k = 1; k <= calls; k += step) {
    double began = now();
    refuse(k);
    run_once(&run);
    refuse(0);
    double took = now() - began;
    longest = took > longest ? took : longest;
    failed += run.status != POLYAD_OK;
    /* The one whose call was refused has the word, whoever else has waited for it. */
    others += strstr(run.message, "gave up") != NULL;
    if (took > SECONDS_MOST) fail_msg("call %ld: %.1f s: %s", k, took, run.message);
    if (run.status != POLYAD_OK) assert_string_not_equal(run.message, "");
  }
  run_once(&run);
  assert_int_equal(run.status, POLYAD_OK);
  print_message("%ld of %ld calls: %ld failed, the longest took %.2f s, %ld told of the waiting\n",
                (calls + step - 1) / step, calls, failed, longest, others);
  assert_int_equal(others, 0);
  assert_true(2 * failed > (calls + step - 1) / step);
  problem_free(&problem);
}

static void devices_end_soon(void **state) {
  (void)state;
  fail_calls(run_devices, team_fail_call(), OF_DEVICES);
}

static void processes_end_soon(void **state) {
  (void)state;
  struct problem problem;
  struct faulty_run run = {.problem = &problem};
  fail_call_function *refuse = team_fail_call();
  problem_make(&shape, 4, 1, &problem);
  run_processes(&run);
  assert_int_equal(run.status, POLYAD_OK);
  problem_free(&problem);
  assert_int_equal(atomic_load(&linked), 2);
  fail_calls(run_processes, refuse, OF_PROCESSES);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(devices_end_soon),
                                     cmocka_unit_test(processes_end_soon)};
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
