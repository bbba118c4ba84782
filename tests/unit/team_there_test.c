/* Members whose devices deal the nonzeros of a team's tensor and sort their own, beside members
 * whose hosts do: the same parts, the same storages and the same facts. A member whose device
 * cannot sends all to the hosts, and one that fails ends all. The devices are the CPU with the
 * steps of host_steps.h. */
#include "device/device.h"
#include "host_steps.h"
#include "linalg/linalg.h"
#include "plan/part.h"
#include "team_fixture.h"
#include "team_parts.h"
#include <stdatomic.h>
#include <string.h>

static const int sizes[] = {1, 2, 3, 4, 6};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- devices --------------------------------------------------------------------------------- */

/* What goes wrong on the device of a member. */
enum fault { NO_FAULT, NO_ROOM, NO_ROOM_TO_SORT, NO_ROOM_TO_BUILD, LOST, FAULTS };

static struct pd_device_build steps;
static struct pd_device_functions functions[2]; /* of devices that build, and of others */
static struct pd_device device[2][TEAM_MOST];
static enum fault fault;
static const struct pd_device *faulty;
static atomic_int dealt; /* shares that a device has dealt */

static polyad_status count_deal(polyad_context *context, struct pd_build *build,
                                const struct pd_build_grid *grid, uint64_t *count) {
  atomic_fetch_add(&dealt, 1);
  return host_steps.deal(context, build, grid, count);
}

static polyad_status open_or_fail(polyad_context *context, const struct pd_device *on,
                                  const polyad_tensor_input *input, struct pd_build **build) {
  if (on == faulty && fault == NO_ROOM_TO_SORT)
    return pd_fail(context, POLYAD_OUT_OF_MEMORY, "%s is out of memory", on->name);
  if (on == faulty && fault == LOST) return pd_fail(context, POLYAD_DEVICE, "the device is lost");
  return host_steps.open_arrays(context, on, input, build);
}

/* More than storages take, so that there can be room for these alone. */
static uint64_t many_bytes(uint64_t nnz, int order, const uint64_t *dims, polyad_type type) {
  (void)order, (void)dims, (void)type;
  return 400 * nnz;
}

static uint64_t room(polyad_context *context, const struct pd_device *on) {
  (void)context;
  if (on != faulty) return UINT64_C(1) << 40;
  if (fault == NO_ROOM) return UINT64_C(1) << 15;
  return fault == NO_ROOM_TO_BUILD ? UINT64_C(1) << 16 : UINT64_C(1) << 40;
}

static int make_devices(void **state) {
  (void)state;
  static struct pd_linalg linalg;
  linalg = pd_cpu_linalg;
  steps = host_steps;
  steps.deal = count_deal;
  steps.open_arrays = open_or_fail;
  steps.bytes = many_bytes;
  for (int b = 0; b < 2; ++b) {
    functions[b] = *pd_cpu_device.functions;
    functions[b].host_memory = false;
    functions[b].copy_peer = NULL;
    functions[b].build = b == 0 ? &steps : NULL;
    functions[b].memory_available = room;
    for (int k = 0; k < TEAM_MOST; ++k) {
      device[b][k] = pd_cpu_device; /* whose kernels there are */
      device[b][k].unit = (uint64_t)k + 1;
      device[b][k].functions = &functions[b];
      device[b][k].linalg = &linalg;
    }
  }
  return 0;
}

/* ---- one member ------------------------------------------------------------------------------ */

struct shared {
  const polyad_tensor *tensor;
  bool repeats; /* every member hands in the whole tensor */
  const char *different;
};

static polyad_status share_of(struct team_member *member, polyad_tensor **share) {
  const struct shared *shared = member->all->data;
  if (!shared->repeats) return team_share(member, shared->tensor, share);
  return polyad_tensor_convert(member->context, shared->tensor, shared->tensor->type, share);
}

static polyad_status part_plan(struct team_member *member, const struct pd_device *on,
                               polyad_plan **plan) {
  polyad_plan_options options;
  polyad_tensor *share;
  PD_TRY(share_of(member, &share));
  polyad_plan_options_init(&options);
  options.team = member->team;
  struct pd_request request = {.format = pd_format_find("modecopy"),
                               .variant = "auto",
                               .rank = 4,
                               .precision = share->type,
                               .threads = 1,
                               .sweeps = 15,
                               .device = on};
  polyad_status status = pd_part_plan_create(member->context, share, &request, &options, plan);
  polyad_tensor_destroy(share);
  return status;
}

static polyad_status both_ways(struct team_member *member) {
  struct shared *shared = member->all->data;
  polyad_plan *there = NULL, *here = NULL;
  uint64_t hash[2] = {0, 1};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(part_plan(member, &device[0][member->rank], &there));
  PD_TRY_CLEANUP(part_plan(member, &device[1][member->rank], &here));
  const char *different = part_difference(there, here);
  if (different != NULL) shared->different = different;
  PD_TRY_CLEANUP(part_hash(member->context, there, &hash[0]));
  PD_TRY_CLEANUP(part_hash(member->context, here, &hash[1]));
  if (hash[0] != hash[1]) shared->different = "storages";
cleanup:
  polyad_plan_destroy(there);
  polyad_plan_destroy(here);
  return status;
}

