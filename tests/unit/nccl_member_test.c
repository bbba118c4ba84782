/* Members of a team that NCCL connects, each on a GPU of its own, where calls of CUDA fail on one
 * of them: src/device/cuda/cuda_nccl.c and its watch, on a CUDA and an NCCL that move no data but
 * keep who waits for whom (fake_gpu.c). No member is left alone in NCCL on its host, where no watch
 * sees it; one that is left on its GPU gives up. */
#include "device/cuda/cuda_nccl.h"
#include "device/device.h"
#include "linalg/linalg.h"
#include "unit/fake_gpu.h"
#include "unit/team_fixture.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 3, GATHERS = 4 };

/* ---- what the module's other files give ------------------------------------------------------ */

static const struct pd_services services = {.fail = pd_fail, .alloc = pd_alloc, .free = pd_free};
const struct pd_services *pd_cuda_services = &services;
_Thread_local cudaStream_t pd_cuda_recording;

polyad_status pd_cuda_enter(polyad_context *context, struct pd_cuda_state *state) {
  return PD_CUDA(context, state, cudaSetDevice(state->device.index));
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct pd_device_functions functions;
static struct pd_linalg linalg;
static struct pd_cuda_state states[MOST_MEMBERS];

static int make_devices(void **state) {
  (void)state;
  functions = *pd_cpu_device.functions;
  functions.host_memory = false;
  functions.copy_peer = NULL;
  linalg = pd_cpu_linalg;
  linalg.link = &pd_cuda_nccl;
  for (int k = 0; k < MOST_MEMBERS; ++k) {
    struct pd_device *device = &states[k].device;
    *device = pd_cpu_device;
    device->index = k;
    device->unit = (uint64_t)k + 1;
    device->functions = &functions;
    device->linalg = &linalg;
    device->state = &states[k];
    states[k].stream = fake_gpu_stream(k);
  }
  return 0;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static struct pd_collectives of_processes[MOST_MEMBERS]; /* members see no other's memory */
static atomic_int linked;                                /* members whose data NCCL carries */

static polyad_status connect(struct team_member *member) {
  struct pd_collectives *collectives = &of_processes[member->rank];
  *collectives = *member->team->collectives;
  collectives->one_process = false;
  member->team->collectives = collectives;
  PD_TRY(pd_team_use_device(member->context, member->team, &states[member->rank].device));
  if (member->team->there == &pd_cuda_nccl.collectives) atomic_fetch_add(&linked, 1);
  return POLYAD_OK;
}

static polyad_status gather(struct team_member *member) {
  uint64_t mine = 5, all[MOST_MEMBERS] = {0};
  return pd_team_gather_there(member->context, member->team, &mine, sizeof mine, all);
}

static polyad_status wait_for_stream(struct team_member *member) {
  struct pd_cuda_state *state = &states[member->rank];
  return PD_CUDA(member->context, state, cudaStreamSynchronize(pd_cuda_stream(state)));
}

static polyad_status connect_and_gather(struct team_member *member) {
  PD_TRY(connect(member));
  for (int k = 0; k < GATHERS; ++k)
    PD_TRY(gather(member));
  return member->team->there == &pd_cuda_nccl.collectives ? wait_for_stream(member) : POLYAD_OK;
}

static void run_members(struct team_case *all, int size,
                        polyad_status (*body)(struct team_member *)) {
  *all = (struct team_case){.size = size, .body = body, .failing = -1};
  fake_gpu_begin();
  atomic_store(&linked, 0);
  team_run(all);
  for (int k = 1; k < size; ++k)
    assert_int_equal(all->member[k].status, all->member[0].status);
}

/* Each call of CUDA in turn, from connecting to the last wait. Members that cannot be connected
 * send by way of the hosts, and none of them by NCCL. */
static void no_host_is_left(void **state) {
  (void)state;
  for (int size = 2; size <= MOST_MEMBERS; ++size) {
    struct team_case all;
    (void)pd_module_fail_call(0);
    run_members(&all, size, connect);
    team_succeeded(&all);
    assert_int_equal(atomic_load(&linked), size);
    long calls = pd_module_fail_call(0), refused = 0;
    assert_true(calls > 2L * size * PD_NCCL_WATCHED);
    for (long k = 1; k <= calls; ++k) {
      (void)pd_module_fail_call(k);
      run_members(&all, size, connect);
      team_succeeded(&all);
      if (fake_gpu_left() != 0) fail_msg("call %ld of %ld leaves a member in NCCL", k, calls);
      assert_true(atomic_load(&linked) == 0 || atomic_load(&linked) == size);
      refused += atomic_load(&linked) == 0;
    }
    assert_int_equal(refused, calls);
    (void)pd_module_fail_call(0);
  }
}

static void all_is_well(void **state) {
  (void)state;
  struct team_case all;
  for (int size = 2; size <= MOST_MEMBERS; ++size) {
    run_members(&all, size, connect_and_gather);
    team_succeeded(&all);
    assert_int_equal(atomic_load(&linked), size);
    assert_int_equal(fake_gpu_left(), 0);
  }
}

/* The last member does not come to the gather that the others have enqueued on their GPUs. */
static polyad_status leave_the_others(struct team_member *member) {
  PD_TRY(connect(member));
  if (member->rank == member->all->size - 1)
    return pd_fail(member->context, POLYAD_OUT_OF_MEMORY, "no memory for it");
  uint64_t mine = 5, all[MOST_MEMBERS] = {0};
  PD_TRY(member->team->there->gather(member->context, member->team->there_state, &mine, sizeof mine,
                                     all));
  return wait_for_stream(member);
}

static void who_is_left_gives_up(void **state) {
  (void)state;
  struct team_case all;
  for (int size = 2; size <= MOST_MEMBERS; ++size) {
    run_members(&all, size, leave_the_others);
    assert_int_equal(atomic_load(&linked), size);
    for (int k = 0; k < size; ++k) {
      assert_int_equal(all.member[k].status, POLYAD_OUT_OF_MEMORY);
      assert_non_null(strstr(all.member[k].message, "no memory for it"));
    }
    run_members(&all, size, connect_and_gather); /* the GPUs work again */
    team_succeeded(&all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_is_well),
                                     cmocka_unit_test(no_host_is_left),
                                     cmocka_unit_test(who_is_left_gives_up)};
  if (setenv("POLYAD_NCCL", FAKE_NCCL, 1) != 0 || setenv("POLYAD_NCCL_TIMEOUT", "0.5", 1) != 0)
    return 1;
  return cmocka_run_group_tests(tests, make_devices, NULL);
}
