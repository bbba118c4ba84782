/* What a process may use of its machine, read from files and calls that the test answers in the
 * system's place: groups of version 1 and 2 with their parents, an affinity mask, ulimit -v. */
#define _GNU_SOURCE
#include "harness.h"

#include "core/core.h"
#include "core/machine.h"
#include "core/start_threads.h"
#include <math.h>
#include <polyad/polyad.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- the system's place -------------------------------------------------------------------------
 */

struct fake_file {
  const char *path, *text;
};
enum { FILES = 8 };
static struct fake_file fakes[FILES]; /* ended by a path NULL; the others are missing */
static int affinity;                  /* processors in the mask; 0: the call fails */
static int first_affinity;            /* of process 1 */
static rlim_t address_space;
static bool no_sysconf;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  if (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0)
    return __real_fopen(path, mode);
  for (int f = 0; f < FILES && fakes[f].path != NULL; ++f)
    if (strcmp(path, fakes[f].path) == 0)
      return fmemopen((void *)(uintptr_t)fakes[f].text, strlen(fakes[f].text), "r");
  return NULL;
}

int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
  assert_true(process == 0 || process == 1);
  assert_int_equal(size, sizeof *set);
  int count = process == 0 ? affinity : first_affinity;
  if (count == 0) return -1;
  CPU_ZERO(set);
  for (size_t k = 0; k < (size_t)count; ++k)
    CPU_SET(3 * k, set);
  return 0;
}

int __wrap_getrlimit(int resource, struct rlimit *limit);
int __wrap_getrlimit(int resource, struct rlimit *limit) {
  assert_int_equal(resource, RLIMIT_AS);
  limit->rlim_cur = limit->rlim_max = address_space;
  return 0;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name) { return no_sysconf ? 0 : __real_sysconf(name); }

static int forget(void **state) {
  (void)state;
  memset(fakes, 0, sizeof fakes);
  affinity = 8;
  first_affinity = 0;
  address_space = RLIM_INFINITY;
  no_sysconf = false;
  return 0;
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static void processors_follow_mask_and_quotas(void **state) {
  (void)state;
  static const struct {
    const char *own, *parent, *root;
    int expected;
  } table[] = {{NULL, NULL, NULL, 8},
               {"max 100000\n", "max 100000\n", NULL, 8},
               {"250000 100000\n", "max 100000\n", NULL, 2},
               {"max 100000\n", "350000 100000\n", "900000 100000\n", 3},
               {"700000 100000\n", NULL, "100000 50000\n", 2},
               {"50000 100000\n", NULL, NULL, 1},
               {"800000 100000\n", NULL, NULL, 8},
               {"800000 50000\n", NULL, NULL, 8},
               {"100000\n", NULL, NULL, 8} /* no period */};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    forget(NULL);
    int f = 0;
    fakes[f++] = (struct fake_file){"/proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n"};
    if (table[k].own != NULL)
      fakes[f++] = (struct fake_file){"/sys/fs/cgroup/outer/inner/cpu.max", table[k].own};
    if (table[k].parent != NULL)
      fakes[f++] = (struct fake_file){"/sys/fs/cgroup/outer/cpu.max", table[k].parent};
    if (table[k].root != NULL)
      fakes[f++] = (struct fake_file){"/sys/fs/cgroup/cpu.max", table[k].root};
    assert_int_equal(pd_machine_processors(), table[k].expected);
  }
}

/* In a container the group's path is "/". */
static void the_root_group_counts(void **state) {
  (void)state;
  fakes[0] = (struct fake_file){"/proc/self/cgroup", "0::/\n"};
  fakes[1] = (struct fake_file){"/sys/fs/cgroup/cpu.max", "300000 100000\n"};
  assert_int_equal(pd_machine_processors(), 3);
}

