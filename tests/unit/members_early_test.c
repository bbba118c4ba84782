/* Devices that are connected while something else goes on: plans that find them so are those that
 * connect them themselves, what nobody takes ends with its context, and every thread is joined. The
 * devices are the CPU's, or those that the command line names. */
#include "als_fixture.h"
#include "counted_threads.h"
#include "failing_allocator.h"
#include "plan/members.h"
#include <stdatomic.h>
#include <string.h>

static const char *devices = "cpu,cpu,cpu";

static void all_joined(void) {
  assert_int_equal(atomic_load(&threads_begun), atomic_load(&threads_ended));
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int connected; /* messages that say so */

static void hear(void *user, polyad_log_level level, const char *message) {
  (void)user;
  (void)level;
  connected += strstr(message, "connected in") != NULL;
}

static polyad_context *open_on(const char *list) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  ALS_OK(context, polyad_set_device(context, list));
  ALS_OK(context, polyad_set_threads(context, 2));
  polyad_set_log(context, POLYAD_LOG_INFO, hear, NULL);
  connected = 0;
  return context;
}

static polyad_tensor *small_tensor(polyad_context *context) {
  return als_random_tensor(context, 3, (const uint64_t[3]){30, 20, 10}, 400, 1, 0);
}

static polyad_status decompose(polyad_context *context, polyad_ktensor **model) {
  polyad_tensor *tensor = small_tensor(context);
  polyad_plan_options options;
  polyad_cp_als_options als;
  polyad_plan *plan = NULL;
  polyad_plan_options_init(&options);
  polyad_cp_als_options_init(&als);
  options.rank = als.rank = 3;
  als.run.max_iterations = 3;
  polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(context, plan, &als, model, NULL);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

static polyad_ktensor *model_of(polyad_context *context) {
  polyad_ktensor *model;
  ALS_OK(context, decompose(context, &model));
  return model;
}

/* The same model with and without, and whether the plan took what was begun. */
static void taken(void **state) {
  (void)state;
  polyad_context *plain = open_on(devices);
  polyad_ktensor *wanted = model_of(plain);
  assert_int_equal(connected, 0);
  polyad_context *context = open_on(devices);
  for (int round = 1; round <= 2; ++round) {
    ALS_OK(context, polyad_devices_start(context));
    polyad_ktensor *found = model_of(context);
    assert_int_equal(connected, round);
    assert_true(als_same_model(found, wanted));
    polyad_ktensor_destroy(found);
  }
  polyad_ktensor *again = model_of(context); /* nothing was begun for it */
  assert_int_equal(connected, 2);
  polyad_ktensor_destroy(again);
  polyad_ktensor_destroy(wanted);
  als_context_end(context);
  als_context_end(plain);
  all_joined();
}

/* Begun and never needed, begun twice, and begun for other devices. */
static void not_taken(void **state) {
  (void)state;
  polyad_context *context = open_on(devices);
  ALS_OK(context, polyad_devices_start(context));
  polyad_context_destroy(context);
  all_joined();

  context = open_on(devices);
  ALS_OK(context, polyad_devices_start(context));
  ALS_OK(context, polyad_devices_start(context));
  polyad_ktensor *model = model_of(context);
  assert_int_equal(connected, 1);
  polyad_ktensor_destroy(model);
  als_context_end(context);
  all_joined();

  context = open_on(devices);
  ALS_OK(context, polyad_devices_start(context));
  ALS_OK(context, polyad_set_device(context, "cpu,cpu,cpu,cpu"));
  model = model_of(context);
  assert_int_equal(connected, 0);
  polyad_ktensor_destroy(model);
  als_context_end(context);
  all_joined();
}

/* One device: nothing is begun. */
static void nothing_to_begin(void **state) {
  (void)state;
  static const char *const lists[] = {"cpu", "auto"};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; ++k) {
    polyad_context *context = open_on(lists[k]);
    int begun = atomic_load(&threads_begun);
    ALS_OK(context, polyad_devices_start(context));
    assert_int_equal(atomic_load(&threads_begun), begun);
    als_context_end(context);
  }
}

/* Where no thread can be started the plan does all itself. */
static void without_threads(void **state) {
  (void)state;
  polyad_context *context = open_on(devices);
  atomic_store(&threads_refused, true);
  ALS_OK(context, polyad_devices_start(context));
  atomic_store(&threads_refused, false);
  polyad_ktensor *model = model_of(context);
  assert_int_equal(connected, 0);
  polyad_ktensor_destroy(model);
  als_context_end(context);
  all_joined();
}

/* A caller that cancels gets what it would get without, and no thread stays. */
static void cancelled(void **state) {
  (void)state;
  polyad_context *context = open_on(devices);
  polyad_ktensor *model = NULL;
  ALS_OK(context, polyad_devices_start(context));
  polyad_cancel(context);
  assert_int_equal(decompose(context, &model), POLYAD_CANCELLED);
  assert_null(model);
  als_context_end(context);
  all_joined();
}

/* The n-th allocation fails, on whatever thread: what was begun is taken, or it is not there. */
static polyad_status begin_and_take(polyad_context *context, void *data) {
  struct pd_device_list list;
  (void)data;
  PD_TRY(polyad_set_device(context, devices));
  PD_TRY(polyad_devices_start(context));
  PD_TRY(pd_device_list_of(context, &list));
  struct pd_members *members = pd_members_early_take(context, &list);
  bool made = members != NULL;
  pd_members_destroy(members);
  return made ? POLYAD_OK : pd_fail(context, POLYAD_OUT_OF_MEMORY, "it failed beside the caller");
}

static void failing_allocations(void **state) {
  (void)state;
  assert_true(sweep_single_failures(begin_and_take, NULL, 1) > 10);
  assert_true(sweep_failures(begin_and_take, NULL, 1) > 10);
  all_joined();
}

/* GPUs take a second to connect: no sweep on them. */
static const struct CMUnitTest tests[] = {
    cmocka_unit_test(taken), cmocka_unit_test(not_taken), cmocka_unit_test(without_threads),
    cmocka_unit_test(cancelled), cmocka_unit_test(nothing_to_begin)};
static const struct CMUnitTest sweeps[] = {cmocka_unit_test(failing_allocations)};

/* Without the devices there is nothing to test: CTest's "skipped". */
static bool devices_missing(void) {
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return false;
  bool missing = polyad_set_device(context, devices) == POLYAD_DEVICE;
  if (missing) fprintf(stderr, "skipped: %s\n", polyad_last_error(context));
  polyad_context_destroy(context);
  return missing;
}

int main(int argc, char **argv) {
  if (argc > 1) devices = argv[1];
  if (devices_missing()) return 77;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return argc > 1 ? failed : failed + cmocka_run_group_tests(sweeps, NULL, NULL);
}
