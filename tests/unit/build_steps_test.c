/* What formats build on a device has the bits of what the host builds. The device here is the host,
 * with the steps of host_steps.h. */
#include "core/radix_sort.h"
#include "device/build.h"
#include "device/build_steps.h"
#include "formats/blco/blco_layout.h"
#include "formats/sent.h"
#include "harness.h"
#include "plan/plan_create.h"
#include "portable/portable_launch.h"
#include "tensor/tuple_hash.h"
#include "unit/built_cases.h"
#include "unit/host_steps.h"
#include "unit/same_storage.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing --------------------------------------------------------------------------------
 */

static polyad_status run_rows(polyad_context *context, const struct pd_device *device,
                              const struct pd_rows_launch *launch) {
  (void)context, (void)device, (void)launch;
  fail_msg("nothing is to be computed");
  return POLYAD_INTERNAL;
}

static const struct pd_rows_shape *shape(const struct pd_device *device) {
  static const struct pd_rows_shape any = {.alignment = 16};
  (void)device;
  return &any;
}

/* A device whose memory is the host's, but nobody else knows that. */
static void make_device(struct pd_device_functions *functions, struct pd_device *device) {
  *functions = *pd_cpu_device.functions;
  functions->build = &host_steps;
  functions->host_memory = false;
  functions->rows = run_rows;
  functions->rows_shape = shape;
  *device = pd_cpu_device;
  device->kind = "far";
  device->functions = functions;
}

/* What is asked for of a format. */
struct asked {
  const char *format, *variant;
  polyad_compute compute;
  int parameter; /* its first one; 0: not given */
};

