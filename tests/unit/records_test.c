/* Sorting of packed records against a naive stable sort of the coordinates: odd sizes, repeated
 * keys, 1 to 8 modes, indices of 64 bits, 1 to 4 threads. */
#include "harness.h"

#include "build/records.h"
#include "core/random.h"
#include "formats/rowsum/rowsum_build.h"
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

enum { MODES = 8, COUNT_MOST = 150001 };

struct shape {
  int order;
  uint64_t count;
  uint64_t dims[MODES];
  bool heavy; /* nine of ten nonzeros share the index of the first mode */
};

static const struct shape shapes[] = {
    {1, 1, {7}, false},
    {1, 5003, {90}, false},
    {2, 2, {5, 3}, false},
    {2, 4099, {1, 40}, false},
    {3, 150001, {300, 17, 1000}, false},
    {3, 120011, {5000, 70, 900}, true},
    {3, 30011, {UINT64_C(1) << 40, 3, UINT64_C(1) << 33}, false},
    {4, 100003, {2, 2, 3, 2}, false},
    {5, 20021, {UINT64_C(1) << 63, UINT64_C(1) << 62, 11, UINT64_C(1) << 50, 2}, false},
    {8, 65537, {3, 70000, 2, 900, 1, UINT64_C(1) << 34, 12, 5}, true},
};

static polyad_context *context_with_threads(int threads) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  return context;
}

static void context_end(polyad_context *context) {
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* A tensor of the arrays alone: coordinates may repeat, and need not be sorted. */
static polyad_tensor random_tensor(const struct shape *shape, polyad_type type) {
  polyad_tensor tensor = {.order = shape->order, .nnz = shape->count, .type = type};
  for (int n = 0; n < shape->order; ++n) {
    tensor.dims[n] = shape->dims[n];
    tensor.index_bytes[n] = pd_index_bytes(shape->dims[n]);
    tensor.index[n] = malloc(shape->count * 8);
    for (uint64_t p = 0; p < shape->count; ++p) {
      uint64_t i = pd_random_u64(3, (uint64_t)n, p) % shape->dims[n];
      if (shape->heavy && n == 0 && p % 10 != 0) i = 1;
      if (tensor.index_bytes[n] == 4)
        ((uint32_t *)tensor.index[n])[p] = (uint32_t)i;
      else
        ((uint64_t *)tensor.index[n])[p] = i;
    }
  }
  tensor.values = malloc(shape->count * 8);
  for (uint64_t p = 0; p < shape->count; ++p)
    if (type == POLYAD_F32)
      ((float *)tensor.values)[p] = (float)p;
    else
      ((double *)tensor.values)[p] = (double)p;
  return tensor;
}

static void free_tensor(polyad_tensor *tensor) {
  for (int n = 0; n < tensor->order; ++n)
    free(tensor->index[n]);
  free(tensor->values);
}

/* ---- the naive sort ---------------------------------------------------------------------------
 */

static const polyad_tensor *compared;
static int mode_order[MODES], shift_of[MODES];

static int compare(const void *a, const void *b) {
  uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
  for (int high = 1; high >= 0; --high)
    for (int k = 0; k < compared->order; ++k) {
      int n = mode_order[k], shift = shift_of[n];
      uint64_t i = pd_tensor_index(compared, n, p), j = pd_tensor_index(compared, n, q);
      i = high ? i >> shift : i & pd_low_mask(shift);
      j = high ? j >> shift : j & pd_low_mask(shift);
      if (i != j) return i < j ? -1 : 1;
    }
  return p < q ? -1 : p > q;
}

/* ---- what sorting hands on --------------------------------------------------------------------
 */

struct result {
  const struct pd_layout *layout;
  const polyad_tensor *tensor;
  uint64_t *index[MODES];
  char *values;
  uint8_t *times; /* that each place was handed on */
};

static void keep(void *user, uint64_t first, uint64_t count, const uint64_t *records) {
  struct result *result = user;
  for (int n = 0; n < result->tensor->order; ++n)
    pd_records_index(result->layout, count, records, n, 8, result->index[n] + first);
  size_t item = (size_t)result->layout->value_bits / 8;
  pd_records_values(result->layout, count, records, result->values + first * item);
  for (uint64_t p = first; p < first + count; ++p)
    ++result->times[p];
}

static void agrees(const polyad_tensor *tensor, const struct result *result, const uint64_t *order,
                   bool places) {
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    assert_int_equal(result->times[p], 1);
    for (int n = 0; n < tensor->order; ++n)
      assert_true(result->index[n][p] == pd_tensor_index(tensor, n, order[p]));
    if (result->layout->value_bits == 32 && places)
      assert_true(((uint32_t *)result->values)[p] == order[p]);
    else if (result->layout->value_bits == 32)
      assert_true(((float *)result->values)[p] == ((float *)tensor->values)[order[p]]);
    else if (places)
      assert_true(((uint64_t *)result->values)[p] == order[p]);
    else
      assert_true(((double *)result->values)[p] == ((double *)tensor->values)[order[p]]);
  }
}

