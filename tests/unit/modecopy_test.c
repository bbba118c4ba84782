/* Format "modecopy" without a GPU: the schemes of paper B and the choice between them, packing,
 * the bytes it takes, and damage that its check must see. */
#include "harness.h"

#include "core/random.h"
#include "formats/modecopy/modecopy_layout.h"
#include "formats/tables.h"
#include "unit/format_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variants[] = {"auto", "paper", "paper-scheme1", "paper-scheme2"};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* ---- schemes -------------------------------------------------------------------------------- */

/* Scheme 1 when I_d >= kappa, else 2; each can be forced. */
static void the_scheme_depends_on_the_length(void **state) {
  (void)state;
  enum { KAPPA = 82 };
  static const uint64_t dims[5] = {KAPPA - 1, KAPPA, KAPPA + 1, 2, 5000};
  static const int expected[5] = {2, 1, 1, 2, 1};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 5, dims, 3000, false, POLYAD_F32);
  for (int v = 1; v < VARIANTS; ++v) {
    struct pd_modecopy *storage =
        fixture_build(context, &pd_modecopy_format, variants[v], KAPPA, tensor);
    for (int n = 0; n < 5; ++n)
      assert_int_equal(storage->copy[n].scheme, v == 1 ? expected[n] : v - 1);
    char text[PD_REASON_BYTES];
    pd_modecopy_format.describe(storage, 1, text);
    assert_non_null(strstr(text, v == 1 ? "82 partitions, schemes 2 1 1 2 1" : "82 partitions"));
    pd_storage_free(context, &pd_modecopy_format, storage);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Number of output indices before `index` in descending order of degree. */
static uint64_t place_of(const uint32_t *degree, uint64_t dim, uint64_t index) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < dim; ++i)
    before += degree[i] > degree[index] || (degree[i] == degree[index] && i < index);
  return before;
}

static void indices_are_dealt_by_degree(void **state) {
  (void)state;
  enum { DIM = 500 };
  polyad_context *context = cpu_context(1);
  uint32_t degree[DIM], part[DIM];
  uint64_t load[2000];
  for (int partitions = 1; partitions <= 1000; partitions = 3 * partitions + 1) {
    for (uint64_t i = 0; i < DIM; ++i)
      degree[i] = (uint32_t)(pd_random_u64(3, (uint64_t)partitions, i) % 9);
    assert_int_equal(pd_partition_vertices(context, DIM, degree, partitions, true, part, load),
                     POLYAD_OK);
    for (uint64_t i = 0; i < DIM; ++i)
      assert_int_equal(part[i], place_of(degree, DIM, i) % (uint64_t)partitions);
  }
  context_end(context);
}

/* No output row of scheme 1 is in two partitions: that is in the format's check. The paper's bound
 * of 4/3 does not hold for it: half the nonzeros in one row and the others in rows of one. */
static void scheme_1_is_not_within_four_thirds(void **state) {
  (void)state;
  enum { DIM = 121 };
  uint32_t degree[DIM], part[DIM];
  uint64_t load[2];
  polyad_context *context = cpu_context(1);
  for (int i = 0; i < DIM; ++i)
    degree[i] = i == 0 ? DIM - 1 : 1; /* the optimum: the heavy row alone */
  assert_int_equal(pd_partition_vertices(context, DIM, degree, 2, true, part, load), POLYAD_OK);
  assert_true(load[0] + load[1] == 2 * (DIM - 1));
  assert_true(3 * load[0] > 4 * (DIM - 1));
  context_end(context);
}