/* A process on machine `machine` that may use processors `first` to `last`. */
static struct pd_machine_hold holder(uint64_t machine, int first, int last) {
  struct pd_machine_hold hold = {.machine = machine, .quota = INFINITY};
  for (int k = first; k <= last; ++k)
    hold.mask[k / 64] |= UINT64_C(1) << k % 64;
  hold.processors = (uint64_t)(last - first + 1);
  return hold;
}

static struct pd_machine_hold with_quota(struct pd_machine_hold hold, double quota,
                                         uint64_t group) {
  hold.quota = quota;
  hold.quota_group = group;
  return hold;
}

static void processes_divide_what_they_share(void **state) {
  (void)state;
  enum { MOST = 6 };
  const struct {
    struct pd_machine_hold all[MOST];
    int count, expected[MOST];
  } table[] = {
      {{holder(1, 0, 7)}, 1, {8}},
      {{holder(1, 0, 7), holder(1, 0, 7)}, 2, {4, 4}},
      {{holder(1, 0, 7), holder(1, 0, 7), holder(1, 0, 7)}, 3, {2, 2, 2}},
      {{holder(1, 0, 5), holder(1, 0, 5), holder(1, 0, 5)}, 3, {2, 2, 2}},
      {{holder(1, 0, 1), holder(1, 0, 1), holder(1, 0, 1)}, 3, {1, 1, 1}},
      /* bound by the launcher, or on different machines */
      {{holder(1, 0, 3), holder(1, 4, 7)}, 2, {4, 4}},
      {{holder(1, 0, 63), holder(1, 64, 191)}, 2, {64, 128}},
      {{holder(1, 0, 7), holder(2, 0, 7)}, 2, {8, 8}},
      {{holder(1, 0, 7), holder(2, 0, 7), holder(1, 0, 7)}, 3, {4, 8, 4}},
      /* overlapping */
      {{holder(1, 0, 3), holder(1, 2, 5)}, 2, {3, 3}},
      {{holder(1, 0, 7), holder(1, 0, 1), holder(1, 2, 3)}, 3, {6, 1, 1}},
      /* a quota of all together, of each, of one */
      {{with_quota(holder(1, 0, 7), 4, 9), with_quota(holder(1, 0, 7), 4, 9)}, 2, {2, 2}},
      {{with_quota(holder(1, 0, 7), 3, 8), with_quota(holder(1, 0, 7), 3, 9)}, 2, {3, 3}},
      {{with_quota(holder(1, 0, 7), 1.5, 8), holder(1, 0, 7)}, 2, {1, 4}},
      {{with_quota(holder(1, 0, 7), 4, 9), with_quota(holder(2, 0, 7), 4, 9)}, 2, {4, 4}},
  };
  for (size_t c = 0; c < sizeof table / sizeof *table; ++c)
    for (int k = 0; k < table[c].count; ++k)
      if (pd_machine_share(table[c].all, table[c].count, k) != table[c].expected[k])
        fail_msg("case %zu, process %d: %d threads; expected %d", c, k,
                 pd_machine_share(table[c].all, table[c].count, k), table[c].expected[k]);
}

static void a_process_says_what_it_may_use(void **state) {
  (void)state;
  struct pd_machine_hold one, other;
  pd_machine_hold(&one);
  assert_int_equal(one.processors, 8);
  assert_int_equal(one.mask[0], 0x249249); /* every third */
  assert_true(one.machine == pd_machine_identity() && isinf(one.quota));
  fakes[0] = (struct fake_file){"/proc/self/cgroup", "0::/outer/inner\n"};
  fakes[1] = (struct fake_file){"/sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n"};
  fakes[2] = (struct fake_file){"/sys/fs/cgroup/outer/cpu.max", "300000 100000\n"};
  pd_machine_hold(&one);
  assert_true(one.quota == 3);
  /* Another leaf of the same group has the same quota, ... */
  fakes[0].text = "0::/outer/second\n";
  fakes[1] = (struct fake_file){"/sys/fs/cgroup/outer/second/cpu.max", "300000 100000\n"};
  pd_machine_hold(&other);
  const struct pd_machine_hold both[] = {one, other};
  assert_int_equal(pd_machine_share(both, 2, 0), 1);
  /* ... and a group beside it another. */
  fakes[0].text = "0::/beside/second\n";
  fakes[2].path = "/sys/fs/cgroup/beside/cpu.max";
  pd_machine_hold(&other);
  const struct pd_machine_hold apart[] = {one, other};
  assert_int_equal(pd_machine_share(apart, 2, 0), 3);
  /* An unknown mask is all processors. */
  affinity = 0;
  pd_machine_hold(&other);
  assert_int_equal(other.processors, __real_sysconf(_SC_NPROCESSORS_ONLN));
  assert_true(other.mask[PD_MACHINE_PROCESSORS / 64 - 1] == UINT64_MAX);
}

