/* What a process may use of its machine, read from files and calls that the test answers in the
 * system's place: groups of version 1 and 2 with their parents, an affinity mask, ulimit -v. */
#define _GNU_SOURCE
#include "harness.h"

#include "core/machine.h"
#include "core/start_threads.h"
#include <polyad/polyad.h>
#include <sched.h>
#include <stdio.h>
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
  assert_int_equal(process, 0);
  assert_int_equal(size, sizeof *set);
  if (affinity == 0) return -1;
  CPU_ZERO(set);
  for (size_t k = 0; k < (size_t)affinity; ++k)
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
      cmocka_unit_test_setup(without_a_mask_there_is_a_processor, forget),
      cmocka_unit_test_setup(memory_is_the_least_that_is_said, forget),
      cmocka_unit_test_setup(address_space_is_what_is_left, forget),
      cmocka_unit_test_setup(a_context_leaves_room_for_stacks, forget),
      cmocka_unit_test_setup(caches_have_a_size_everywhere, forget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