/* Partitions of scheme 2 differ by one nonzero at most, and go on by output index. */
static void scheme_2_deals_nonzeros_equally(void **state) {
  (void)state;
  static const uint64_t dims[3] = {7, 100, 3};
  static const int partitions[] = {1, 2, 13, 132, 2500};
  polyad_context *context = cpu_context(3);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 1500, true, POLYAD_F64);
  for (int k = 0; k < 5; ++k) {
    struct pd_modecopy *storage =
        fixture_build(context, &pd_modecopy_format, "paper-scheme2", partitions[k], tensor);
    uint64_t least = storage->nnz / (uint64_t)partitions[k];
    for (int n = 0; n < 3; ++n) {
      const struct pd_modecopy_copy *copy = &storage->copy[n];
      for (int part = 0; part < partitions[k]; ++part) {
        uint64_t size = copy->part_start[part + 1] - copy->part_start[part];
        assert_true(size == least || size == least + 1);
      }
      for (uint64_t p = 1; p < storage->nnz; ++p)
        assert_true(pd_modecopy_index(copy, copy->inputs, p - 1) <=
                    pd_modecopy_index(copy, copy->inputs, p));
    }
    pd_storage_free(context, &pd_modecopy_format, storage);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- packing -------------------------------------------------------------------------------- */

/* ceil(log2 n), by counting. */
static int width_of(uint64_t n) {
  int bits = 0;
  while (bits < 63 && UINT64_C(1) << bits < n)
    ++bits;
  return bits;
}

/* Fields lie apart from each other and within one word. */
static void fields_lie_apart(void **state) {
  (void)state;
  for (uint64_t trial = 0; trial < 5000; ++trial) {
    uint64_t dims[POLYAD_MAX_ORDER];
    uint32_t used[POLYAD_MAX_ORDER + 1] = {0};
    int fields = 1 + (int)(trial % POLYAD_MAX_ORDER), sum = 0;
    struct pd_modecopy_copy copy = {0};
    for (int k = 0; k < fields; ++k) {
      uint64_t high = pd_random_u64(trial, 3, (uint64_t)k) >> 32;
      dims[k] = 1 + (high >> pd_random_u64(trial, 4, (uint64_t)k) % 33);
      copy.field[k].mode = k;
      sum += width_of(dims[k]);
    }
    pd_modecopy_pack(&copy, fields, dims);
    for (int k = 0; k < fields; ++k) {
      const struct pd_modecopy_field *field = &copy.field[k];
      uint32_t there = field->mask << field->shift;
      assert_true(field->plane < copy.planes);
      assert_true(there >> field->shift == field->mask); /* nothing was shifted out */
      assert_int_equal(width_of((uint64_t)field->mask + 1), width_of(dims[k]));
      assert_int_equal(used[field->plane] & there, 0);
      used[field->plane] |= there;
    }
    /* Any two planes together hold more than one word: at most twice what is needed, and one. */
    assert_true(32 * copy.planes >= sum);
    assert_true(copy.planes <= 2 + 2 * sum / 32);
  }
}

/* Bits of one nonzero in all copies, by section III-C and as stored, are in the description. */
static void bits_are_reported(void **state) {
  (void)state;
  static const struct {
    int order;
    uint64_t dims[5];
    int planes;                               /* of all copies, default variant */
  } table[] = {{4, {6200, 24, 77, 32}, 4},    /* chicago: 30 or less input bits in every copy */
               {3, {60000, 50000, 70000}, 5}, /* 33, 33 and 32 input bits */
               {5, {2, 3, 4, 5, 6}, 5}};
  polyad_context *context = cpu_context(1);
  for (int c = 0; c < 3; ++c)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      int order = table[c].order, value = type == POLYAD_F32 ? 32 : 64, one = value;
      for (int n = 0; n < order; ++n)
        one += width_of(table[c].dims[n]);
      polyad_tensor *tensor =
          fixture_tensor(context, order, table[c].dims, 500, false, (polyad_type)type);
      struct pd_modecopy *storage = fixture_build(context, &pd_modecopy_format, "auto", 0, tensor);
      char text[PD_REASON_BYTES], expected[PD_REASON_BYTES];
      pd_modecopy_format.describe(storage, 1, text);
      snprintf(expected, sizeof expected, "sorted, %d copies of together %d bits (COO: %d)", order,
               32 * table[c].planes + order * value, order * one);
      assert_string_equal(text, expected);
      pd_storage_free(context, &pd_modecopy_format, storage);
      polyad_tensor_destroy(tensor);
    }
  context_end(context);
}

/* ---- storages ------------------------------------------------------------------------------- */

