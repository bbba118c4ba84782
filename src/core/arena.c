/* Kept memory is a short list of extents. A block comes from the smallest one that has room for it,
 * else it is address space of its own, which begins at a huge page: the huge pages that are kept
 * are moved there, and only what they do not fill is fresh from the system. */
#define _GNU_SOURCE /* mremap */
#include "core/arena.h"
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static const uint64_t HUGE_PAGE = 2 << 20;

static uint64_t whole_units(uint64_t bytes) {
  return (bytes + PD_ARENA_UNIT - 1) / PD_ARENA_UNIT * PD_ARENA_UNIT;
}

void pd_arena_init(struct pd_arena *arena) {
  memset(arena, 0, sizeof *arena);
  pthread_mutex_init(&arena->mutex, NULL);
}

void pd_arena_end(struct pd_arena *arena) {
  pd_arena_return(arena, UINT64_MAX);
  pthread_mutex_destroy(&arena->mutex);
}

static void remove_extent(struct pd_arena *arena, int at) {
  --arena->extents;
  memmove(&arena->extent[at], &arena->extent[at + 1],
          (size_t)(arena->extents - at) * sizeof arena->extent[0]);
}

/* Returns at least `bytes` of kept memory, or all of it. */
static void return_kept(struct pd_arena *arena, uint64_t bytes) {
  while (bytes > 0 && arena->extents > 0) {
    struct pd_extent *last = &arena->extent[arena->extents - 1];
    uint64_t some = bytes < last->bytes ? whole_units(bytes) : last->bytes;
    last->bytes -= some;
    arena->kept -= some;
    (void)munmap(last->begin + last->bytes, (size_t)some);
    if (last->bytes == 0) --arena->extents;
    bytes -= some < bytes ? some : bytes;
  }
}

/* A block from kept memory; NULL: no extent is large enough. */
static char *take_kept(struct pd_arena *arena, uint64_t bytes) {
  int best = -1;
  for (int k = 0; k < arena->extents; ++k)
    if (arena->extent[k].bytes >= bytes &&
        (best < 0 || arena->extent[k].bytes < arena->extent[best].bytes))
      best = k;
  if (best < 0) return NULL;
  struct pd_extent *extent = &arena->extent[best];
  char *block = extent->begin;
  extent->begin += bytes;
  extent->bytes -= bytes;
  arena->kept -= bytes;
  if (extent->bytes == 0) remove_extent(arena, best);
  return block;
}

