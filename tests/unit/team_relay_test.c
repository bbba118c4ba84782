/* Members of several processes whose devices have memory of their own, as those do that no library
 * connects: data go by way of the hosts. The devices here are the CPU, which is told to be one with
 * memory that nobody else can reach. And which device a member gets that names none of its own. */
#include "core/machine.h"
#include "device/device.h"
#include "linalg/linalg.h"
#include "plan/plan.h"
#include "team_fixture.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

static const int sizes[] = {1, 2, 3, 5};
enum { SIZES = sizeof sizes / sizeof *sizes, WORDS = 40 };

/* ---- a device apart ------------------------------------------------------------------------- */

static atomic_long copies_until_failure;

static polyad_status counted_copy(polyad_context *context, const struct pd_device *device, void *to,
                                  const void *from, uint64_t bytes) {
  (void)device;
  if (atomic_fetch_sub(&copies_until_failure, 1) == 0)
    return pd_fail(context, POLYAD_DEVICE, "the copy failed");
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
  return POLYAD_OK;
}

static struct pd_device_functions functions_apart;
static struct pd_linalg linalg_apart;
static struct pd_device device_apart[TEAM_MOST];

static int make_devices(void **state) {
  (void)state;
  functions_apart = *pd_cpu_device.functions;
  functions_apart.host_memory = false;
  functions_apart.copy_peer = NULL;
  functions_apart.copy_in = functions_apart.copy_out = counted_copy;
  linalg_apart = pd_cpu_linalg;
  for (int k = 0; k < TEAM_MOST; ++k) {
    device_apart[k] = pd_cpu_device;
    device_apart[k].kind = "apart";
    device_apart[k].unit = (uint64_t)k + 1;
    device_apart[k].functions = &functions_apart;
    device_apart[k].linalg = &linalg_apart;
  }
  atomic_store(&copies_until_failure, 1L << 40);
  return 0;
}

/* ---- what travels --------------------------------------------------------------------------- */

/* What member `from` has for member `to` in word `k`, and how many words it has for it: for some
 * none. */
static uint32_t word_of(int from, int to, int k) {
  return (uint32_t)(1 + from + 16 * to + 256 * k);
}

static int words_for(int from, int to) { return (3 * from + 5 * to) % 4 == 1 ? 0 : 2 + from + to; }

/* What a member that failed sent is told to be wrong when all meet again: `wrong` is for after
 * that. */
static polyad_status gather_apart(struct team_member *member, bool *wrong) {
  uint32_t mine[WORDS], all[TEAM_MOST * WORDS] = {0};
  for (int k = 0; k < WORDS; ++k)
    mine[k] = word_of(member->rank, 0, k);
  PD_TRY(pd_team_gather_there(member->context, member->team, mine, sizeof mine, all));
  for (int other = 0; other < member->all->size; ++other)
    for (int k = 0; k < WORDS; ++k)
      *wrong |= all[other * WORDS + k] != word_of(other, 0, k);
  return POLYAD_OK;
}

/* Parcels lie one behind the other, or, where `gaps`, apart. */
static polyad_status exchange_apart(struct team_member *member, int gaps, bool *wrong) {
  uint32_t sent[TEAM_MOST * WORDS] = {0}, got[TEAM_MOST * WORDS] = {0};
  struct pd_parcel to[TEAM_MOST] = {{0}}, from[TEAM_MOST] = {{0}};
  int size = member->all->size, me = member->rank, out = 0, in = 0;
  for (int other = 0; other < size; ++other) {
    int words = words_for(me, other), theirs = words_for(other, me);
    for (int k = 0; k < words; ++k)
      sent[out + k] = word_of(me, other, k);
    to[other] = (struct pd_parcel){sent + out, (uint64_t)words * sizeof *sent};
    from[other] = (struct pd_parcel){got + in, (uint64_t)theirs * sizeof *got};
    out += words + gaps;
    in += theirs + gaps;
  }
  PD_TRY(pd_team_exchange_there(member->context, member->team, to, from));
  for (int other = 0; other < size; ++other)
    for (int k = 0; k < words_for(other, me); ++k)
      *wrong |= ((uint32_t *)from[other].data)[k] != word_of(other, me, k);
  for (int k = 0; k < gaps; ++k) /* nothing is written between the parcels */
    *wrong |= got[words_for(0, me) + k] != 0;
  return POLYAD_OK;
}

static polyad_status travel(struct team_member *member) {
  PD_TRY(pd_team_use_device(member->context, member->team, &device_apart[member->rank]));
  bool wrong = false;
  PD_TRY(gather_apart(member, &wrong));
  for (int gaps = 0; gaps < 3; ++gaps)
    PD_TRY(exchange_apart(member, gaps, &wrong));
  PD_TRY(gather_apart(member, &wrong));
  PD_TRY(pd_team_agree(member->context, member->team, POLYAD_OK));
  return wrong ? POLYAD_INTERNAL : POLYAD_OK;
}

static void data_arrive(void **state) {
  (void)state;
  for (int s = 0; s < SIZES; ++s) {
    struct team_case all = {.size = sizes[s], .body = travel, .failing = -1};
    team_run(&all);
    team_succeeded(&all);
  }
}

/* A copy that fails on one member is an error of all; nobody waits for it. */
static void failing_copies(void **state) {
  (void)state;
  int failed = 0;
  for (long copy = 0; copy < 200; copy += 7) {
    struct team_case all = {.size = 3, .body = travel, .failing = -1};
    atomic_store(&copies_until_failure, copy);
    team_run(&all);
    bool fails = atomic_load(&copies_until_failure) < 0;
    failed += fails;
    for (int k = 0; k < 3; ++k) {
      assert_int_equal(all.member[k].status, fails ? POLYAD_DEVICE : POLYAD_OK);
      if (fails) assert_non_null(strstr(all.member[k].message, "the copy failed"));
    }
  }
  assert_true(failed > 3);
  atomic_store(&copies_until_failure, 1L << 40);
}