static const struct shape {
  int order;
  uint64_t dims[8], nnz;
} shapes[] = {{1, {40}, 60},
              {2, {300, 5}, 900},
              {3, {1, 1, 1}, 1},
              {3, {6, 7, 8}, 0},
              {3, {100, 200, 300}, 5000},
              {4, {2, 4000, 31, 33}, 3000},
              {3, {UINT64_C(1) << 20, UINT64_C(1) << 19, 3}, 400},
              {8, {3, 2, 4, 2, 3, 2, 3, 2}, 700}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Every copy holds the values of all nonzeros; the first one gives the tensor back. */
static void storages_hold_the_tensor(void **state) {
  (void)state;
  static const int partitions[] = {0, 1, 3, 82, 6000};
  polyad_context *context = cpu_context(3);
  for (int s = 0; s < SHAPES; ++s)
    for (int v = 0; v < VARIANTS; ++v)
      for (int k = 0; k < 5; ++k) {
        polyad_tensor *tensor =
            fixture_tensor(context, shapes[s].order, shapes[s].dims, shapes[s].nnz, k % 2 == 1,
                           v % 2 == 0 ? POLYAD_F32 : POLYAD_F64);
        struct pd_modecopy *storage =
            fixture_build(context, &pd_modecopy_format, variants[v], partitions[k], tensor);
        assert_int_equal(storage->partitions, partitions[k] == 0 ? 3 : partitions[k]);
        polyad_tensor *back = NULL;
        assert_int_equal(pd_storage_expand(context, &pd_modecopy_format, storage, tensor, &back),
                         POLYAD_OK);
        assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
        polyad_tensor_destroy(back);
        pd_storage_free(context, &pd_modecopy_format, storage);
        polyad_tensor_destroy(tensor);
      }
  context_end(context);
}

/* ---- damage --------------------------------------------------------------------------------- */

/* Flips bits of a number: the check must fail. */
#define DAMAGE(number, bits)                                                                       \
  do {                                                                                             \
    (number) ^= (bits);                                                                            \
    fixture_check(context, &pd_modecopy_format, storage, POLYAD_INTERNAL);                         \
    (number) ^= (bits);                                                                            \
  } while (0)

static void damage_of_rows_is_found(void **state) {
  (void)state;
  static const uint64_t dims[3] = {3000, 20, 300}; /* the first mode has empty slices */
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 2000, true, POLYAD_F32);
  struct pd_modecopy *storage = fixture_build(context, &pd_modecopy_format, "auto", 0, tensor);
  assert_non_null(storage->copy[0].order.row_id);
  assert_null(storage->copy[1].order.row_id);
  for (int n = 0; n < 3; ++n) {
    struct pd_modecopy_copy *copy = &storage->copy[n];
    for (uint64_t p = 0; p < storage->nnz; p += 53) {
      DAMAGE(copy->order.marks[p / 32].ends, UINT32_C(1) << p % 32);
      DAMAGE(copy->order.marks[p / 32].runs, UINT32_C(1) << p % 32);
      const struct pd_modecopy_field *first = &copy->field[0]; /* an index outside of its mode */
      if ((pd_modecopy_index(copy, 0, p) ^ first->mask) >= dims[first->mode])
        DAMAGE(copy->plane[first->plane][p], first->mask << first->shift);
    }
    for (uint64_t row = 0; row < copy->order.rows; row += 7)
      DAMAGE(copy->order.row_start[row], UINT64_C(1));
    DAMAGE(copy->order.row_start[copy->order.rows], UINT64_C(1));
    for (uint64_t c = 0; c <= pd_ordered_chunks(storage->nnz); ++c)
      DAMAGE(copy->order.chunk_row[c], UINT32_C(1));
    if (copy->order.row_id != NULL)
      DAMAGE(copy->order.row_id[copy->order.rows / 2], UINT32_C(1) << 31);
  }
  fixture_check(context, &pd_modecopy_format, storage, POLYAD_OK);
  pd_storage_free(context, &pd_modecopy_format, storage);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void damage_of_partitions_is_found(void **state) {
  (void)state;
  static const uint64_t dims[3] = {30, 20, 300};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 2000, true, POLYAD_F64);
  for (int v = 1; v < VARIANTS; ++v) {
    struct pd_modecopy *storage =
        fixture_build(context, &pd_modecopy_format, variants[v], 5, tensor);
    for (int n = 0; n < 3; ++n) {
      struct pd_modecopy_copy *copy = &storage->copy[n];
      const struct pd_modecopy_field *output = &copy->field[copy->inputs];
      DAMAGE(copy->part_start[0], UINT64_C(1));
      DAMAGE(copy->part_start[5], UINT64_C(1));
      DAMAGE(copy->part_start[2], UINT64_C(1) << 62);
      for (uint64_t p = 0; p < storage->nnz; p += 211) /* outside of every mode */
        if (output->mask != UINT32_MAX &&
            (pd_modecopy_index(copy, copy->inputs, p) ^ output->mask) >= dims[n])
          DAMAGE(copy->plane[output->plane][p], output->mask << output->shift);
      if (copy->scheme != 1) continue;
      DAMAGE(copy->part_start[1], UINT64_C(1)); /* a row is cut */
    }
    fixture_check(context, &pd_modecopy_format, storage, POLYAD_OK);
    pd_storage_free(context, &pd_modecopy_format, storage);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The order chosen where one mode has `slices` slices and the fewest fibers, and the others 10^5
 * slices each, of which an even spread tells no order. */
static struct pd_ordered chosen_beside(int order, int mode, int other, uint64_t slices,
                                       polyad_kernel kernel) {
  struct pd_traits traits = {.order = order, .nnz = 10000000};
  const struct pd_ordered_sizes sizes = {.rows = {[6] = 100000}, .nonzeros = {[6] = 10000000}};
  const struct pd_ordered_job job = {.traits = &traits, .rank = 32, .kernel = kernel, .mode = mode};
  struct pd_ordered chosen = {0};
  for (int n = 0; n < order; ++n) {
    traits.dims[n] = traits.nonempty[n] = n == other ? slices : 100000;
    traits.fibers[n] = n == other ? 1000000 : 10000000;
  }
  pd_ordered_choose_inputs(&job, POLYAD_F32, &sizes, &chosen);
  assert_int_equal(chosen.inputs, order - 1);
  return chosen;
}

/* MTTKRP: the leaf is the input whose fibers are the fewest. TTMc: the outermost input is the one
 * of the fewest rows, whatever the fibers. */
static void inputs_are_sorted_for_the_kernel(void **state) {
  (void)state;
  for (int order = 3; order <= 5; ++order)
    for (int mode = 0; mode < order; ++mode)
      for (int other = 0; other < order; ++other) {
        if (other == mode) continue;
        struct pd_ordered chosen = chosen_beside(order, mode, other, 100000, POLYAD_KERNEL_MTTKRP);
        assert_int_equal(chosen.input[order - 2], other);
        chosen = chosen_beside(order, mode, other, 50, POLYAD_KERNEL_TTMC);
        assert_int_equal(chosen.input[0], other);
      }
}

/* Shaped like movies: 11 million nonzeros, in `longer` times as many rows. */
static void chosen_for_movies(int mode, bool moves, double longer, struct pd_ordered *chosen) {
  const uint64_t dims[3] = {1238, 5665, 1078}, fibers[3] = {3951210, 1313506, 4282066};
  struct pd_traits traits = {.order = 3, .nnz = 11440996};
  struct pd_ordered_sizes sizes = {.rows = {0}};
  const struct pd_ordered_job job = {
      .traits = &traits, .rank = 32, .kernel = POLYAD_KERNEL_MTTKRP, .mode = mode, .moves = moves};
  for (int n = 0; n < 3; ++n) {
    traits.dims[n] = traits.nonempty[n] = dims[n];
    traits.fibers[n] = fibers[n];
  }
  sizes.rows[10] = longer * (double)dims[mode];
  sizes.nonzeros[10] = (double)traits.nnz;
  pd_ordered_choose_inputs(&job, POLYAD_F32, &sizes, chosen);
}

/* Nonzeros that are moved keep their neighbours where the mode that they come from is outermost,
 * and in the first mode's order the one that they go to: that is worth more rows of factors, unless
 * a cache could not keep the ends of all rows anyway. */
static void moved_nonzeros_keep_neighbours(void **state) {
  (void)state;
  for (int mode = 0; mode < 3; ++mode) {
    struct pd_ordered still = {0}, moved = {0}, many = {0};
    int neighbour = mode == 0 ? 1 : mode - 1;
    chosen_for_movies(mode, false, 1, &still);
    chosen_for_movies(mode, true, 1, &moved);
    chosen_for_movies(mode, true, 1000, &many);
    assert_int_not_equal(still.input[0], neighbour);
    assert_int_equal(moved.input[0], neighbour);
    assert_int_equal(moved.input[1], still.input[0]);
    if (mode > 0) assert_int_not_equal(many.input[0], neighbour);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moved_nonzeros_keep_neighbours),
      cmocka_unit_test(inputs_are_sorted_for_the_kernel),
      cmocka_unit_test(the_scheme_depends_on_the_length),
      cmocka_unit_test(indices_are_dealt_by_degree),
      cmocka_unit_test(scheme_1_is_not_within_four_thirds),
      cmocka_unit_test(scheme_2_deals_nonzeros_equally),
      cmocka_unit_test(fields_lie_apart),
      cmocka_unit_test(bits_are_reported),
      cmocka_unit_test(storages_hold_the_tensor),
      cmocka_unit_test(damage_of_rows_is_found),
      cmocka_unit_test(damage_of_partitions_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
