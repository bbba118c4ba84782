#define _GNU_SOURCE
#include "core/machine.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Reads up to size-1 bytes of a small file; false when it cannot be read. */
static int read_small_file(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  size_t length = fread(text, 1, size - 1, file);
  fclose(file);
  text[length] = '\0';
  return length > 0;
}

/* Where a controller's groups are mounted, and what comes before the process's own group in
 * /proc/self/cgroup: version 2 has one tree for all, version 1 one for memory. */
struct cgroup_tree {
  const char *mount, *entry;
};
static const struct cgroup_tree version_2 = {"/sys/fs/cgroup", "0::"};
static const struct cgroup_tree version_1_memory = {"/sys/fs/cgroup/memory", ":memory:"};

/* The process's own group, such as "/user.slice/x"; "" when unknown. */
static void own_cgroup(const struct cgroup_tree *tree, char *path, size_t size) {
  char text[4096];
  path[0] = '\0';
  if (!read_small_file("/proc/self/cgroup", text, sizeof text)) return;
  const char *line = strstr(text, tree->entry);
  if (line == NULL) return;
  line += strlen(tree->entry);
  size_t length = strcspn(line, "\n");
  if (length >= size) return;
  memcpy(path, line, length);
  path[length] = '\0';
}

/* Calls `visit` with the contents of `file` in the process's group and each parent, and the file's
 * path; in a container the group's path may be the host's, of which only the root is mounted. */
static void each_cgroup(const struct cgroup_tree *tree, const char *file,
                        void (*visit)(const char *path, const char *text, void *user), void *user) {
  char group[1024];
  own_cgroup(tree, group, sizeof group);
  for (;;) {
    char path[1200], text[256];
    snprintf(path, sizeof path, "%s%s/%s", tree->mount, strcmp(group, "/") == 0 ? "" : group, file);
    if (read_small_file(path, text, sizeof text)) visit(path, text, user);
    char *slash = strrchr(group, '/');
    if (slash == NULL) break;
    *slash = '\0';
  }
}

static uint64_t hash_text(uint64_t hash, const char *text) { /* FNV-1a */
  for (const char *c = text; *c != '\0'; ++c)
    hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
  return hash;
}

static const uint64_t empty_hash = UINT64_C(0xcbf29ce484222325);

/* Of equal quotas the outermost counts, which more processes have together. */
static void smaller_quota(const char *path, const char *text, void *user) {
  struct pd_machine_hold *hold = user;
  char *end;
  double quota = strtod(text, &end);
  if (end == text) return; /* "max" */
  double period = strtod(end, NULL);
  if (!(period > 0 && quota / period <= hold->quota)) return;
  hold->quota = quota / period;
  hold->quota_group = hash_text(empty_hash, path);
}

/* Containers may name different groups alike: each has a name space of its own then. */
static uint64_t with_name_space(uint64_t hash) {
  char name[64] = "";
  ssize_t length = readlink("/proc/self/ns/cgroup", name, sizeof name - 1);
  name[length > 0 ? length : 0] = '\0';
  return hash_text(hash, name);
}

static void find_processors(struct pd_machine_hold *hold) {
  cpu_set_t set;
  int count = 0;
  *hold = (struct pd_machine_hold){.quota = INFINITY};
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
  for (int k = 0; k < CPU_SETSIZE && k < PD_MACHINE_PROCESSORS; ++k)
    if (count < 1 || CPU_ISSET((size_t)k, &set)) hold->mask[k / 64] |= UINT64_C(1) << k % 64;
  if (count < 1) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
  hold->processors = count < 1 ? 1 : (uint64_t)count;
  each_cgroup(&version_2, "cpu.max", smaller_quota, hold);
}

int pd_machine_processors(void) {
  struct pd_machine_hold hold;
  find_processors(&hold);
  return pd_machine_share(&hold, 1, 0);
}

/* Processes on the machine of number `which`, itself included, that have a processor. */
static int users_of(const struct pd_machine_hold *all, int count, int which, int processor) {
  int users = 0;
  for (int k = 0; k < count; ++k)
    users += all[k].machine == all[which].machine &&
             (all[k].mask[processor / 64] >> processor % 64 & 1) != 0;
  return users;
}

