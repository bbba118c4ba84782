#define _GNU_SOURCE
#include "core/machine.h"
#include <errno.h>
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

/* Calls `visit` with the contents of `file` in the process's group and each parent; in a container
 * the group's path may be the host's, of which only the root is mounted. */
static void each_cgroup(const struct cgroup_tree *tree, const char *file,
                        void (*visit)(const char *text, void *user), void *user) {
  char group[1024];
  own_cgroup(tree, group, sizeof group);
  for (;;) {
    char path[1200], text[256];
    snprintf(path, sizeof path, "%s%s/%s", tree->mount, strcmp(group, "/") == 0 ? "" : group, file);
    if (read_small_file(path, text, sizeof text)) visit(text, user);
    char *slash = strrchr(group, '/');
    if (slash == NULL) break;
    *slash = '\0';
  }
}

static void smaller_quota(const char *text, void *user) {
  double *processors = user;
  char *end;
  double quota = strtod(text, &end);
  if (end == text) return; /* "max" */
  double period = strtod(end, NULL);
  if (period > 0 && quota / period < *processors) *processors = quota / period;
}

int pd_machine_processors(void) {
  cpu_set_t set;
  int count = 0;
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
  if (count < 1) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
  double processors = count < 1 ? 1 : count;
  each_cgroup(&version_2, "cpu.max", smaller_quota, &processors);
  return processors < 1 ? 1 : (int)processors;
}

static void smaller_memory(const char *text, void *user) {
  uint64_t *bytes = user;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (end != text && errno == 0 && value < *bytes) *bytes = value;
}

uint64_t pd_machine_memory(void) {
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
  each_cgroup(&version_2, "memory.max", smaller_memory, &bytes);
  each_cgroup(&version_1_memory, "memory.limit_in_bytes", smaller_memory, &bytes);
  return bytes;
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
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  if (!read_small_file("/proc/sys/kernel/random/boot_id", text, sizeof text))
    (void)gethostname(text, sizeof text - 1);
  for (const char *c = text; *c != '\0'; ++c)
    hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
  return hash;
}