static void only_threads_that_nobody_set_are_suggested(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  pd_threads_suggest(context, 3);
  assert_int_equal(polyad_threads(context), 3);
  assert_int_equal(polyad_set_threads(context, 5), POLYAD_OK);
  pd_threads_suggest(context, 2);
  assert_int_equal(polyad_threads(context), 5);
  assert_int_equal(polyad_set_threads(context, 0), POLYAD_OK);
  assert_int_equal(polyad_threads(context), 8);
  pd_threads_suggest(context, 2);
  assert_int_equal(polyad_threads(context), 2);
  polyad_context_destroy(context);
  assert_int_equal(polyad_team_threads(NULL), 8);
}

/* Of processes of which only the number is known. */
static void a_process_takes_its_part(void **state) {
  (void)state;
  assert_int_equal(pd_machine_part(1), 8);
  assert_int_equal(pd_machine_part(2), 4);
  assert_int_equal(pd_machine_part(3), 2);
  assert_int_equal(pd_machine_part(20), 1);
  first_affinity = 32; /* bound by its launcher: four such processes have processors of their own */
  assert_int_equal(pd_machine_part(4), 8);
  assert_int_equal(pd_machine_part(8), 4);
  fakes[0] = (struct fake_file){"/proc/self/cgroup", "0::/\n"};
  fakes[1] = (struct fake_file){"/sys/fs/cgroup/cpu.max", "1200000 100000\n"};
  assert_int_equal(pd_machine_part(4), 3);
}

static void memory_is_divided_where_it_is_shared(void **state) {
  (void)state;
  struct pd_machine_hold all[4] = {{.machine = 1}, {.machine = 1}, {.machine = 2}, {.machine = 1}};
  assert_int_equal(pd_machine_memory_users(all, 4, 0), 3);
  assert_int_equal(pd_machine_memory_users(all, 4, 2), 1);
  all[3].memory_group = 7; /* a control group of its own */
  assert_int_equal(pd_machine_memory_users(all, 4, 0), 2);
  assert_int_equal(pd_machine_memory_users(all, 4, 3), 1);
  fakes[0] = (struct fake_file){"/proc/self/cgroup", "0::/new\n"};
  fakes[1] = (struct fake_file){"/proc/meminfo", "MemAvailable: 8192 kB\n"};
  pd_machine_hold(&all[0]);
  assert_int_equal(all[0].memory_group, 0);
  fakes[2] = (struct fake_file){"/sys/fs/cgroup/new/memory.max", "4194304\n"};
  pd_machine_hold(&all[0]);
  assert_int_not_equal(all[0].memory_group, 0);
}

