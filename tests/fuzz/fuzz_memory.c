#include "fuzz_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif
#ifdef POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#endif

enum {
  KEPT_FROM = 32 << 10,
  KEPT_TO = 32 << 20,
  KEPT_BLOCKS = 16,
  SMALL_ALIGNMENT = 64,
  HUGE_ALIGNMENT = 2 << 20, /* asked for from 8 MiB on */
  HUGE_FROM = 8 << 20,
  WATCHED = 256 << 10, /* of a block that was given back: poisoning all of a large one takes long */
  STRIP = 4096         /* behind a block's end */
};

/* Blocks that were given back, or are free to be filled (block NULL). */
static struct kept {
  void *block;
  size_t room;
} kept[KEPT_BLOCKS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static bool is_kept(size_t bytes) { return bytes >= KEPT_FROM && bytes <= KEPT_TO; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Sizes are powers of two: a block then serves many requests. */
static size_t room_for(size_t bytes) {
  size_t room = KEPT_FROM;
  while (room < bytes)
    room *= 2;
  return room;
}

static void *take_kept(size_t room) {
  void *block = NULL;
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < KEPT_BLOCKS && block == NULL; ++k)
    if (kept[k].block != NULL && kept[k].room == room) {
      block = kept[k].block;
      kept[k].block = NULL;
    }
  pthread_mutex_unlock(&mutex);
  return block;
}

static bool keep(void *block, size_t room) {
  bool done = false;
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < KEPT_BLOCKS && !done; ++k)
    if (kept[k].block == NULL) {
      kept[k] = (struct kept){block, room};
      done = true;
    }
  pthread_mutex_unlock(&mutex);
  return done;
}

static void *allocate(void *user, size_t alignment, size_t bytes) {
  (void)user;
  void *block = NULL;
  if (!is_kept(bytes)) return posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
  size_t room = room_for(bytes);
  block = take_kept(room);
  if (block == NULL &&
      posix_memalign(&block, room < HUGE_FROM ? SMALL_ALIGNMENT : HUGE_ALIGNMENT, room) != 0)
    return NULL;
  ASAN_UNPOISON_MEMORY_REGION(block, least(bytes, WATCHED));
  ASAN_POISON_MEMORY_REGION((char *)block + bytes, least(room - bytes, STRIP));
  return block;
}

static void release(void *user, void *block, size_t bytes) {
  (void)user;
  if (is_kept(bytes)) {
    size_t room = room_for(bytes);
    ASAN_UNPOISON_MEMORY_REGION((char *)block + bytes, least(room - bytes, STRIP));
    ASAN_POISON_MEMORY_REGION(block, least(bytes, WATCHED));
    if (keep(block, room)) return;
    ASAN_UNPOISON_MEMORY_REGION(block, least(bytes, WATCHED));
  }
  free(block);
}

const polyad_allocator fuzz_allocator = {allocate, release, NULL};