/* ---- tests ----------------------------------------------------------------------------------- */

enum { TENSORS = 7 };

/* Long and short modes, a mode of length 1, values far from 1, zeros that are kept, float. */
static polyad_tensor *tensor_number(polyad_context *context, int number) {
  static const uint64_t dims[TENSORS][4] = {{90, 80, 70},     {5000, 40, 3}, {12, 1, 30, 9},
                                            {300, 200},       {9, 8, 7},     {2, 3, 4000},
                                            {40, 2000, 50, 6}};
  static const int orders[TENSORS] = {3, 3, 4, 2, 3, 3, 4};
  polyad_tensor *tensor = als_random_tensor(context, orders[number], dims[number], 400,
                                            (uint64_t)number + 1, 0),
                *made;
  if (number == 3)
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      ((double *)tensor->values)[p] *= 0x1p600;
  if (number == 4)
    for (uint64_t p = 0; p < tensor->nnz; p += 3) {
      ((double *)tensor->values)[p] = 0;
      tensor->zeros = POLYAD_ZEROS_KEEP;
      ++tensor->zeros_kept;
    }
  if (number < 5) return tensor;
  ALS_OK(context, polyad_tensor_convert(context, tensor, POLYAD_F32, &made));
  polyad_tensor_destroy(tensor);
  return made;
}

static void run_both(const polyad_tensor *tensor, int size, bool repeats, int shares) {
  struct shared shared = {.tensor = tensor, .repeats = repeats};
  struct team_case all = {.size = size, .body = both_ways, .data = &shared, .failing = -1};
  atomic_store(&dealt, 0);
  team_run(&all);
  team_succeeded(&all);
  if (shared.different != NULL) fail_msg("%d members: %s differ", size, shared.different);
  if (shares >= 0 && atomic_load(&dealt) != shares)
    fail_msg("%d members, mode 0 of length %d: devices have dealt %d shares", size,
             (int)tensor->dims[0], atomic_load(&dealt));
}

static void same_parts(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  fault = NO_FAULT;
  for (int number = 0; number < TENSORS; ++number) {
    polyad_tensor *tensor = tensor_number(context, number);
    for (int s = 0; s < SIZES; ++s)
      for (int repeats = 0; repeats < 2; ++repeats)
        if (!(repeats && number == 4)) /* whose zeros would come together */
          run_both(tensor, sizes[s], repeats != 0, sizes[s]);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

/* Fewer nonzeros than members: the hosts share out what devices do not sort. */
static void few_nonzeros(void **state) {
  (void)state;
  static const int32_t index[] = {4, 0, 2, 4, 1, 2};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor =
      als_tensor(context, 3, (const uint64_t[3]){9, 2, 3}, 2, index, (const double[]){1.5, -2});
  fault = NO_FAULT;
  run_both(tensor, 4, false, 0);
  run_both(tensor, 4, true, -1);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* A device without room, at any time, sends all to the hosts; one that is lost ends all. */
static void faults(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = tensor_number(context, 0);
  faulty = &device[0][1];
  for (fault = NO_ROOM; fault < LOST; ++fault)
    run_both(tensor, 3, false, fault == NO_ROOM ? 0 : 3);
  struct shared shared = {.tensor = tensor};
  struct team_case all = {.size = 3, .body = both_ways, .data = &shared, .failing = -1};
  team_run(&all);
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(all.member[k].status, POLYAD_DEVICE);
    assert_non_null(strstr(all.member[k].message, "the device is lost"));
  }
  fault = NO_FAULT;
  faulty = NULL;
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Every allocation of a member fails once: all fail with it, or all go on. */
static void failing_allocations(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, 3, (const uint64_t[3]){9, 8, 7}, 60, 1, 0);
  struct shared shared = {.tensor = tensor};
  struct team_case all = {.size = 3, .body = both_ways, .data = &shared, .failing = -1};
  fault = NO_FAULT;
  team_run(&all);
  team_succeeded(&all);
  long most = all.allocations[1];
  int failed = 0;
  for (long n = 0; n < most; n += 1 + n / 40) {
    all.failing = n;
    all.failing_rank = 1;
    team_run(&all);
    for (int k = 0; k < 3; ++k) {
      polyad_status status = all.member[k].status;
      if (status != all.member[0].status || (status != POLYAD_OK && status != POLYAD_OUT_OF_MEMORY))
        fail_msg("allocation %ld, member %d: %s; member 0: %s", n, k, all.member[k].message,
                 all.member[0].message);
    }
    failed += all.member[0].status != POLYAD_OK;
  }
  assert_true(failed > 20);
  assert_null(shared.different);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_parts), cmocka_unit_test(few_nonzeros),
                                     cmocka_unit_test(faults),
                                     cmocka_unit_test(failing_allocations)};
  return cmocka_run_group_tests(tests, make_devices, NULL);
}
