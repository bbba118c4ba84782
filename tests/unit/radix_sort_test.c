/* Sorting: against qsort, stable, the same for every number of threads. */
#include "harness.h"

#include "core/radix_sort.h"
#include "core/random.h"
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

static polyad_context *new_context(int threads) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  return context;
}

static void end_context(polyad_context *context) {
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static const uint64_t *compared;

static int by_key_then_place(const void *a, const void *b) {
  uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
  if (compared[p] != compared[q]) return compared[p] < compared[q] ? -1 : 1;
  return p < q ? -1 : p > q;
}

/* Keys of `bits` random bits, few distinct ones where `shift` takes low bits away. */
static void check_u64(polyad_context *context, uint64_t count, int bits, int shift,
                      size_t payload_bytes) {
  uint64_t *keys = malloc((count + 1) * 8), *original = malloc((count + 1) * 8);
  uint64_t *expected = malloc((count + 1) * 8);
  char *payload = malloc((count + 1) * 8);
  for (uint64_t p = 0; p < count; ++p) {
    keys[p] = original[p] = pd_random_u64(7, (uint64_t)bits, p) >> (64 - bits) >> shift << shift;
    expected[p] = p;
    if (payload_bytes != 0) memcpy(payload + p * payload_bytes, &p, payload_bytes);
  }
  compared = original;
  qsort(expected, count, 8, by_key_then_place);
  assert_int_equal(pd_sort_u64(context, count, keys, bits, payload, payload_bytes), POLYAD_OK);
  for (uint64_t p = 0; p < count; ++p) {
    assert_true(keys[p] == original[expected[p]]);
    if (payload_bytes != 0) {
      uint64_t place = 0;
      memcpy(&place, payload + p * payload_bytes, payload_bytes);
      assert_true(place == expected[p]);
    }
  }
  free(keys);
  free(original);
  free(expected);
  free(payload);
}

static void u64_agrees_with_qsort(void **state) {
  (void)state;
  static const uint64_t counts[] = {0, 1, 2, 3, 255, 1000, 40000, 100003};
  static const int bits[] = {1, 7, 8, 9, 17, 40, 63, 64};
  for (int threads = 1; threads <= 5; threads += 2) {
    polyad_context *context = new_context(threads);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
      for (size_t b = 0; b < sizeof bits / sizeof *bits; ++b)
        check_u64(context, counts[c], bits[b], b % 2 == 0 ? 0 : bits[b] / 2, 4 * ((c + b) % 3));
    end_context(context);
  }
}

static void skewed_keys_are_sorted(void **state) {
  (void)state;
  enum { COUNT = 300000 };
  polyad_context *context = new_context(3);
  uint64_t *keys = malloc(COUNT * 8);
  uint32_t *payload = malloc(COUNT * 4);
  for (uint32_t p = 0; p < COUNT; ++p) {
    double u = pd_random_uniform(3, 1, p);
    keys[p] = (uint64_t)(u * u * u * u * u * u * 0x1p50);
    payload[p] = p;
  }
  uint64_t *original = malloc(COUNT * 8);
  memcpy(original, keys, COUNT * 8);
  assert_int_equal(pd_sort_u64(context, COUNT, keys, 50, payload, 4), POLYAD_OK);
  for (uint32_t p = 0; p < COUNT; ++p) {
    assert_true(keys[p] == original[payload[p]]);
    if (p > 0)
      assert_true(keys[p - 1] < keys[p] || (keys[p - 1] == keys[p] && payload[p - 1] < payload[p]));
  }
  free(keys);
  free(payload);
  free(original);
  end_context(context);
}

/* Buckets of one key among large ones: where the first pass puts a key alone, it must come back. */
static void single_keys_are_sorted(void **state) {
  (void)state;
  enum { COUNT = 60000 };
  uint64_t *keys = malloc(COUNT * 8), *original = malloc(COUNT * 8);
  uint32_t *payload = malloc(COUNT * 4);
  for (int threads = 1; threads <= 3; ++threads) {
    polyad_context *context = new_context(threads);
    for (uint32_t p = 0; p < COUNT; ++p) {
      uint64_t digit = p % 6000 == 17 ? 20 + p / 6000 * 20 : p % 3; /* ten keys have their own */
      keys[p] = original[p] = digit << 32 | pd_random_u64(5, 1, p) >> 33;
      payload[p] = p;
    }
    assert_int_equal(pd_sort_u64(context, COUNT, keys, 40, payload, 4), POLYAD_OK);
    unsigned char *seen = calloc(COUNT, 1);
    for (uint32_t p = 0; p < COUNT; ++p) {
      assert_true(keys[p] == original[payload[p]] && !seen[payload[p]]);
      assert_true(p == 0 || keys[p - 1] <= keys[p]);
      seen[payload[p]] = 1;
    }
    free(seen);
    end_context(context);
  }
  free(keys);
  free(original);
  free(payload);
}

/* Three key columns: 32-bit, 64-bit of any value, 32-bit of limit 1. */
static void permutation_sorts(void **state) {
  (void)state;
  enum { COUNT = 70001 };
  uint32_t *first = malloc(COUNT * 4), *third = calloc(COUNT, 4);
  uint64_t *second = malloc(COUNT * 8);
  for (uint32_t p = 0; p < COUNT; ++p) {
    first[p] = (uint32_t)(pd_random_u64(1, 1, p) % 5);
    second[p] = pd_random_u64(1, 2, p) >> (p % 3 == 0 ? 0 : 62);
  }
  struct pd_key keys[] = {{first, 4, 5}, {second, 8, 0}, {third, 4, 1}};
  uint32_t *narrow = malloc(COUNT * 4), *narrow_gathered = malloc(COUNT * 4);
  uint64_t *wide = malloc(COUNT * 8), *wide_gathered = malloc(COUNT * 8);
  for (int threads = 1; threads <= 4; ++threads) {
    polyad_context *context = new_context(threads);
    assert_int_equal(pd_sort_permutation(context, COUNT, 3, keys, 4, narrow), POLYAD_OK);
    assert_int_equal(pd_sort_permutation(context, COUNT, 3, keys, 8, wide), POLYAD_OK);
    for (uint32_t p = 0; p < COUNT; ++p) {
      assert_true(narrow[p] == wide[p]);
      if (p == 0) continue;
      uint32_t a = narrow[p - 1], b = narrow[p];
      assert_true(
          first[a] < first[b] ||
          (first[a] == first[b] && (second[a] < second[b] || (second[a] == second[b] && a < b))));
    }
    bool strict = true;
    assert_false(pd_is_sorted(context, COUNT, 3, keys, &strict));
    assert_false(strict);
    pd_gather(context, COUNT, narrow, 4, first, 4, narrow_gathered);
    pd_gather(context, COUNT, wide, 8, second, 8, wide_gathered);
    struct pd_key sorted[] = {{narrow_gathered, 4, 5}, {wide_gathered, 8, 0}};
    assert_true(pd_is_sorted(context, COUNT, 2, sorted, &strict));
    assert_false(strict); /* small second keys repeat */
    pd_gather(context, COUNT, wide, 8, first, 4, narrow_gathered);
    pd_gather(context, COUNT, narrow, 4, second, 8, wide_gathered);
    assert_true(pd_is_sorted(context, COUNT, 2, sorted, &strict));
    end_context(context);
  }
  free(first);
  free(second);
  free(third);
  free(narrow);
  free(narrow_gathered);
  free(wide);
  free(wide_gathered);
}

static int sort_order[4];
static uint32_t *sort_column[4];

static int by_columns(const void *a, const void *b) {
  uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
  for (int k = 0; k < 4; ++k) {
    const uint32_t *column = sort_column[sort_order[k]];
    if (column[p] != column[q]) return column[p] < column[q] ? -1 : 1;
  }
  return p < q ? -1 : p > q;
}

/* Sorted columns in every other order, with and without repeated items and constant columns:
 * most need only some of the keys looked at. */
static void sorted_columns_are_reordered(void **state) {
  (void)state;
  enum { COUNT = 30000 };
  static const uint32_t ranges[][4] = {
      {9, 7, 5, 200}, {40, 50, 60, 70}, {1, 30, 1, 20}, {9, 70, 5, 20}};
  polyad_context *context = new_context(3);
  uint32_t *raw[4], *expected = malloc(COUNT * 4), *permutation = malloc(COUNT * 4);
  for (int k = 0; k < 4; ++k) {
    raw[k] = malloc(COUNT * 4);
    sort_column[k] = malloc(COUNT * 4);
  }
  for (int c = 0; c < 4; ++c) {
    for (uint32_t p = 0; p < COUNT; ++p)
      for (int k = 0; k < 4; ++k)
        raw[k][p] = (uint32_t)(pd_random_u64((uint64_t)c, (uint64_t)k, p) % ranges[c][k]);
    struct pd_key keys[4];
    for (int k = 0; k < 4; ++k)
      keys[k] = (struct pd_key){raw[k], 4, ranges[c][k]};
    assert_int_equal(pd_sort_permutation(context, COUNT, 4, keys, 4, permutation), POLYAD_OK);
    for (int k = 0; k < 4; ++k)
      pd_gather(context, COUNT, permutation, 4, raw[k], 4, sort_column[k]);
    for (int k = 0; c == 3 && k < 4; ++k) { /* one item out of place, seen or not by a sample */
      uint32_t moved = sort_column[k][100];
      sort_column[k][100] = sort_column[k][20077];
      sort_column[k][20077] = moved;
    }
    for (int code = 0; code < 256; ++code) {
      int seen = 0;
      for (int k = 0; k < 4; ++k) {
        sort_order[k] = code >> 2 * k & 3;
        seen |= 1 << sort_order[k];
        keys[k] = (struct pd_key){sort_column[sort_order[k]], 4, ranges[c][sort_order[k]]};
      }
      if (seen != 15) continue; /* no order of the four */
      for (uint32_t p = 0; p < COUNT; ++p)
        expected[p] = p;
      qsort(expected, COUNT, 4, by_columns);
      assert_int_equal(pd_sort_permutation(context, COUNT, 4, keys, 4, permutation), POLYAD_OK);
      assert_memory_equal(permutation, expected, COUNT * 4);
    }
  }
  for (int k = 0; k < 4; ++k) {
    free(raw[k]);
    free(sort_column[k]);
  }
  free(expected);
  free(permutation);
  end_context(context);
}

/* More keys than are looked at for an order. */
static void many_keys_are_sorted(void **state) {
  (void)state;
  enum { KEYS = 40, COUNT = 100 };
  polyad_context *context = new_context(1);
  uint32_t values[KEYS][COUNT], permutation[COUNT];
  struct pd_key keys[KEYS];
  for (int k = 0; k < KEYS; ++k) {
    keys[k] = (struct pd_key){values[k], 4, 0};
    for (uint32_t p = 0; p < COUNT; ++p)
      values[k][p] = k == KEYS - 1 ? COUNT - p : 7;
  }
  assert_int_equal(pd_sort_permutation(context, COUNT, KEYS, keys, 4, permutation), POLYAD_OK);
  for (uint32_t p = 0; p < COUNT; ++p)
    assert_int_equal(permutation[p], COUNT - 1 - p);
  end_context(context);
}

static void order_is_seen(void **state) {
  (void)state;
  enum { COUNT = 100000 };
  polyad_context *context = new_context(4);
  uint32_t *major = malloc(COUNT * 4), *minor = malloc(COUNT * 4);
  for (uint32_t p = 0; p < COUNT; ++p) {
    major[p] = p / 10;
    minor[p] = p % 10;
  }
  struct pd_key keys[] = {{major, 4, COUNT}, {minor, 4, 10}};
  bool strict = false;
  assert_true(pd_is_sorted(context, COUNT, 2, keys, &strict));
  assert_true(strict);
  assert_true(pd_is_sorted(context, COUNT, 1, keys, &strict));
  assert_false(strict);
  assert_true(pd_is_sorted(context, 0, 2, keys, &strict));
  assert_true(strict);
  for (uint32_t p = 1; p < COUNT; p += 9973) { /* wherever the fault lies, part borders included */
    uint32_t kept = major[p];
    major[p] = 0;
    if (p > 10) assert_false(pd_is_sorted(context, COUNT, 2, keys, &strict));
    major[p] = kept;
  }
  for (int part = 1; part < 4; ++part) {
    uint32_t border = COUNT / 4 * (uint32_t)part, kept = major[border];
    major[border] = 0;
    assert_false(pd_is_sorted(context, COUNT, 2, keys, &strict));
    major[border] = kept;
  }
  free(major);
  free(minor);
  end_context(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(u64_agrees_with_qsort),
      cmocka_unit_test(skewed_keys_are_sorted),
      cmocka_unit_test(single_keys_are_sorted),
      cmocka_unit_test(permutation_sorts),
      cmocka_unit_test(sorted_columns_are_reordered),
      cmocka_unit_test(many_keys_are_sorted),
      cmocka_unit_test(order_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
