/* Members whose devices a library connects, as NCCL does GPUs of several processes; those of one
 * process do without, where devices can copy from each other. All join or none, whatever fails on
 * one of them; what was made is undone; and where one member fails inside an operation, in which
 * the others wait in vain, its error is the one that all are told. The library here moves nothing:
 * it does what a case says. */
#include "device/device.h"
#include "linalg/linalg.h"
#include "team_fixture.h"
#include <stdatomic.h>
#include <string.h>

enum { MEMBERS = 3, FAULTY = 1 };

/* What goes wrong on member FAULTY, or where `everywhere` on all. */
enum fault { NO_FAULT, NOT_READY, NO_TICKET, NOT_JOINED, BREAKS, FAULTS };

static enum fault fault;
static bool everywhere, cancels;
static atomic_int made, undone; /* states of members */

struct wire {
  bool ready, gave_up;
  int rank, size;
};

static bool faulty(const struct wire *wire) { return everywhere || wire->rank == FAULTY; }

static polyad_status wire_ready(polyad_context *context, const struct pd_device *device, int size,
                                void *state) {
  struct wire *wire = state;
  *wire = (struct wire){.ready = true, .rank = device->index, .size = size};
  atomic_fetch_add(&made, 1);
  if (cancels) polyad_cancel(context);
  if (fault == NOT_READY && faulty(wire))
    return pd_fail(context, POLYAD_UNSUPPORTED, "there is no wire");
  return POLYAD_OK;
}

static polyad_status wire_ticket(polyad_context *context, char ticket[PD_TICKET_BYTES]) {
  if (fault == NO_TICKET) return pd_fail(context, POLYAD_DEVICE, "there is no ticket");
  memset(ticket, 't', PD_TICKET_BYTES);
  return POLYAD_OK;
}

static polyad_status wire_join(polyad_context *context, const char ticket[PD_TICKET_BYTES],
                               int rank, void *state) {
  const struct wire *wire = state;
  if (fault == NOT_JOINED && faulty(wire))
    return pd_fail(context, POLYAD_DEVICE, "the wire is cut");
  bool right = rank == wire->rank && wire->size == MEMBERS && ticket[PD_TICKET_BYTES - 1] == 't';
  return right ? POLYAD_OK : pd_fail(context, POLYAD_INTERNAL, "a wrong ticket");
}

/* Who does not break waits for who does, and gives up. */
static polyad_status wire_gather(polyad_context *context, void *state, const void *mine,
                                 uint64_t bytes, void *all) {
  struct wire *wire = state;
  for (int k = 0; k < wire->size; ++k)
    memcpy((char *)all + (uint64_t)k * bytes, mine, (size_t)bytes);
  if (fault != BREAKS) return POLYAD_OK;
  if (wire->rank == FAULTY && !everywhere)
    return pd_fail(context, POLYAD_OUT_OF_MEMORY, "the wire broke");
  wire->gave_up = true;
  return pd_fail(context, POLYAD_DEVICE, "member %d waited in vain", wire->rank);
}

static polyad_status wire_exchange(polyad_context *context, void *state, const struct pd_parcel *to,
                                   const struct pd_parcel *from) {
  (void)state, (void)to, (void)from;
  return pd_fail(context, POLYAD_INTERNAL, "nothing is exchanged here");
}

static bool wire_gave_up(const void *state) { return ((const struct wire *)state)->gave_up; }

static void wire_leave(void *state, bool failed) {
  (void)failed;
  if (((const struct wire *)state)->ready) atomic_fetch_add(&undone, 1);
}

static const struct pd_device_link link_of_wires = {.state_bytes = sizeof(struct wire),
                                                    .ready = wire_ready,
                                                    .make_ticket = wire_ticket,
                                                    .join = wire_join,
                                                    .collectives = {.gather = wire_gather,
                                                                    .exchange = wire_exchange,
                                                                    .gave_up = wire_gave_up,
                                                                    .leave = wire_leave}};

static struct pd_device_functions functions;
static struct pd_linalg linalg;
static struct pd_device device[MEMBERS];

static int make_devices(void **state) {
  (void)state;
  functions = *pd_cpu_device.functions;
  functions.host_memory = false;
  functions.copy_peer = NULL;
  linalg = pd_cpu_linalg;
  linalg.link = &link_of_wires;
  for (int k = 0; k < MEMBERS; ++k) {
    device[k] = pd_cpu_device;
    device[k].index = k;
    device[k].unit = (uint64_t)k + 1;
    device[k].functions = &functions;
    device[k].linalg = &linalg;
  }
  return 0;
}

/* ---- cases ----------------------------------------------------------------------------------- */

struct seen {
  bool linked[MEMBERS];
};

static polyad_status use_wires(struct team_member *member) {
  struct seen *seen = member->all->data;
  uint64_t mine = 5, all[MEMBERS] = {0};
  PD_TRY(pd_team_use_device(member->context, member->team, &device[member->rank]));
  seen->linked[member->rank] = member->team->there == &link_of_wires.collectives;
  PD_TRY(pd_team_gather_there(member->context, member->team, &mine, sizeof mine, all));
  return all[0] == 5 && all[MEMBERS - 1] == 5 ? POLYAD_OK : POLYAD_INTERNAL;
}