/* Arrays of a block, copied: a source that has none of its own. */
static void fetch_copies(const void *user, uint64_t first, uint64_t count, uint32_t modes,
                         struct pd_block *block) {
  const polyad_tensor *tensor = user;
  for (int n = 0; n < tensor->order; ++n) {
    size_t bytes = (size_t)tensor->index_bytes[n];
    block->index[n] = NULL;
    if ((modes >> n & 1) == 0) continue;
    memcpy(block->room[n], (const char *)tensor->index[n] + first * bytes, count * bytes);
    block->index[n] = block->room[n];
  }
  block->values = NULL;
  if ((modes >> POLYAD_MAX_ORDER & 1) == 0) return;
  size_t item = pd_type_bytes(tensor->type);
  memcpy(block->room[POLYAD_MAX_ORDER], (const char *)tensor->values + first * item, count * item);
  block->values = block->room[POLYAD_MAX_ORDER];
}

/* Sorts by the high parts of all indices and then by the low ones, as a tiled list is. */
static void check_sort(polyad_context *context, const polyad_tensor *tensor, const uint64_t *order,
                       int value_bits, bool places, bool visits) {
  struct pd_layout layout = {0};
  struct pd_room room;
  struct result result = {.layout = &layout, .tensor = tensor};
  const bool fetches = polyad_threads(context) % 3 != 1;
  polyad_tensor bare = *tensor, given = *tensor;
  for (int n = 0; n < tensor->order; ++n)
    bare.index[n] = NULL;
  bare.values = NULL;
  const struct pd_record_source source = {.tensor = fetches ? &bare : tensor,
                                          .places = places,
                                          .fetch = fetches ? fetch_copies : NULL,
                                          .user = &given};
  for (int k = 0; k < tensor->order; ++k)
    pd_layout_add(&layout, mode_order[k], shift_of[mode_order[k]],
                  pd_index_bits(tensor->dims[mode_order[k]]));
  for (int k = 0; k < tensor->order; ++k)
    pd_layout_add(&layout, mode_order[k], 0, shift_of[mode_order[k]]);
  pd_layout_end(&layout, value_bits);
  for (int n = 0; n < tensor->order; ++n)
    result.index[n] = malloc(tensor->nnz * 8);
  result.values = malloc(tensor->nnz * 8);
  result.times = calloc(tensor->nnz, 1);
  assert_int_equal(pd_room_create(context, tensor->nnz, layout.words, &room), POLYAD_OK);
  assert_int_equal(pd_records_sort(context, &source, &layout, layout.key_bits, &room,
                                   visits ? keep : NULL, &result),
                   POLYAD_OK);
  assert_true(polyad_memory_peak(context) <=
              pd_sorting_bytes(tensor->nnz, layout.words, polyad_threads(context)) + (1 << 14));
  if (!visits) keep(&result, 0, tensor->nnz, room.records);
  agrees(tensor, &result, order, places);
  pd_room_destroy(context, &room);
  for (int n = 0; n < tensor->order; ++n)
    free(result.index[n]);
  free(result.values);
  free(result.times);
}

static void check_shape(const struct shape *shape, polyad_type type) {
  polyad_tensor tensor = random_tensor(shape, type);
  uint64_t *order = malloc(shape->count * sizeof *order);
  for (uint64_t p = 0; p < shape->count; ++p)
    order[p] = p;
  for (int n = 0; n < shape->order; ++n) {
    int bits = pd_index_bits(shape->dims[n]);
    mode_order[n] = shape->order - 1 - n;
    shift_of[n] = type == POLYAD_F32 ? bits / 2 : 0;
  }
  compared = &tensor;
  qsort(order, shape->count, sizeof *order, compare);
  for (int threads = 1; threads <= 4; ++threads) {
    polyad_context *context = context_with_threads(threads);
    int bits = type == POLYAD_F32 ? 32 : 64;
    check_sort(context, &tensor, order, bits, threads % 2 == 0, threads < 3);
    context_end(context);
  }
  free(order);
  free_tensor(&tensor);
}