/* Address space at a multiple of a huge page: what is mapped around it is unmapped. */
static char *map_aligned(uint64_t bytes) {
  char *mapped = mmap(NULL, (size_t)(bytes + HUGE_PAGE), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  size_t before = (size_t)(-(uintptr_t)mapped & (HUGE_PAGE - 1));
  if (before > 0) (void)munmap(mapped, before);
  (void)munmap(mapped + before + bytes, (size_t)HUGE_PAGE - before);
  return mapped + before;
}

/* Takes [from, from + bytes), whose pages are elsewhere now, out of an extent. */
static void cut_extent(struct pd_arena *arena, int at, char *from, uint64_t bytes) {
  struct pd_extent *extent = &arena->extent[at];
  struct pd_extent after = {from + bytes, (uint64_t)(extent->begin + extent->bytes - from) - bytes};
  extent->bytes = (uint64_t)(from - extent->begin);
  arena->kept -= bytes;
  if (after.bytes > 0 && arena->extents == PD_ARENA_EXTENTS_MOST) {
    (void)munmap(after.begin, (size_t)after.bytes);
    arena->kept -= after.bytes;
  } else if (after.bytes > 0) {
    memmove(extent + 2, extent + 1, (size_t)(arena->extents - at - 1) * sizeof *extent);
    extent[1] = after;
    ++arena->extents;
  }
  if (extent->bytes == 0) remove_extent(arena, at);
}

/* Moves the pages of an extent's whole huge pages to `block`, at most `bytes`; false: the place is
 * lost. `moved` is how many they are, none where the system cannot move them. */
static bool move_pages(struct pd_arena *arena, int at, char *block, uint64_t bytes,
                       uint64_t *moved) {
  *moved = 0;
#ifdef MREMAP_FIXED
  const struct pd_extent *extent = &arena->extent[at];
  uint64_t begin = (uint64_t)(uintptr_t)extent->begin, end = begin + extent->bytes;
  begin = (begin + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
  end &= ~(HUGE_PAGE - 1);
  bytes &= ~(HUGE_PAGE - 1);
  if (begin >= end || bytes == 0) return true;
  if (end - begin < bytes) bytes = end - begin;
  char *from = extent->begin + (end - bytes - (uint64_t)(uintptr_t)extent->begin);
  if (mremap(from, (size_t)bytes, (size_t)bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block) ==
      MAP_FAILED) /* which may have unmapped the place first */
    return mmap(block, (size_t)bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  cut_extent(arena, at, from, bytes);
  *moved = bytes;
#else
  (void)arena, (void)at, (void)block, (void)bytes;
#endif
  return true;
}

/* A block of address space of its own, as far as possible with pages that are kept. */
static char *take_joined(struct pd_arena *arena, uint64_t bytes) {
  char *block = map_aligned(bytes);
  uint64_t filled = 0, moved;
  for (int k = arena->extents - 1; k >= 0 && block != NULL; --k) {
    if (!move_pages(arena, k, block + filled, bytes - filled, &moved)) {
      (void)munmap(block, (size_t)bytes);
      return NULL;
    }
    filled += moved;
  }
  return block;
}

void *pd_arena_take(struct pd_arena *arena, uint64_t bytes) {
  uint64_t whole = whole_units(bytes);
  pthread_mutex_lock(&arena->mutex);
  char *block = take_kept(arena, whole);
  if (block == NULL) block = take_joined(arena, whole);
  if (block == NULL) {
    return_kept(arena, UINT64_MAX);
    block = map_aligned(whole);
  }
  pthread_mutex_unlock(&arena->mutex);
#ifdef MADV_HUGEPAGE
  /* Random rows of large factors miss the TLB with 4 KiB pages. */
  if (block != NULL) (void)madvise(block, (size_t)whole, MADV_HUGEPAGE);
#endif
  return block;
}

/* Puts memory among the extents, as one with its neighbours. */
static void arena_keep(struct pd_arena *arena, char *block, uint64_t bytes) {
  int at = 0;
  while (at < arena->extents && arena->extent[at].begin < block)
    ++at;
  struct pd_extent *here = &arena->extent[at], *before = here - 1;
  bool joins_before = at > 0 && before->begin + before->bytes == block;
  bool joins_after = at < arena->extents && block + bytes == here->begin;
  arena->kept += bytes;
  if (joins_before) {
    before->bytes += bytes + (joins_after ? here->bytes : 0);
    if (joins_after) remove_extent(arena, at);
  } else if (joins_after) {
    here->begin = block;
    here->bytes += bytes;
  } else {
    memmove(here + 1, here, (size_t)(arena->extents - at) * sizeof *here);
    *here = (struct pd_extent){block, bytes};
    ++arena->extents;
  }
}

void pd_arena_give(struct pd_arena *arena, void *block, uint64_t bytes) {
  bytes = whole_units(bytes);
#ifdef MADV_FREE
  (void)madvise(block, (size_t)bytes, MADV_FREE);
#endif
  pthread_mutex_lock(&arena->mutex);
  arena_keep(arena, block, bytes);
  if (arena->extents > PD_ARENA_EXTENTS_MOST)
    return_kept(arena, arena->extent[arena->extents - 1].bytes);
  pthread_mutex_unlock(&arena->mutex);
}

void pd_arena_return(struct pd_arena *arena, uint64_t bytes) {
  pthread_mutex_lock(&arena->mutex);
  return_kept(arena, bytes);
  pthread_mutex_unlock(&arena->mutex);
}