static void run_case(struct team_case *all, struct seen *seen) {
  *seen = (struct seen){{false}};
  *all = (struct team_case){.size = MEMBERS, .body = use_wires, .data = seen, .failing = -1};
  atomic_store(&made, 0);
  atomic_store(&undone, 0);
  team_run(all);
  assert_int_equal(atomic_load(&made), atomic_load(&undone));
}

/* Where one member cannot, data of all go by way of the hosts. */
static void all_or_none(void **state) {
  (void)state;
  struct team_case all;
  struct seen seen;
  for (int several = 0; several < 2; ++several)
    for (fault = NO_FAULT; fault < BREAKS; ++fault) {
      everywhere = several;
      run_case(&all, &seen);
      team_succeeded(&all);
      assert_int_equal(atomic_load(&made), MEMBERS);
      for (int k = 0; k < MEMBERS; ++k)
        assert_int_equal(seen.linked[k], fault == NO_FAULT);
    }
  fault = NO_FAULT;
  everywhere = false;
}

/* Memory that ends anywhere on one member: all fail, or go by way of the hosts. */
static void memory_ends(void **state) {
  (void)state;
  struct seen seen;
  struct team_case all = {.size = MEMBERS, .body = use_wires, .data = &seen, .failing = -1};
  team_run(&all);
  long most = all.allocations[FAULTY];
  assert_true(most >= 2);
  int linked = 0;
  for (long n = 0; n < most; ++n) {
    seen = (struct seen){{false}};
    all.failing = n;
    all.failing_rank = FAULTY;
    team_run(&all);
    for (int k = 1; k < MEMBERS; ++k) {
      assert_int_equal(all.member[k].status, all.member[0].status);
      assert_int_equal(seen.linked[k], seen.linked[0]);
    }
    if (all.member[0].status != POLYAD_OK)
      assert_int_equal(all.member[0].status, POLYAD_OUT_OF_MEMORY);
    linked += all.member[0].status == POLYAD_OK && !seen.linked[0];
  }
  assert_true(linked > 0);
}

/* The member that broke has the word, though others of lower rank have failed, too. */
static void whose_error(void **state) {
  (void)state;
  struct team_case all;
  struct seen seen;
  fault = BREAKS;
  run_case(&all, &seen);
  for (int k = 0; k < MEMBERS; ++k) {
    assert_int_equal(all.member[k].status, POLYAD_OUT_OF_MEMORY);
    assert_non_null(strstr(all.member[k].message, "the wire broke"));
    if (k != FAULTY) assert_non_null(strstr(all.member[k].message, "process 1: "));
  }
  everywhere = true; /* nobody knows more than that it has waited */
  run_case(&all, &seen);
  for (int k = 0; k < MEMBERS; ++k) {
    assert_int_equal(all.member[k].status, POLYAD_DEVICE);
    assert_non_null(strstr(all.member[k].message, "member 0 waited in vain"));
  }
  everywhere = false;
  fault = NO_FAULT;
}

/* Joining takes long: who has been cancelled does not begin it. */
static void cancelling(void **state) {
  (void)state;
  struct team_case all;
  struct seen seen;
  cancels = true;
  run_case(&all, &seen);
  for (int k = 0; k < MEMBERS; ++k) {
    assert_int_equal(all.member[k].status, POLYAD_CANCELLED);
    assert_false(seen.linked[k]);
  }
  cancels = false;
}

/* ---- one process ----------------------------------------------------------------------------- */

static polyad_status copy_bytes(polyad_context *context, const struct pd_device *to_device,
                                void *to, const struct pd_device *from_device, const void *from,
                                uint64_t bytes) {
  (void)context, (void)to_device, (void)from_device;
  memcpy(to, from, (size_t)bytes);
  return POLYAD_OK;
}

static polyad_status gather_ranks(struct team_member *member) {
  struct seen *seen = member->all->data;
  uint64_t mine = (uint64_t)member->rank + 1, all[MEMBERS] = {0};
  PD_TRY(pd_team_use_device(member->context, member->team, &device[member->rank]));
  seen->linked[member->rank] = member->team->there == &link_of_wires.collectives;
  PD_TRY(pd_team_gather_there(member->context, member->team, &mine, sizeof mine, all));
  return all[0] == 1 && all[1] == 2 && all[2] == 3 ? POLYAD_OK : POLYAD_INTERNAL;
}

/* Nothing is asked of the library. */
static void copies_of_one_process(void **state) {
  (void)state;
  struct seen seen = {{false}};
  struct team_case all = {.size = MEMBERS, .body = gather_ranks, .data = &seen, .failing = -1};
  functions.copy_peer = copy_bytes;
  atomic_store(&made, 0);
  team_run(&all);
  functions.copy_peer = NULL;
  team_succeeded(&all);
  assert_int_equal(atomic_load(&made), 0);
  for (int k = 0; k < MEMBERS; ++k)
    assert_false(seen.linked[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_or_none),           cmocka_unit_test(memory_ends),
      cmocka_unit_test(whose_error),           cmocka_unit_test(cancelling),
      cmocka_unit_test(copies_of_one_process),
  };
  return cmocka_run_group_tests(tests, make_devices, NULL);
}