/* So is memory that one member lacks. */
static void failing_allocations(void **state) {
  (void)state;
  struct team_case all = {.size = 3, .body = travel, .failing = -1};
  team_run(&all);
  team_succeeded(&all);
  long most = all.allocations[1];
  assert_true(most > 3);
  for (long n = 0; n < most; ++n) {
    all.failing = n;
    all.failing_rank = 1;
    team_run(&all);
    for (int k = 0; k < 3; ++k)
      assert_int_equal(all.member[k].status, POLYAD_OUT_OF_MEMORY);
  }
}

/* ---- several kinds of devices -----------------------------------------------------------------
 */

static const struct pd_device *unlike(const struct team_member *member) {
  return member->rank == 1 ? &pd_cpu_device : &device_apart[member->rank];
}

/* The sums of members 0 and 2, in the order of a warp of three, are what member 1 has of its fold;
 * the last two numbers are largest ones, the last of all of which one is none. */
static polyad_status fold_unlike(struct team_member *member) {
  enum { NUMBERS = 4 };
  const double k = member->rank;
  double numbers[NUMBERS] = {1 / (3 + k), 1e30 * (k - 1), 7 - k, k == 2 ? NAN : 5},
         all[3 * NUMBERS];
  const struct pd_device *device = unlike(member);
  PD_TRY(pd_team_use_device(member->context, member->team, device));
  if (!pd_team_is_mixed(member->team))
    return pd_fail(member->context, POLYAD_INTERNAL, "the team is not mixed");
  if (!device->functions->host_memory)
    return pd_team_gather_there(member->context, member->team, numbers, sizeof numbers, all);
  PD_TRY(pd_team_fold(member->context, member->team, NUMBERS, 2, numbers));
  /* Lanes 0 and 2 meet before lane 1 joins them. */
  bool right = numbers[0] == (1 / 3.0 + 1 / 5.0) + 1 / 4.0 && numbers[1] == 0 && numbers[2] == 7 &&
               isnan(numbers[3]);
  return right ? POLYAD_OK : pd_fail(member->context, POLYAD_INTERNAL, "other sums");
}

static void kinds_are_mixed(void **state) {
  (void)state;
  struct team_case all = {.size = 3, .body = fold_unlike, .failing = -1};
  team_run(&all);
  for (int k = 0; k < 3; ++k)
    if (all.member[k].status != POLYAD_OK) fail_msg("%s", all.member[k].message);
}

/* Of several processes, which do not see each other's memory. */
static polyad_status use_unlike(struct team_member *member) {
  static struct pd_collectives apart;
  if (member->rank == 0) {
    apart = *member->team->collectives;
    apart.one_process = false;
  }
  PD_TRY(pd_team_agree(member->context, member->team, POLYAD_OK));
  const struct pd_collectives *before = member->team->collectives;
  member->team->collectives = &apart;
  polyad_status status = pd_team_use_device(member->context, member->team, unlike(member));
  member->team->collectives = before;
  return status;
}

static void kinds_of_processes_are_not_mixed(void **state) {
  (void)state;
  struct team_case all = {.size = 3, .body = use_unlike, .failing = -1};
  team_run(&all);
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(all.member[k].status, POLYAD_UNSUPPORTED);
    assert_non_null(
        strstr(all.member[k].message, "process 0 computes on apart and process 1 on cpu"));
  }
}

/* ---- devices in turn ------------------------------------------------------------------------ */

static polyad_status choose_auto(struct team_member *member) {
  PD_TRY(polyad_team_set_device(member->context, member->team, "auto"));
  return strcmp(polyad_device(member->context), "cpu") == 0 ? POLYAD_OK : POLYAD_INTERNAL;
}

static polyad_status choose_unlike(struct team_member *member) {
  return polyad_team_set_device(member->context, member->team,
                                member->rank == 1 ? "abacus" : "cpu");
}

static polyad_status choose_gpu(struct team_member *member) {
  return polyad_team_set_device(member->context, member->team, "cuda");
}

/* Where there is no GPU. Those of a machine that has some are looked at by the tests of GPUs. */
static void choices(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  bool gpu = polyad_set_device(context, "cuda") == POLYAD_OK;
  for (int s = 0; s < SIZES && !gpu; ++s) {
    struct team_case all = {.size = sizes[s], .body = choose_auto, .failing = -1};
    team_run(&all);
    team_succeeded(&all);
    struct team_case none = {.size = sizes[s], .body = choose_gpu, .failing = -1};
    team_run(&none);
    for (int k = 0; k < none.size; ++k)
      assert_int_equal(none.member[k].status, POLYAD_DEVICE);
  }
  struct team_case wrong = {.size = 3, .body = choose_unlike, .failing = -1};
  team_run(&wrong);
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(wrong.member[k].status, POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(wrong.member[k].message, "device 'abacus' is unknown"));
  }
  assert_int_equal(polyad_team_set_device(context, NULL, "cpu"), POLYAD_OK);
  assert_int_equal(polyad_team_set_device(context, NULL, NULL), POLYAD_INVALID_ARGUMENT);
  assert_true(pd_machine_identity() == pd_machine_identity() && pd_machine_identity() != 0);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_arrive),
      cmocka_unit_test(failing_copies),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(kinds_are_mixed),
      cmocka_unit_test(kinds_of_processes_are_not_mixed),
      cmocka_unit_test(choices),
  };
  return cmocka_run_group_tests(tests, make_devices, NULL);
}