int pd_machine_share(const struct pd_machine_hold *all, int count, int which) {
  const struct pd_machine_hold *mine = &all[which];
  double parts = 0, processors = 0, together = 0;
  for (int k = 0; k < PD_MACHINE_PROCESSORS; ++k)
    if ((mine->mask[k / 64] >> k % 64 & 1) != 0) {
      parts += 1.0 / users_of(all, count, which, k);
      processors += 1;
    }
  for (int k = 0; k < count; ++k)
    together += all[k].machine == mine->machine && all[k].quota_group == mine->quota_group;
  double share = fmin((double)mine->processors * parts / processors, mine->quota / together);
  return share < 1 ? 1 : (int)(share + 1e-9); /* sums of thirds */
}

int pd_machine_part(int count) {
  struct pd_machine_hold hold;
  cpu_set_t set;
  find_processors(&hold);
  uint64_t whole = hold.processors;
  if (sched_getaffinity(1, sizeof set, &set) == 0 && (uint64_t)CPU_COUNT(&set) > whole)
    whole = (uint64_t)CPU_COUNT(&set);
  double share = fmin((double)whole, hold.quota) / count;
  if (share > (double)hold.processors) share = (double)hold.processors;
  return share < 1 ? 1 : (int)share;
}

int pd_machine_memory_users(const struct pd_machine_hold *all, int count, int which) {
  int users = 0;
  for (int k = 0; k < count; ++k)
    users += all[k].machine == all[which].machine && all[k].memory_group == all[which].memory_group;
  return users;
}

struct memory {
  uint64_t bytes, group;
};

/* Of equal limits the outermost counts, which more processes have together. */
static void smaller_memory(const char *path, const char *text, void *user) {
  struct memory *memory = user;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (end == text || errno != 0 || value > memory->bytes) return;
  memory->bytes = value;
  memory->group = with_name_space(hash_text(empty_hash, path));
}

/* The bytes, and a number of the control group that bounds them; 0 where the whole machine does. */
static uint64_t machine_find_memory(uint64_t *group) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
  char text[4096];
  if (read_small_file("/proc/meminfo", text, sizeof text)) {
    const char *line = strstr(text, "MemAvailable:");
    if (line != NULL) {
      uint64_t available = strtoull(line + 13, NULL, 10) * 1024;
      if (available > 0 && available < bytes) bytes = available;
    }
  }
  struct memory memory = {.bytes = bytes};
  each_cgroup(&version_2, "memory.max", smaller_memory, &memory);
  each_cgroup(&version_1_memory, "memory.limit_in_bytes", smaller_memory, &memory);
  *group = memory.group;
  return memory.bytes;
}

uint64_t pd_machine_memory(void) {
  uint64_t group;
  return machine_find_memory(&group);
}

void pd_machine_hold(struct pd_machine_hold *hold) {
  find_processors(hold);
  hold->machine = pd_machine_identity();
  (void)machine_find_memory(&hold->memory_group);
  if (isfinite(hold->quota)) hold->quota_group = with_name_space(hold->quota_group);
}

uint64_t pd_machine_address_space(void) {
  struct rlimit limit;
  char text[128];
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  uint64_t most = limit.rlim_cur, used = 0;
  if (read_small_file("/proc/self/statm", text, sizeof text))
    used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
  return used < most ? most - used : 0;
}

uint64_t pd_machine_cache(int level) {
  static const uint64_t usual[] = {32 << 10, 512 << 10, 8 << 20};
  long bytes = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  static const int name[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  bytes = sysconf(name[level - 1]);
#endif
  return bytes > 0 ? (uint64_t)bytes : usual[level - 1];
}

/* The name alone is the same in two containers that nobody named, or "localhost" on many. */
uint64_t pd_machine_identity(void) {
  char text[256] = "";
  if (!read_small_file("/proc/sys/kernel/random/boot_id", text, sizeof text))
    (void)gethostname(text, sizeof text - 1);
  return hash_text(empty_hash, text);
}