static void records_agree_with_a_naive_sort(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
    check_shape(&shapes[k], POLYAD_F64);
    check_shape(&shapes[k], POLYAD_F32);
  }
}

/* What a tensor's order gives for nothing: bits that need no sorting. */
static void leading_bits_are_known(void **state) {
  (void)state;
  static const struct {
    int mode[4], bits;
  } cases[] = {{{0, 1, 2, 3}, 0},  {{1, 0, 2, 3}, 5},         {{3, 0, 1, 2}, 7},
               {{3, 2, 0, 1}, 13}, {{2, 3, 1, 0}, 6 + 7 + 5}, {{0, 2, 1, 3}, 4 + 6}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    struct pd_layout layout = {0};
    for (int n = 0; n < 4; ++n)
      pd_layout_add(&layout, cases[k].mode[n], 0, 4 + cases[k].mode[n]);
    pd_layout_end(&layout, 64);
    assert_int_equal(layout.words, 2);
    assert_int_equal(pd_layout_unsorted_bits(&layout), cases[k].bits);
  }
}

/* Sorting of a sorted tensor by the leading bits alone gives the whole order. */
static void leading_bits_are_enough(void **state) {
  (void)state;
  struct shape shape = {4, 50021, {9, 30, 50, 7}, false};
  polyad_tensor tensor = random_tensor(&shape, POLYAD_F64);
  static const int order[4] = {2, 1, 0, 3};
  polyad_context *context = context_with_threads(3);
  struct pd_layout natural = {0}, layout = {0};
  struct pd_room room;
  const struct pd_record_source source = {.tensor = &tensor};
  for (int n = 0; n < 4; ++n) {
    pd_layout_add(&natural, n, 0, pd_index_bits(tensor.dims[n]));
    pd_layout_add(&layout, order[n], 0, pd_index_bits(tensor.dims[order[n]]));
  }
  pd_layout_end(&natural, 64);
  pd_layout_end(&layout, 64);
  assert_int_equal(pd_room_create(context, tensor.nnz, 2, &room), POLYAD_OK);
  assert_int_equal(pd_records_sort(context, &source, &natural, natural.key_bits, &room, NULL, NULL),
                   POLYAD_OK);
  for (int n = 0; n < 4; ++n)
    pd_records_index(&natural, tensor.nnz, room.records, n, 4, tensor.index[n]);
  int bits = pd_layout_unsorted_bits(&layout);
  assert_true(bits < layout.key_bits);
  assert_int_equal(pd_records_sort(context, &source, &layout, bits, &room, NULL, NULL), POLYAD_OK);
  for (uint64_t p = 1; p < tensor.nnz; ++p)
    assert_true(room.records[2 * (p - 1)] <= room.records[2 * p]);
  pd_room_destroy(context, &room);
  context_end(context);
  free_tensor(&tensor);
}

/* Lists of nonzeros in no order are sorted by all bits of their keys. */
static void lists_of_unsorted_nonzeros_are_sorted(void **state) {
  (void)state;
  struct shape shape = {3, 40009, {900, 50, 70}, false};
  polyad_tensor tensor = random_tensor(&shape, POLYAD_F64);
  const struct pd_tiling tiling = {.columns = 2, .mode = {1, 2}};
  polyad_context *context = context_with_threads(2);
  struct pd_rowsum list;
  struct pd_room room;
  assert_int_equal(pd_rowsum_room_create(context, &tensor, false, &room), POLYAD_OK);
  assert_int_equal(pd_rowsum_build(context, &tensor, 0, false, &tiling, &room, &list), POLYAD_OK);
  assert_int_equal(pd_rowsum_check(context, &list, 0, tensor.dims), POLYAD_OK);
  pd_rowsum_clear(context, &list);
  pd_room_destroy(context, &room);
  context_end(context);
  free_tensor(&tensor);
}

static struct pd_layout layout_of(const polyad_tensor *tensor, const int *modes) {
  struct pd_layout layout = {0};
  for (int k = 0; k < tensor->order; ++k)
    pd_layout_add(&layout, modes[k], 0, pd_index_bits(tensor->dims[modes[k]]));
  pd_layout_end(&layout, 64);
  return layout;
}

/* Sorts by modes in turn, and compares with the naive sort; returns the mode that leads the records
 * which were handed on. */
