/* The arena of large blocks: blocks do not overlap, freed memory is handed out again, and what is
 * kept never makes a context larger than it has been. */
#define _GNU_SOURCE /* MREMAP_FIXED */
#include "harness.h"

#include "core/context_internal.h"
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20, BLOCKS = 60, STEPS = 2000, LARGEST = 12 };

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void assert_sound(const struct pd_arena *arena) {
  uint64_t kept = 0;
  assert_true(arena->extents <= PD_ARENA_EXTENTS_MOST);
  for (int k = 0; k < arena->extents; ++k) {
    const struct pd_extent *extent = &arena->extent[k];
    kept += extent->bytes;
    assert_true(extent->bytes > 0 && extent->bytes % PD_ARENA_UNIT == 0);
    assert_true((uintptr_t)extent->begin % PD_ARENA_UNIT == 0);
    if (k > 0) assert_true(extent[-1].begin + extent[-1].bytes < extent->begin);
  }
  assert_int_equal(kept, arena->kept);
}

static void test_freed_memory_is_handed_out_again(void **state) {
  (void)state;
  struct pd_arena arena;
  pd_arena_init(&arena);
  char *first = pd_arena_take(&arena, 10 * MIB);
  assert_non_null(first);
  memset(first, 1, 10 * MIB);
  pd_arena_give(&arena, first, 10 * MIB);
  char *half = pd_arena_take(&arena, 5 * MIB), *rest = pd_arena_take(&arena, 4 * MIB);
  assert_ptr_equal(half, first);
  assert_ptr_equal(rest, first + 5 * MIB);
  assert_int_equal(arena.kept, MIB);
  pd_arena_give(&arena, half, 5 * MIB);
  pd_arena_give(&arena, rest, 4 * MIB);
  assert_int_equal(arena.extents, 1); /* neighbours are one again */
  assert_int_equal(arena.kept, 10 * MIB);
  pd_arena_return(&arena, UINT64_MAX);
  assert_int_equal(arena.kept, 0);
  assert_int_equal(arena.extents, 0);
  pd_arena_end(&arena);
}

/* Blocks and kept memory together are never more than the blocks alone once were; no more is kept
 * than is in use. */
static void test_kept_memory_does_not_count(void **state) {
  (void)state;
  enum { ROUNDS = 300, HELD = 12, ROUNDING = HELD * PD_ARENA_UNIT };
  polyad_context *context;
  void *held[HELD] = {NULL};
  uint64_t random = 5;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (int round = 0; round < ROUNDS; ++round) {
    void **one = &held[next_random(&random) % HELD];
    if (*one != NULL) {
      pd_free(context, *one);
      *one = NULL;
      assert_true(context->arena.kept <= polyad_memory_in_use(context));
      continue;
    }
    /* Blocks of the C library, too. */
    uint64_t bytes = next_random(&random) % (LARGEST * MIB);
    assert_int_equal(pd_alloc(context, bytes, 1, one), POLYAD_OK);
    assert_true(polyad_memory_in_use(context) + context->arena.kept <=
                polyad_memory_peak(context) + ROUNDING);
    assert_sound(&context->arena);
  }
  for (int k = 0; k < HELD; ++k)
    pd_free(context, held[k]);
  assert_int_equal(context->arena.kept, 0);
  polyad_context_destroy(context);
}

struct held {
  unsigned char *block;
  uint64_t bytes;
  unsigned char mark;
};

static void check_marks(const struct held *held) {
  assert_int_equal(held->block[0], held->mark);
  assert_int_equal(held->block[held->bytes / 2], held->mark);
  assert_int_equal(held->block[held->bytes - 1], held->mark);
}

static void take_marked(struct pd_arena *arena, uint64_t *random, struct held *held) {
  held->bytes = 2 * MIB + next_random(random) % (LARGEST * MIB);
  held->mark = (unsigned char)next_random(random);
  held->block = pd_arena_take(arena, held->bytes);
  assert_non_null(held->block);
  assert_int_equal((uintptr_t)held->block % PD_ARENA_UNIT, 0);
  held->block[0] = held->block[held->bytes / 2] = held->block[held->bytes - 1] = held->mark;
}

static void test_random_blocks_do_not_overlap(void **state) {
  (void)state;
  struct held held[BLOCKS] = {{0}};
  struct pd_arena arena;
  uint64_t random = 1;
  pd_arena_init(&arena);
  for (int step = 0; step < STEPS; ++step) {
    struct held *one = &held[next_random(&random) % BLOCKS];
    if (one->block == NULL) {
      take_marked(&arena, &random, one);
    } else {
      check_marks(one);
      pd_arena_give(&arena, one->block, one->bytes);
      one->block = NULL;
    }
    assert_sound(&arena);
  }
  for (int k = 0; k < BLOCKS; ++k) {
    if (held[k].block == NULL) continue;
    check_marks(&held[k]);
    pd_arena_give(&arena, held[k].block, held[k].bytes);
  }
  assert_sound(&arena);
  pd_arena_end(&arena);
}

