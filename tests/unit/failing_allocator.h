/* An allocator whose n-th allocation fails, and all later ones or that one alone, to sweep over all
 * of them. Behind each block lie bytes of a pattern: who reads them finds no zero, and who has
 * written them ends the program when the block is released. */
#ifndef PD_TEST_FAILING_ALLOCATOR_H
#define PD_TEST_FAILING_ALLOCATOR_H

#include <polyad/polyad.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILING_GUARD_BYTES = 16, FAILING_GUARD = 0xA5 };

struct failing_allocator {
  atomic_long until_failure; /* allocations that still succeed */
  atomic_long live;          /* blocks given out and not yet released */
  bool once;                 /* only one allocation fails; else all from that one on */
};

static inline void *failing_allocate(void *user, size_t alignment, size_t bytes) {
  struct failing_allocator *state = user;
  long left = atomic_fetch_sub(&state->until_failure, 1);
  if (left == 0 || (left < 0 && !state->once)) return NULL;
  size_t all = bytes + FAILING_GUARD_BYTES;
  char *pointer = aligned_alloc(alignment, (all + alignment - 1) / alignment * alignment);
  if (pointer == NULL) return NULL;
  memset(pointer + bytes, FAILING_GUARD, FAILING_GUARD_BYTES);
  atomic_fetch_add(&state->live, 1);
  return pointer;
}

static inline void failing_release(void *user, void *pointer, size_t bytes) {
  const unsigned char *guard = (const unsigned char *)pointer + bytes;
  for (int k = 0; k < FAILING_GUARD_BYTES; ++k)
    if (guard[k] != FAILING_GUARD) {
      fprintf(stderr, "byte %d behind a block of %zu bytes was written\n", k, bytes);
      abort();
    }
  atomic_fetch_sub(&((struct failing_allocator *)user)->live, 1);
  free(pointer);
}

static inline long sweep_allocations(polyad_status (*body)(polyad_context *, void *), void *data,
                                     int threads, bool once) {
  for (long n = 0;; ++n) {
    struct failing_allocator state = {1, 0, once};
    polyad_allocator allocator = {failing_allocate, failing_release, &state};
    polyad_context *limited;
    assert_int_equal(polyad_context_create_with_allocator(&allocator, &limited), POLYAD_OK);
    assert_int_equal(polyad_set_threads(limited, threads), POLYAD_OK);
    atomic_store(&state.until_failure, n);
    polyad_status status = body(limited, data);
    assert_int_equal(polyad_memory_in_use(limited), 0);
    if (status != POLYAD_OK) {
      assert_int_equal(status, POLYAD_OUT_OF_MEMORY);
      assert_true(polyad_last_error(limited)[0] != '\0');
    }
    polyad_context_destroy(limited);
    assert_int_equal(atomic_load(&state.live), 0);
    if (status == POLYAD_OK) return n;
  }
}

/* Runs `body` with the first, second, ... allocation and all behind it failing until it succeeds:
 * each failure must be POLYAD_OUT_OF_MEMORY with a message and leave nothing behind. `body`
 * destroys what it makes. Returns how many allocations the body needed. */
static inline long sweep_failures(polyad_status (*body)(polyad_context *, void *), void *data,
                                  int threads) {
  return sweep_allocations(body, data, threads, false);
}

/* The same with one failing alone: what follows a failure finds memory again. */
static inline long sweep_single_failures(polyad_status (*body)(polyad_context *, void *),
                                         void *data, int threads) {
  return sweep_allocations(body, data, threads, true);
}

#endif
