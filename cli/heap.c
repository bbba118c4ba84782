#define _GNU_SOURCE /* sbrk, MADV_HUGEPAGE */
#include "heap.h"
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger blocks of the library are huge pages of their own (src/core/arena.h). */
enum { HUGE_PAGE = 2 << 20, ROOM = 16 << 20, LARGEST_BLOCK = 4 << 20 };
enum { FIRST_BLOCK = 64 << 10, PAGE = 4 << 10, BLOCKS_MOST = 64, TINY_FILE = 64 << 10 };

static bool is_limited(void) {
  struct rlimit space, data;
  return getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY ||
         getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur != RLIM_INFINITY;
}

/* A pipe, or what else is no regular file, may bring any number of bytes: it is not tiny. */
static bool is_tiny(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size < TINY_FILE;
}

/* Moves the end of the heap so that a huge page begins behind the first block that malloc() takes
 * there. Returns where that page begins, or NULL where the end cannot be moved. */
static char *align_break(void) {
  uintptr_t first = (uintptr_t)sbrk(0) + FIRST_BLOCK + PAGE;
  char *old = sbrk((intptr_t)(-first & (HUGE_PAGE - 1)));
  return old == (char *)-1 ? NULL : (char *)sbrk(0) + FIRST_BLOCK + PAGE;
}

/* Lets malloc() move the break: takes blocks until what was free before is used up. */
static void move_break(void) {
  void *block[BLOCKS_MOST];
  const char *before = sbrk(0);
  int blocks = 0;
  while (blocks < BLOCKS_MOST && (const char *)sbrk(0) == before)
    block[blocks++] = malloc(FIRST_BLOCK);
  while (blocks > 0)
    free(block[--blocks]);
}

/* malloc() takes the whole room from the system at once, and the advice comes before it writes
 * among those pages. With an allocator that does not take memory from the end of the heap, nothing
 * is advised. */
void cli_heap_begin(const char *path) {
  static bool begun;
  if (begun || is_tiny(path) || is_limited()) return;
  begun = true;
  malloc_trim(0); /* what is left over from the program's start would be taken first */
  char *begin = align_break();
  if (begin == NULL) return;
  mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK);
  mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
  mallopt(M_TOP_PAD, ROOM);
  move_break();
  mallopt(M_TOP_PAD, LARGEST_BLOCK);
#ifdef MADV_HUGEPAGE
  const char *end = sbrk(0);
  if (end > begin) (void)madvise(begin, (size_t)(end - begin), MADV_HUGEPAGE);
#endif
}