/* Where the system can move pages, freed blocks that are no neighbours make one larger block. */
static void test_freed_memory_is_joined(void **state) {
  (void)state;
  enum { PARTS = 5, PART = 4 * MIB };
  struct pd_arena arena;
  unsigned char *part[2 * PARTS];
  pd_arena_init(&arena);
  for (int k = 0; k < 2 * PARTS; ++k) {
    part[k] = pd_arena_take(&arena, PART);
    assert_non_null(part[k]);
    memset(part[k], k + 1, PART);
  }
  for (int k = 0; k < PARTS; ++k)
    pd_arena_give(&arena, part[2 * k], PART);
  unsigned char *joined = pd_arena_take(&arena, PARTS * PART - MIB);
  assert_non_null(joined);
  assert_sound(&arena);
#ifdef MREMAP_FIXED
  assert_int_equal(arena.kept, 2 * MIB); /* the last huge page was not moved, and stays */
#endif
  memset(joined, 255, PARTS * PART - MIB);
  for (int k = 0; k < PARTS; ++k)
    for (int at = 0; at < PART; at += MIB / 2)
      assert_int_equal(part[2 * k + 1][at], 2 * k + 2); /* others stay as they were */
  pd_arena_give(&arena, joined, PARTS * PART - MIB);
  for (int k = 0; k < PARTS; ++k)
    pd_arena_give(&arena, part[2 * k + 1], PART);
  assert_sound(&arena);
  pd_arena_end(&arena);
}

static void test_what_cannot_be_had_is_null(void **state) {
  (void)state;
  struct pd_arena arena;
  pd_arena_init(&arena);
  char *some = pd_arena_take(&arena, 4 * MIB);
  pd_arena_give(&arena, some, 4 * MIB);
  assert_null(pd_arena_take(&arena, UINT64_C(1) << 60));
  assert_sound(&arena);
  pd_arena_end(&arena);
}

/* A long array is filled by several threads, its last piece is short, and its memory was used. */
static void test_zeroed_arrays_are_zero(void **state) {
  (void)state;
  enum { BYTES = 41 * MIB + 3 };
  polyad_context *context;
  char *used, *zeroed;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, 3), POLYAD_OK);
  assert_int_equal(pd_alloc(context, BYTES, 1, (void **)&used), POLYAD_OK);
  memset(used, 5, BYTES);
  pd_free(context, used);
  assert_int_equal(pd_alloc_zero(context, BYTES, 1, (void **)&zeroed), POLYAD_OK);
  uint64_t wrong = 0;
  for (uint64_t k = 0; k < BYTES; ++k)
    wrong += zeroed[k] != 0;
  assert_int_equal(wrong, 0);
  pd_free(context, zeroed);
  polyad_context_destroy(context);
}

/* Pieces of threads meet without a gap, and nothing behind them is touched. */
static void test_copied_arrays_are_equal(void **state) {
  (void)state;
  enum { BYTES = 53 * MIB + 5, AFTER = 9 };
  polyad_context *context;
  unsigned char *from, *to;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(pd_alloc(context, BYTES + AFTER, 1, (void **)&from), POLYAD_OK);
  assert_int_equal(pd_alloc(context, BYTES + AFTER, 1, (void **)&to), POLYAD_OK);
  for (uint64_t k = 0; k < BYTES + AFTER; ++k)
    from[k] = (unsigned char)(k % 251);
  for (int threads = 1; threads <= 3; ++threads) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    memset(to, 255, BYTES + AFTER);
    pd_copy(context, to, from, BYTES);
    assert_true(memcmp(to, from, BYTES) == 0);
    for (int k = 0; k < AFTER; ++k)
      assert_int_equal(to[BYTES + k], 255);
  }
  PD_FREE(context, from, to);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_freed_memory_is_handed_out_again),
                                     cmocka_unit_test(test_kept_memory_does_not_count),
                                     cmocka_unit_test(test_random_blocks_do_not_overlap),
                                     cmocka_unit_test(test_freed_memory_is_joined),
                                     cmocka_unit_test(test_what_cannot_be_had_is_null),
                                     cmocka_unit_test(test_zeroed_arrays_are_zero),
                                     cmocka_unit_test(test_copied_arrays_are_equal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
