/* Tables of the products of two modes' rows, which kernels on a GPU gather in place of both: the
 * number of a nonzero's row is in its words, MTTKRP by the table is MTTKRP, and a table is chosen
 * where it is worth its making alone. Here by the host's loops. */
#include "core/random.h"
#include "formats/modecopy/modecopy_pairs.h"
#include "formats/tables.h"
#include "harness.h"
#include "unit/format_fixture.h"
#include <math.h>
#include <stdlib.h>

enum { RANK = 3 };

static uint32_t index_in(const struct pd_modecopy_copy *copy, const struct pd_modecopy_input *input,
                         uint64_t p) {
  return (copy->plane[input->plane][p] >> input->shift) & input->mask;
}

static double entry(int mode, uint64_t row, int r) {
  return pd_random_uniform(7, (uint64_t)mode, row * RANK + (uint64_t)r) - 0.5;
}

/* Row `row` of an input: a factor's, or of the table. */
static double input_entry(const struct pd_modecopy_copy *copy, const struct pd_modecopy_pair *pair,
                          const struct pd_modecopy_input *input, uint64_t row, int r) {
  if (input->mode >= 0) return entry(input->mode, row, r);
  uint64_t low = row & ((UINT64_C(1) << pair->bits) - 1);
  assert_true(row < pair->rows);
  return entry(copy->field[pair->high].mode, row >> pair->bits, r) *
         entry(copy->field[pair->low].mode, low, r);
}

/* Every product of rows, by the inputs with and without the pair. */
static void compare_products(const struct pd_modecopy *storage, int mode,
                             const struct pd_modecopy_pair *pair) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  const struct pd_modecopy_pair none = {.rows = 0};
  struct pd_modecopy_input fused[POLYAD_MAX_ORDER], plain[POLYAD_MAX_ORDER];
  int inputs = pd_modecopy_inputs(copy, pair, fused);
  assert_int_equal(pd_modecopy_inputs(copy, &none, plain), copy->inputs);
  assert_int_equal(inputs, copy->inputs - 1);
  for (uint64_t p = 0; p < storage->nnz; ++p)
    for (int r = 0; r < RANK; ++r) {
      double product[2] = {1, 1};
      for (int k = 0; k < copy->inputs; ++k)
        product[0] *= input_entry(copy, &none, &plain[k], index_in(copy, &plain[k], p), r);
      for (int k = 0; k < inputs; ++k)
        product[1] *= input_entry(copy, pair, &fused[k], index_in(copy, &fused[k], p), r);
      assert_true(fabs(product[0] - product[1]) <= 4 * storage->order * 0x1p-53 * fabs(product[0]));
    }
  /* What is innermost without the pair is innermost with it, in the table or by itself. */
  int last = copy->inputs - 1;
  bool innermost = pair->high == last || pair->low == last;
  assert_int_equal(fused[inputs - 1].mode, innermost ? -1 : copy->field[last].mode);
}

static struct pd_modecopy *build(polyad_context *context, int order, const uint64_t *dims,
                                 uint64_t nnz, polyad_tensor **tensor) {
  *tensor = fixture_tensor(context, order, dims, nnz, false, POLYAD_F32);
  return fixture_build(context, &pd_modecopy_format, "auto", 0, *tensor);
}