static void only_a_limit_that_nobody_set_is_divided(void **state) {
  (void)state;
  polyad_context *context;
  fakes[0] = (struct fake_file){"/proc/meminfo", "MemAvailable: 8192 kB\n"};
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  pd_memory_divide(context, 4);
  assert_int_equal(polyad_memory_limit(context), 2 << 20);
  assert_int_equal(pd_memory_limit_of_devices(context), 8 << 20);
  assert_int_equal(polyad_set_memory_limit(context, 5 << 20), POLYAD_OK);
  pd_memory_divide(context, 2);
  assert_int_equal(polyad_memory_limit(context), 5 << 20);
  assert_int_equal(pd_memory_limit_of_devices(context), 5 << 20);
  assert_int_equal(polyad_set_memory_limit(context, 0), POLYAD_OK);
  assert_int_equal(polyad_memory_limit(context), 4 << 20);
  address_space = 3 << 20; /* each process's own */
  assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK);
  assert_int_equal(polyad_set_memory_limit(context, 0), POLYAD_OK);
  assert_int_equal(polyad_memory_limit(context), 3 << 20);
  polyad_context_destroy(context);
}

/* What launchers say of the processes beside this one. */
static void launched_processes_share_the_machine(void **state) {
  (void)state;
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "PMI_SIZE",
                                      "MPI_LOCALNRANKS",
                                      "PMIX_RANK",
                                      "SLURM_NTASKS",
                                      "SLURM_STEP_TASKS_PER_NODE",
                                      "SLURM_NODEID"};
  enum { NAMES = sizeof names / sizeof *names };
  static const struct {
    const char *value[NAMES];
    int threads;
  } table[] = {{{NULL}, 8},
               {{"2", "2"}, 4},
               {{"1", "1"}, 8},
               {{"8", "4"}, 2},
               {{"8", "no"}, 8},
               {{NULL, NULL, "2", "2"}, 4},
               {{NULL, NULL, "2"}, 8},
               {{NULL, "2", NULL, "2"}, 8}, /* nobody launched it */
               {{NULL, NULL, NULL, NULL, "0", "7", "2(x3),1", "2"}, 4},
               {{NULL, NULL, NULL, NULL, "0", "7", "2(x3),1", "3"}, 8},
               {{NULL, NULL, NULL, NULL, "0", "7", "4,2,1", "0"}, 2},
               {{NULL, NULL, NULL, NULL, "0", "7", "4,2,1", "1"}, 4},
               {{NULL, NULL, NULL, NULL, "0", "7", "4,2,1", "5"}, 8}};
  fakes[0] = (struct fake_file){"/proc/meminfo", "MemAvailable: 8192 kB\n"};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    polyad_context *context;
    for (int v = 0; v < NAMES; ++v)
      assert_int_equal(table[k].value[v] == NULL ? unsetenv(names[v])
                                                 : setenv(names[v], table[k].value[v], 1),
                       0);
    assert_int_equal(polyad_context_create(&context), POLYAD_OK);
    assert_int_equal(polyad_team_share_machine(context), POLYAD_OK);
    if (polyad_threads(context) != table[k].threads)
      fail_msg("case %zu: %d threads; expected %d", k, polyad_threads(context), table[k].threads);
    assert_int_equal(polyad_memory_limit(context), (8 << 20) / (8 / table[k].threads));
    polyad_context_destroy(context);
  }
  for (int v = 0; v < NAMES; ++v)
    assert_int_equal(unsetenv(names[v]), 0);
  assert_int_equal(polyad_team_share_machine(NULL), POLYAD_INVALID_ARGUMENT);
}

static void without_a_mask_there_is_a_processor(void **state) {
  (void)state;
  affinity = 0;
  assert_int_equal(pd_machine_processors(), __real_sysconf(_SC_NPROCESSORS_ONLN));
  no_sysconf = true;
  assert_int_equal(pd_machine_processors(), 1);
}

