#include "unit/same_modecopy.h"
#include "harness.h"
#include <string.h>

const struct mttkrp_case built_cases[] = {
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"vector", 1, {1000}, 777, SHAPE_UNIFORM, true},
    {"short vector", 1, {1}, 3, SHAPE_UNIFORM, false},
    {"matrix", 2, {33, 70000}, 5001, SHAPE_UNIFORM, false},
    {"a mode of length 1", 3, {40, 1, 50}, 1500, SHAPE_UNIFORM, false},
    {"only modes of length 1", 4, {1, 1, 1, 1}, 1, SHAPE_UNIFORM, false},
    {"odd", 3, {20, 30, 41}, 2049, SHAPE_FIBERS, true},
    {"words of marks", 3, {64, 64, 64}, 4096, SHAPE_UNIFORM, false},
    {"heavy", 3, {300, 4000, 50}, 60001, SHAPE_HEAVY, false},
    {"diagonal", 4, {900, 901, 902, 903}, 850, SHAPE_DIAGONAL, false},
    {"four modes", 4, {24, 183, 1140, 171}, 70003, SHAPE_FIBERS, false},
    {"long modes", 3, {1 << 20, 9000, 3}, 40000, SHAPE_UNIFORM, false},
    {"five modes", 5, {10, 200, 3, 2, 500}, 9999, SHAPE_HEAVY, true},
    {"six modes", 6, {11, 7, 13, 5, 1, 17}, 7000, SHAPE_FIBERS, false},
    {"seven modes", 7, {11, 7, 13, 5, 2, 17, 3}, 7000, SHAPE_UNIFORM, false},
    {"keys of 80 bits", 8, {1000, 999, 1001, 700, 900, 800, 1024, 513}, 20001, SHAPE_HEAVY, false},
};
const size_t built_case_count = sizeof built_cases / sizeof *built_cases;

static void same(const char *name, int mode, const char *what, const void *found,
                 const void *wanted, uint64_t bytes) {
  if (bytes == 0) return;
  if (found == NULL || wanted == NULL) fail_msg("%s, mode %d: %s are missing", name, mode, what);
  const unsigned char *f = found, *w = wanted;
  for (uint64_t b = 0; b < bytes; ++b)
    if (f[b] != w[b])
      fail_msg("%s, mode %d: %s differ from byte %llu of %llu on", name, mode, what,
               (unsigned long long)b, (unsigned long long)bytes);
}

static void same_order(const char *name, int mode, uint64_t nnz, uint64_t dim,
                       const struct pd_ordered *found, const struct pd_ordered *wanted) {
  assert_int_equal(found->inputs, wanted->inputs);
  for (int k = 0; k < found->inputs; ++k)
    assert_int_equal(found->input[k], wanted->input[k]);
  assert_true(found->rows == wanted->rows);
  same(name, mode, "starts of rows", found->row_start, wanted->row_start, 8 * (found->rows + 1));
  if (found->rows < dim)
    same(name, mode, "rows", found->row_id, wanted->row_id, 4 * found->rows);
  else
    assert_true(found->row_id == NULL && wanted->row_id == NULL);
  same(name, mode, "rows of chunks", found->chunk_row, wanted->chunk_row,
       4 * (pd_ordered_chunks(nnz) + 1));
  same(name, mode, "marks", found->marks, wanted->marks,
       sizeof *found->marks * pd_ordered_mark_words(nnz));
}

static void same_copy(const char *name, int mode, const struct pd_modecopy *found,
                      const struct pd_modecopy *wanted) {
  const struct pd_modecopy_copy *f = &found->copy[mode], *w = &wanted->copy[mode];
  uint64_t padded = pd_modecopy_padded(found->nnz);
  bool sorted = found->variant == PD_MODECOPY_SORTED;
  assert_int_equal(f->inputs, w->inputs);
  assert_int_equal(f->planes, w->planes);
  for (int k = 0; k < (sorted ? f->inputs : f->inputs + 1); ++k) {
    assert_int_equal(f->field[k].mode, w->field[k].mode);
    assert_int_equal(f->field[k].plane, w->field[k].plane);
    assert_int_equal(f->field[k].shift, w->field[k].shift);
    assert_true(f->field[k].mask == w->field[k].mask);
  }
  for (int k = 0; k < f->planes; ++k)
    same(name, mode, "indices", f->plane[k], w->plane[k], 4 * padded);
  same(name, mode, "values", f->values, w->values, padded * pd_type_bytes(found->type));
  assert_int_equal(f->scheme, w->scheme);
  if (sorted)
    same_order(name, mode, found->nnz, found->dims[mode], &f->order, &w->order);
  else
    same(name, mode, "partitions", f->part_start, w->part_start,
         8 * ((uint64_t)found->partitions + 1));
}

void assert_same_modecopy(const char *name, const struct pd_modecopy *found,
                          const struct pd_modecopy *wanted) {
  assert_int_equal(found->variant, wanted->variant);
  assert_int_equal(found->order, wanted->order);
  assert_memory_equal(found->dims, wanted->dims, sizeof found->dims);
  assert_true(found->nnz == wanted->nnz);
  assert_int_equal(found->type, wanted->type);
  assert_int_equal(found->partitions, wanted->partitions);
  assert_int_equal(found->columns, wanted->columns);
  assert_true(found->copies == wanted->copies);
  for (int mode = 0; mode < found->order; ++mode)
    if (pd_modecopy_has(found, mode)) same_copy(name, mode, found, wanted);
}