/* Every pair that lies side by side, whether worth it or not. */
static void products_are_the_same(void **state) {
  (void)state;
  static const uint64_t dims[][5] = {
      {40, 30, 20, 0, 0}, {50, 24, 77, 32, 0}, {9, 1, 70, 2, 33}, {3000, 5, 4000, 70, 0}};
  static const int order[] = {3, 4, 5, 4};
  polyad_context *context = cpu_context(1);
  int pairs = 0;
  for (int c = 0; c < 4; ++c) {
    polyad_tensor *tensor;
    struct pd_modecopy *storage = build(context, order[c], dims[c], 4000, &tensor);
    for (int mode = 0; mode < order[c]; ++mode) {
      const struct pd_modecopy_copy *copy = &storage->copy[mode];
      for (int high = 0; high < copy->inputs; ++high)
        for (int low = 0; low < copy->inputs; ++low) {
          const struct pd_modecopy_field *a = &copy->field[high], *b = &copy->field[low];
          int bits = pd_index_bits(dims[c][b->mode]);
          if (high == low || a->plane != b->plane || a->shift != b->shift + bits) continue;
          struct pd_modecopy_pair pair = {high, low, bits, dims[c][a->mode] << bits};
          compare_products(storage, mode, &pair);
          ++pairs;
        }
    }
    pd_storage_free(context, &pd_modecopy_format, storage);
    polyad_tensor_destroy(tensor);
  }
  assert_true(pairs > 20);
  context_end(context);
}

/* Many nonzeros in short runs, and two short modes: a table. Long runs, long modes or few nonzeros:
 * none. */
static void tables_are_chosen_where_they_pay(void **state) {
  (void)state;
  static const uint64_t short_modes[] = {2000, 24, 77, 32}, long_modes[] = {200, 9000, 8000, 7000};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor;
  struct pd_modecopy *storage = build(context, 4, short_modes, 100000, &tensor);
  struct pd_modecopy_pair pair;
  uint64_t rows;
  storage->nnz = 5000000; /* as if: the choice reads no nonzero */
  storage->copy[0].order.runs = 4000000;
  pair = pd_modecopy_pair_of(storage, 0, 32);
  assert_true(pair.rows >= 24 * 32 && pair.rows <= storage->nnz / 8);
  assert_true(pd_modecopy_table_bytes(storage, 32) >= pair.rows * 32 * 4);
  assert_true(pd_modecopy_tables(storage, 32, &rows) >= 1 && rows >= pair.rows);
  storage->copy[0].order.runs = 20000; /* the outer rows are loaded so rarely */
  assert_true(pd_modecopy_pair_of(storage, 0, 32).rows == 0);
  storage->copy[0].order.runs = 90000;
  storage->nnz = 100000; /* the making would take longer */
  assert_true(pd_modecopy_pair_of(storage, 0, 32).rows == 0);
  pd_storage_free(context, &pd_modecopy_format, storage);
  polyad_tensor_destroy(tensor);
  storage = build(context, 4, long_modes, 100000, &tensor);
  storage->nnz = 5000000;
  for (int mode = 0; mode < 4; ++mode) {
    storage->copy[mode].order.runs = storage->nnz;
    pair = pd_modecopy_pair_of(storage, mode, 32);
    assert_true(pair.rows == 0 || pair.rows * 32 * 4 <= 8 << 20);
    if (mode == 0) assert_true(pair.rows == 0);
  }
  pd_storage_free(context, &pd_modecopy_format, storage);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* The most that is said beforehand is no less than what any storage asks for. */
static void the_most_is_the_most(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    uint64_t dims[5];
    int order = 3 + (int)(seed % 3);
    polyad_tensor *tensor;
    struct pd_traits traits;
    for (int n = 0; n < order; ++n)
      dims[n] = 1 + pd_random_u64(9, seed, (uint64_t)n) % (n % 2 ? 20 : 300);
    struct pd_modecopy *storage = build(context, order, dims, 3000, &tensor);
    assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
    storage->nnz = traits.nnz = UINT64_C(2000000) << seed % 5;
    for (int mode = 0; mode < order; ++mode)
      storage->copy[mode].order.runs = storage->nnz;
    for (uint64_t rank = 1; rank <= 64; rank = 2 * rank + 1)
      assert_true(pd_modecopy_table_bytes(storage, rank) <=
                  pd_modecopy_table_bytes_at_most(&traits, rank, POLYAD_F32));
    pd_storage_free(context, &pd_modecopy_format, storage);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_the_same),
                                     cmocka_unit_test(tables_are_chosen_where_they_pay),
                                     cmocka_unit_test(the_most_is_the_most)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