static void memory_is_the_least_that_is_said(void **state) {
  (void)state;
  uint64_t all = (uint64_t)__real_sysconf(_SC_PHYS_PAGES) * (uint64_t)__real_sysconf(_SC_PAGESIZE);
  assert_int_equal(pd_machine_memory(), all);
  fakes[0] = (struct fake_file){"/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   8192 kB\n"};
  assert_int_equal(pd_machine_memory(), 8 << 20);
  fakes[1] = (struct fake_file){"/proc/self/cgroup", "9:memory:/old\n0::/new\n"};
  fakes[2] = (struct fake_file){"/sys/fs/cgroup/new/memory.max", "max\n"};
  assert_int_equal(pd_machine_memory(), 8 << 20);
  fakes[3] = (struct fake_file){"/sys/fs/cgroup/memory.max", "4194304\n"};
  assert_int_equal(pd_machine_memory(), 4 << 20);
  fakes[4] = (struct fake_file){"/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "2097152\n"};
  assert_int_equal(pd_machine_memory(), 2 << 20);
  fakes[0].text = "MemAvailable: 0 kB\n"; /* what cannot be is not believed */
  fakes[2].text = fakes[3].text = fakes[4].text = "99999999999999999999999999\n";
  assert_int_equal(pd_machine_memory(), all);
  no_sysconf = true;
  assert_int_equal(pd_machine_memory(), UINT64_C(1) << 32);
}

static void address_space_is_what_is_left(void **state) {
  (void)state;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  assert_true(pd_machine_address_space() == UINT64_MAX);
  assert_int_equal(pd_thread_bytes(4), 0);
  address_space = 1 << 30;
  assert_int_equal(pd_machine_address_space(), 1 << 30);
  fakes[0] = (struct fake_file){"/proc/self/statm", "1000 7 7 7 0 7 0\n"};
  assert_int_equal(pd_machine_address_space(), (1 << 30) - 1000 * page);
  address_space = 1000 * page;
  assert_int_equal(pd_machine_address_space(), 0);
  assert_true(pd_thread_bytes(4) > 0);
  assert_int_equal(pd_thread_bytes(1), 0);
}

/* The stacks of threads that have yet to start are no memory for data, but for the 32 MiB of them
 * that the C library keeps mapped. */
static void a_context_leaves_room_for_stacks(void **state) {
  (void)state;
  polyad_context *context;
  affinity = 16;
  address_space = 1 << 30;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  uint64_t stacks = pd_thread_bytes(polyad_threads(context)), kept = 32 << 20;
  assert_int_equal(polyad_threads(context), 16);
  assert_true(stacks > kept);
  assert_int_equal(polyad_memory_limit(context), (1 << 30) - (stacks - kept));
  polyad_context_destroy(context);
  address_space = 1 << 20; /* no room for a second thread */
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_threads(context), 1);
  assert_int_equal(polyad_memory_limit(context), 1 << 20);
  polyad_context_destroy(context);
}

static void caches_have_a_size_everywhere(void **state) {
  (void)state;
  no_sysconf = true;
  assert_int_equal(pd_machine_cache(1), 32 << 10);
  assert_int_equal(pd_machine_cache(2), 512 << 10);
  assert_int_equal(pd_machine_cache(3), 8 << 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(processors_follow_mask_and_quotas, forget),
      cmocka_unit_test_setup(the_root_group_counts, forget),
      cmocka_unit_test_setup(processes_divide_what_they_share, forget),
      cmocka_unit_test_setup(a_process_says_what_it_may_use, forget),
      cmocka_unit_test_setup(only_threads_that_nobody_set_are_suggested, forget),
      cmocka_unit_test_setup(a_process_takes_its_part, forget),
      cmocka_unit_test_setup(memory_is_divided_where_it_is_shared, forget),
      cmocka_unit_test_setup(only_a_limit_that_nobody_set_is_divided, forget),
      cmocka_unit_test_setup(launched_processes_share_the_machine, forget),
      cmocka_unit_test_setup(without_a_mask_there_is_a_processor, forget),
      cmocka_unit_test_setup(memory_is_the_least_that_is_said, forget),
      cmocka_unit_test_setup(address_space_is_what_is_left, forget),
      cmocka_unit_test_setup(a_context_leaves_room_for_stacks, forget),
      cmocka_unit_test_setup(caches_have_a_size_everywhere, forget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