static void compare(polyad_context *context, const struct asked *asked,
                    const struct mttkrp_case *from, polyad_type type, uint64_t rank) {
  struct problem problem;
  problem_make(from, 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, type), *back;
  const struct polyad_format *format = pd_format_find(asked->format);
  struct pd_device_functions functions;
  struct pd_device device;
  struct pd_traits traits;
  make_device(&functions, &device);
  struct pd_request request = {.variant = asked->variant,
                               .rank = rank,
                               .precision = type,
                               .compute = asked->compute,
                               .parameter = {asked->parameter},
                               .threads = 2,
                               .device = &device,
                               .traits = &traits};
  void *wanted, *found;
  char reason[PD_REASON_BYTES];
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  if (tensor->order >= format->min_order && tensor->order <= format->max_order &&
      format->supports(&traits, &request, reason)) {
    assert_true(format->bytes_there(&traits, &request, 0) > 0);
    assert_int_equal(pd_storage_build(context, format, tensor, false, &request, &wanted),
                     POLYAD_OK);
    assert_int_equal(pd_storage_begin(context, format, tensor, &request, &found), POLYAD_OK);
    assert_int_equal(pd_sent_build(context, format, tensor, &request, found), POLYAD_OK);
    if (strcmp(format->name, "blco") == 0) /* the text tells how long ordering took */
      ((struct pd_blco *)found)->seconds_order = ((struct pd_blco *)wanted)->seconds_order;
    assert_same_storage(from->name, format, found, wanted);
    assert_int_equal(format->check(context, found), POLYAD_OK);
    assert_int_equal(pd_storage_expand(context, format, found, tensor, &back), POLYAD_OK);
    if (asked->compute == POLYAD_COMPUTE_NATIVE) /* others round the values */
      assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
    polyad_tensor_destroy(back);
    pd_storage_free(context, format, wanted);
    pd_storage_free(context, format, found);
  }
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void test_same_storage(void **state) {
  (void)state;
  static const struct asked built[] = {{"modecopy", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"portable", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"portable", "atomic", POLYAD_COMPUTE_NATIVE, 0},
                                       {"coo", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"coo", "plain", POLYAD_COMPUTE_NATIVE, 0},
                                       {"coo", "paper", POLYAD_COMPUTE_NATIVE, 0},
                                       {"twotree", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"alto", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"alto", "keys-pull", POLYAD_COMPUTE_NATIVE, 0},
                                       {"alto", "keys-atomic", POLYAD_COMPUTE_NATIVE, 0},
                                       {"alto", "coo-pull", POLYAD_COMPUTE_NATIVE, 0},
                                       {"alto", "coo-atomic", POLYAD_COMPUTE_NATIVE, 0},
                                       {"blco", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"blco", "auto", POLYAD_COMPUTE_NATIVE, 2},
                                       {"flycoo", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"flycoo", "cyclic", POLYAD_COMPUTE_NATIVE, 7},
                                       {"flycoo", "paper", POLYAD_COMPUTE_NATIVE, 0},
                                       {"flycoo", "paper-cyclic", POLYAD_COMPUTE_NATIVE, 5},
                                       {"hls", "auto", POLYAD_COMPUTE_NATIVE, 0},
                                       {"hls", "auto", POLYAD_COMPUTE_F16, 4},
                                       {"hls", "paper", POLYAD_COMPUTE_BF16, 1},
                                       {"hls", "auto", POLYAD_COMPUTE_TF32, 4097}};
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t b = 0; b < sizeof built / sizeof *built; ++b)
    for (size_t c = 0; c < built_case_count; ++c) {
      if (!TEST_SANITIZED || (b + c) % 2 == 0)
        compare(context, &built[b], &built_cases[c], POLYAD_F32, 32);
      if (!TEST_SANITIZED || (b + c) % 2 != 0)
        compare(context, &built[b], &built_cases[c], POLYAD_F64, 1);
    }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- a tensor that is sent once ----------------------------------------------------------------
 */

/* Traits of what is there are those of what is here, and several storages are built from it. */
static void send_once(polyad_context *context, const struct mttkrp_case *from) {
  struct problem problem;
  problem_make(from, 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F32);
  struct pd_device_functions functions;
  struct pd_device device;
  struct pd_traits here, there;
  struct pd_build *sent = NULL;
  make_device(&functions, &device);
  struct pd_request request = {.variant = "auto",
                               .rank = 8,
                               .precision = POLYAD_F32,
                               .threads = 2,
                               .device = &device,
                               .traits = &here,
                               .sent = &sent};
  assert_int_equal(pd_traits_compute(context, tensor, &here), POLYAD_OK);
  assert_int_equal(pd_sent_begin(context, tensor, &request), POLYAD_OK);
  assert_non_null(sent);
  assert_true(pd_sent_bytes(&request, tensor->nnz, tensor->order, tensor->dims) > 0);
  assert_int_equal(pd_traits_compute_sent(context, tensor, &request, &there), POLYAD_OK);
  assert_memory_equal(&here, &there, sizeof here);
  assert_int_equal(pd_traits_count_tuples(context, tensor, &request, &there), POLYAD_OK);
  request.sent = NULL;
  assert_int_equal(pd_traits_count_tuples(context, tensor, &request, &here), POLYAD_OK);
  request.sent = &sent;
  assert_memory_equal(&here, &there, sizeof here);
  static const char *const built[] = {"modecopy", "coo",  "portable", "twotree",
                                      "alto",     "blco", "flycoo"};
  for (int b = 0; b < 7; ++b) {
    request.format = pd_format_find(built[b]);
    if (tensor->order < request.format->min_order || tensor->order > request.format->max_order)
      continue;
    const struct pd_making making = {request.format, &request};
    struct pd_stored stored;
    void *wanted, *brought;
    assert_int_equal(pd_storage_build(context, request.format, tensor, false, &request, &wanted),
                     POLYAD_OK);
    assert_int_equal(pd_storage_make(context, &making, tensor, false, &stored), POLYAD_OK);
    assert_non_null(sent);
    assert_int_equal(
        pd_storage_bring(context, request.format, &device, stored.on_device, true, &brought),
        POLYAD_OK);
    assert_same_storage(from->name, request.format, brought, wanted);
    pd_storage_free(context, request.format, brought);
    pd_storage_free(context, request.format, wanted);
    pd_stored_clear(context, request.format, &device, &stored);
  }
  pd_sent_end(context, &request);
  assert_null(sent);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

/* What the device cannot take, or nobody builds from there, is not sent. */
static void send_nothing(polyad_context *context) {
  struct problem problem;
  problem_make(&built_cases[8], 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F32);
  struct pd_device_functions functions;
  struct pd_device device;
  struct pd_build *sent = NULL;
  make_device(&functions, &device);
  struct pd_request request = {.device = &device, .sent = &sent, .precision = POLYAD_F32};
  request.format = pd_format_find("fcoo"); /* the host builds it */
  assert_int_equal(pd_sent_begin(context, tensor, &request), POLYAD_OK);
  assert_null(sent);
  request.format = NULL;
  functions.build = NULL;
  assert_int_equal(pd_sent_begin(context, tensor, &request), POLYAD_OK);
  assert_null(sent);
  functions.build = &host_steps;
  assert_int_equal(polyad_set_memory_limit(context, polyad_memory_in_use(context) + 1000),
                   POLYAD_OK);
  assert_int_equal(pd_sent_begin(context, tensor, &request), POLYAD_OK);
  assert_null(sent);
  assert_int_equal(polyad_set_memory_limit(context, UINT64_MAX), POLYAD_OK);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void test_sent(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t c = 0; c < built_case_count; ++c)
    send_once(context, &built_cases[c]);
  send_nothing(context);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- whole storages ---------------------------------------------------------------------------
 */

/* A storage is built there, or on the host where the device has no room: the same arrays, of which
 * the host keeps none. */
static void make_and_bring(polyad_context *context, const char *name, const char *variant,
                           uint64_t available) {
  struct problem problem;
  problem_make(&built_cases[10], 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  struct pd_device_functions functions;
  struct pd_device device;
  make_device(&functions, &device);
  if (available == 0) functions.build = NULL;
  struct pd_request request = {
      .variant = variant, .rank = 4, .precision = POLYAD_F64, .threads = 2, .device = &device};
  const struct pd_making making = {pd_format_find(name), &request};
  struct pd_stored stored;
  void *wanted, *brought;
  uint64_t before = polyad_memory_in_use(context);
  assert_int_equal(pd_storage_build(context, making.format, tensor, false, &request, &wanted),
                   POLYAD_OK);
  uint64_t host = polyad_memory_in_use(context) - before;
  assert_int_equal(pd_storage_make(context, &making, tensor, false, &stored), POLYAD_OK);
  assert_true(stored.shed && stored.on_device != stored.storage);
  /* Here the device's memory counts too, but the host's copy is gone. */
  assert_true(polyad_memory_in_use(context) - before < 2 * host + host / 2);
  assert_true(pd_storage_bytes(making.format, stored.storage) ==
              pd_storage_bytes(making.format, wanted));
  assert_int_equal(
      pd_storage_bring(context, making.format, &device, stored.on_device, true, &brought),
      POLYAD_OK);
  assert_same_storage("made", making.format, brought, wanted);
  pd_storage_free(context, making.format, brought);
  pd_stored_clear(context, making.format, &device, &stored);
  assert_true(polyad_memory_in_use(context) - before == host);
  pd_storage_free(context, making.format, wanted);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void test_make(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (uint64_t there = 0; there < 2; ++there) {
    make_and_bring(context, "modecopy", "auto", there);
    make_and_bring(context, "modecopy", "paper", there);
    make_and_bring(context, "portable", "auto", there);
    make_and_bring(context, "coo", "auto", there);
    make_and_bring(context, "twotree", "auto", there);
    make_and_bring(context, "alto", "auto", there);
    make_and_bring(context, "blco", "auto", there);
    make_and_bring(context, "flycoo", "auto", there);
    make_and_bring(context, "hls", "auto", there);
  }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- a tensor that is there alone -------------------------------------------------------------
 */

/* The shape of a tensor whose arrays nobody here has. */
static polyad_tensor shape_of(const polyad_tensor *tensor) {
  polyad_tensor without = *tensor;
  memset(without.index, 0, sizeof without.index);
  without.values = NULL;
  return without;
}

/* A plan of it has the nonzeros, and what a plan of the tensor knows; `device` tells how much room
 * there is. */
static polyad_status plan_there(polyad_context *context, const struct pd_device *device,
                                const polyad_tensor *tensor, const char *format,
                                polyad_plan **plan) {
  struct pd_build *sent = NULL;
  polyad_plan_options options;
  polyad_tensor shape = shape_of(tensor);
  polyad_plan_options_init(&options);
  struct pd_request request = {.format = pd_format_find(format),
                               .variant = "auto",
                               .rank = 4,
                               .precision = tensor->type,
                               .threads = 2,
                               .sweeps = 15,
                               .device = device,
                               .sent = &sent};
  *plan = NULL;
  assert_int_equal(host_steps.open(context, device, tensor, &sent), POLYAD_OK);
  polyad_status status = pd_plan_create_one(context, &shape, false, &request, &options, plan);
  assert_null(sent);
  return status;
}

static void same_plan(polyad_context *context, const polyad_plan *plan,
                      const polyad_tensor *tensor) {
  polyad_tensor *back;
  assert_int_equal(pd_plan_check(context, plan), POLYAD_OK);
  assert_int_equal(pd_plan_expand(context, plan, &back), POLYAD_OK);
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
  assert_true(plan->norm == polyad_tensor_norm(tensor));
  assert_true(plan->tensor_hash == 0);
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    if (pd_tensor_value(tensor, p) >= 0) continue;
    assert_true(plan->negative.found && plan->negative.value == pd_tensor_value(tensor, p));
    break;
  }
  polyad_tensor_destroy(back);
}

/* A device whose kernels are the CPU's. */
static void make_near_device(struct pd_device_functions *functions, struct pd_device *device) {
  make_device(functions, device);
  device->kind = "cpu";
}

static void test_there_alone(void **state) {
  (void)state;
  static const char *const built[] = {"modecopy", "alto"};
  polyad_context *context = NULL;
  struct pd_device_functions functions;
  struct pd_device device;
  make_near_device(&functions, &device);
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t c = 0; c < built_case_count; ++c)
    for (size_t b = 0; b < sizeof built / sizeof *built; ++b) {
      struct problem problem;
      polyad_plan *plan;
      problem_make(&built_cases[c], 1, 3, &problem);
      polyad_tensor *tensor = problem_polyad(context, &problem, b % 2 ? POLYAD_F32 : POLYAD_F64);
      polyad_status status = plan_there(context, &device, tensor, built[b], &plan);
      if (status == POLYAD_OK) {
        assert_non_null(plan->format->build_there);
        same_plan(context, plan, tensor);
      } else if (status != POLYAD_UNSUPPORTED) {
        fail_msg("%s", polyad_last_error(context));
      }
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      problem_free(&problem);
    }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static uint64_t no_room(polyad_context *context, const struct pd_device *device) {
  (void)context, (void)device;
  return 100;
}

/* The host cannot step in for what the device cannot build. */
static void test_there_alone_is_refused(void **state) {
  (void)state;
  polyad_context *context = NULL;
  struct problem problem;
  struct pd_device_functions functions;
  struct pd_device device;
  polyad_plan *plan;
  make_near_device(&functions, &device);
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  problem_make(&built_cases[10], 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F64);
  assert_int_equal(plan_there(context, &device, tensor, "csf", &plan), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "it is built on the host"));
  functions.memory_available = no_room;
  assert_int_equal(plan_there(context, &device, tensor, "modecopy", &plan), POLYAD_MEMORY_LIMIT);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* An argument names the one test to run. */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_storage), cmocka_unit_test(test_sent), cmocka_unit_test(test_make),
      cmocka_unit_test(test_there_alone), cmocka_unit_test(test_there_alone_is_refused)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