static int leader_of_sorted(polyad_context *context, const polyad_tensor *tensor, const int *modes,
                            struct pd_room *room) {
  struct pd_layout layout = layout_of(tensor, modes);
  struct result result = {.layout = &layout, .tensor = tensor};
  const struct pd_record_source source = {.tensor = tensor};
  uint64_t *order = malloc(tensor->nnz * sizeof *order);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    order[p] = p;
  for (int n = 0; n < tensor->order; ++n) {
    mode_order[n] = modes[n];
    shift_of[n] = 0;
    result.index[n] = malloc(tensor->nnz * 8);
  }
  compared = tensor;
  qsort(order, tensor->nnz, sizeof *order, compare);
  result.values = malloc(tensor->nnz * 8);
  result.times = calloc(tensor->nnz, 1);
  assert_int_equal(pd_records_sort(context, &source, &layout, layout.key_bits, room, keep, &result),
                   POLYAD_OK);
  agrees(tensor, &result, order, false);
  for (int n = 0; n < tensor->order; ++n)
    free(result.index[n]);
  free(result.values);
  free(result.times);
  free(order);
  return layout.piece[0].mode;
}

/* An order that follows a kept one comes from its records, which stay until their memory is needed
 * for a large bucket, as that of the heavy index is. */
static void orders_come_from_kept_records(void **state) {
  (void)state;
  static const struct shape both[] = {{4, 50021, {9, 30, 50, 7}, false},
                                      {4, 120011, {5000, 70, 900, 2}, true}};
  static const int first[4] = {2, 1, 0, 3}, follows[4] = {1, 2, 0, 3}, other[4] = {0, 3, 1, 2};
  for (int k = 0; k < 2; ++k) {
    polyad_tensor tensor = random_tensor(&both[k], POLYAD_F64);
    for (int threads = 1; threads <= 3; ++threads) {
      polyad_context *context = context_with_threads(threads);
      struct pd_room room;
      assert_int_equal(pd_room_create(context, tensor.nnz, 2, &room), POLYAD_OK);
      room.keeps = true;
      assert_int_equal(leader_of_sorted(context, &tensor, first, &room), 2);
      assert_int_equal(leader_of_sorted(context, &tensor, follows, &room), 2);
      assert_int_equal(leader_of_sorted(context, &tensor, other, &room), 0);
      assert_int_equal(leader_of_sorted(context, &tensor, follows, &room), both[k].heavy ? 1 : 2);
      assert_true(polyad_memory_peak(context) <=
                  pd_sorting_bytes(tensor.nnz, 2, threads) + (1 << 14));
      pd_room_destroy(context, &room);
      context_end(context);
    }
    free_tensor(&tensor);
  }
}

/* Which of the orders of some lists the others follow. */
static void followed_orders_are_found(void **state) {
  (void)state;
  const polyad_tensor tensor = {.order = 4, .dims = {200, 24, 2000, 1700}};
  const polyad_tensor longer = {.order = 4, .dims = {200, 24, 5000, 1700}};
  static const int modes[4][4] = {{0, 3, 2, 1}, {1, 3, 2, 0}, {2, 3, 1, 0}, {3, 2, 1, 0}};
  struct pd_layout keys[4], long_keys[4];
  for (int k = 0; k < 4; ++k) {
    keys[k] = layout_of(&tensor, modes[k]);
    long_keys[k] = layout_of(&longer, modes[k]);
  }
  for (int k = 0; k < 4; ++k) {
    assert_true(pd_layout_follows(&keys[k], &keys[3]));
    assert_int_equal(pd_layout_follows(&long_keys[k], &long_keys[3]), k != 2);
  }
  assert_false(pd_layout_follows(&keys[3], &keys[0]));
  assert_int_equal(pd_layout_followed(4, keys), 3);
  assert_int_equal(pd_layout_followed(2, keys), -1);
  struct pd_layout tiled = {0};
  pd_layout_add(&tiled, 0, 4, 8);
  for (int k = 0; k < 4; ++k)
    pd_layout_add(&tiled, modes[0][k], 0, k == 0 ? 4 : pd_index_bits(tensor.dims[modes[0][k]]));
  assert_false(pd_layout_follows(&tiled, &keys[3]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(records_agree_with_a_naive_sort),
      cmocka_unit_test(leading_bits_are_known),
      cmocka_unit_test(leading_bits_are_enough),
      cmocka_unit_test(lists_of_unsorted_nonzeros_are_sorted),
      cmocka_unit_test(orders_come_from_kept_records),
      cmocka_unit_test(followed_orders_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
