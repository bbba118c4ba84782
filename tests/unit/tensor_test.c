/* Creating tensors: strides, types, order, repeats, zeros, limits, errors. */
#include "tensor_fixture.h"

#include "core/radix_sort.h"
#include "core/random.h"
#include <math.h>
#include <stdlib.h>

static void sorts_and_infers_dims(void **state) {
  (void)state;
  static const int64_t index[] = {1, 2, 0, 0, 3, 1, 1, 0, 4};
  static const double values[] = {10, 20, 30};
  polyad_tensor_input input = rows(3, 3, index, values);
  polyad_tensor *x = create(&input);
  assert_int_equal(polyad_tensor_order(x), 3);
  const uint64_t dims[] = {2, 4, 5};
  assert_memory_equal(polyad_tensor_dims(x), dims, sizeof dims);
  assert_int_equal(polyad_tensor_nnz(x), 3);
  assert_int_equal(polyad_tensor_type(x), POLYAD_F64);
  const uint32_t first[] = {0, 1, 1}, second[] = {3, 0, 2}, third[] = {1, 4, 0};
  const double sorted[] = {20, 30, 10};
  assert_int_equal(polyad_tensor_index_bytes(x, 0), 4);
  assert_memory_equal(polyad_tensor_indices(x, 0), first, sizeof first);
  assert_memory_equal(polyad_tensor_indices(x, 1), second, sizeof second);
  assert_memory_equal(polyad_tensor_indices(x, 2), third, sizeof third);
  assert_memory_equal(polyad_tensor_values(x), sorted, sizeof sorted);
  assert_null(polyad_tensor_indices(x, 3));
  assert_null(polyad_tensor_indices(x, -1));
  assert_int_equal(polyad_tensor_index_bytes(x, 3), 0);
  assert_true(polyad_tensor_bytes(x) >= 3 * (3 * 4 + 8));
  polyad_tensor_destroy(x);
  polyad_tensor_destroy(NULL);
}

/* Zeros that are kept: given, from repeats that cancel, from values too small for float32; on many
 * threads as on one, and gone again in a plan. */
static void zeros_are_kept_when_asked(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0, 2, 1, 1, 1, 1, 1, 3, 2};
  static const double values[] = {0, 3, 1, -1, 1e-60};
  polyad_tensor_input input = rows(2, 5, index, values);
  polyad_tensor *x = create(&input), *narrow = NULL;
  assert_int_equal(polyad_tensor_nnz(x), 2);
  assert_int_equal(polyad_tensor_zeros_dropped(x), 2);
  assert_int_equal(polyad_tensor_zeros_kept(x), 0);
  polyad_tensor_destroy(x);
  input.zeros = POLYAD_ZEROS_KEEP;
  x = create(&input);
  const double kept[] = {0, 0, 3, 1e-60};
  assert_int_equal(polyad_tensor_nnz(x), 4);
  assert_memory_equal(polyad_tensor_values(x), kept, sizeof kept);
  assert_int_equal(polyad_tensor_zeros_dropped(x), 0);
  assert_int_equal(polyad_tensor_zeros_kept(x), 2);
  assert_int_equal(polyad_tensor_repeats_merged(x), 1);
  assert_int_equal(polyad_tensor_convert(context, x, POLYAD_F32, &narrow), POLYAD_OK);
  assert_int_equal(pd_tensor_check(context, narrow), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(narrow), 4);
  assert_int_equal(polyad_tensor_zeros_kept(narrow), 3);
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_plan_options_init(&options);
  assert_int_equal(polyad_plan_create(context, x, &options, &plan), POLYAD_OK);
  assert_int_equal(polyad_plan_nnz(plan), 2);
  assert_int_equal(polyad_tensor_nnz(x), 4);
  polyad_plan_destroy(plan);
  options.precision = POLYAD_F32;
  assert_int_equal(polyad_plan_create_take(context, &narrow, &options, &plan), POLYAD_OK);
  assert_int_equal(polyad_plan_nnz(plan), 1);
  polyad_plan_destroy(plan);
  x->zeros_kept = 1;
  assert_int_equal(pd_tensor_check(context, x), POLYAD_INTERNAL);
  polyad_tensor_destroy(x);
  input.zeros = (polyad_zeros)2;
  assert_int_equal(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT);
}

static void many_zeros_are_counted(void **state) {
  (void)state;
  enum { NNZ = 100000 };
  int64_t *index = malloc(NNZ * 2 * sizeof *index);
  double *values = malloc(NNZ * sizeof *values);
  for (int64_t p = 0; p < NNZ; ++p) {
    index[2 * p] = p % 1000; /* each coordinate twice, and every third value zero */
    index[2 * p + 1] = p / 1000 % 50;
    values[p] = (double)(p % 50000 % 3);
  }
  polyad_tensor_input input = rows(2, NNZ, index, values);
  input.zeros = POLYAD_ZEROS_KEEP;
  polyad_tensor *x = create(&input);
  assert_int_equal(polyad_tensor_nnz(x), NNZ / 2);
  assert_int_equal(polyad_tensor_zeros_kept(x), (NNZ / 2 + 2) / 3);
  polyad_tensor_destroy(x);
  free(index);
  free(values);
}

/* The same tensor from every index type, both array orders and reversed strides. */
static void layouts_agree(void **state) {
  (void)state;
  enum { NNZ = 50000, ORDER = 4 };
  static const uint64_t dims[ORDER] = {50, 60, 70, 30};
  uint64_t hash = 0;
  for (int type = POLYAD_I32; type <= POLYAD_U64; ++type)
    for (int layout = 0; layout < 3; ++layout) {
      int64_t item = type <= POLYAD_U32 ? 4 : 8;
      char *index = malloc(NNZ * ORDER * 8);
      float *values = malloc(NNZ * sizeof *values);
      polyad_tensor_input input;
      polyad_tensor_input_init(&input);
      input.order = ORDER;
      input.dims = dims;
      input.nnz = NNZ;
      input.index_type = (polyad_index_type)type;
      input.value_type = POLYAD_F32;
      for (int n = 0; n < ORDER; ++n) {
        input.index[n] = index + item * (layout == 0 ? n : n * NNZ);
        input.index_stride[n] = item * (layout == 0 ? ORDER : 1);
        if (layout == 2) { /* a view that runs backwards */
          input.index[n] = (const char *)input.index[n] + item * (NNZ - 1);
          input.index_stride[n] = -item;
        }
        for (int64_t p = 0; p < NNZ; ++p) {
          uint64_t i = pd_random_u64(5, (uint64_t)n, (uint64_t)p) % dims[n];
          uint32_t narrow = (uint32_t)i;
          char *place = index + ((const char *)input.index[n] - index) + p * input.index_stride[n];
          memcpy(place, item == 4 ? (void *)&narrow : (void *)&i, (size_t)item);
        }
      }
      for (int64_t p = 0; p < NNZ; ++p)
        values[p] = (float)(p % 17 + 1);
      input.values = values;
      input.value_stride = 4;
      polyad_tensor *x = create(&input);
      if (hash == 0) hash = polyad_tensor_hash(x);
      assert_true(hash == polyad_tensor_hash(x));
      polyad_tensor_destroy(x);
      free(index);
      free(values);
    }
}

static void values_may_be_left_out(void **state) {
  (void)state;
  static const int64_t index[] = {0, 1, 1, 1, 0, 1};
  polyad_tensor_input input = rows(2, 3, index, NULL);
  input.type = POLYAD_F32;
  polyad_tensor *x = create(&input);
  const float values[] = {2, 1};
  assert_int_equal(polyad_tensor_nnz(x), 2);
  assert_memory_equal(polyad_tensor_values(x), values, sizeof values);
  assert_int_equal(polyad_tensor_repeats_merged(x), 1);
  polyad_tensor_destroy(x);
}

static void repeats_follow_the_policy(void **state) {
  (void)state;
  static const int64_t index[] = {1, 1, 0, 0, 1, 1, 0, 2, 1, 1, 0, 2};
  static const double values[] = {2, 7, -5, 4, 3, -4};
  static const struct {
    polyad_duplicates policy;
    uint64_t nnz, dropped;
    double last;
  } cases[] = {{POLYAD_DUPLICATES_SUM, 1, 2, 7},  {POLYAD_DUPLICATES_MAX, 3, 0, 3},
               {POLYAD_DUPLICATES_MIN, 3, 0, -5}, {POLYAD_DUPLICATES_FIRST, 3, 0, 2},
               {POLYAD_DUPLICATES_LAST, 3, 0, 3}, {POLYAD_DUPLICATES_MEAN, 1, 2, 7},
               {POLYAD_DUPLICATES_COUNT, 3, 0, 3}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      polyad_tensor_input input = rows(2, 6, index, values);
      input.duplicates = cases[c].policy;
      input.type = (polyad_type)type;
      polyad_tensor *x = create(&input);
      assert_int_equal(polyad_tensor_nnz(x), cases[c].nnz);
      assert_int_equal(polyad_tensor_repeats_merged(x), 3);
      assert_int_equal(polyad_tensor_zeros_dropped(x), cases[c].dropped);
      assert_true(pd_tensor_value(x, cases[c].nnz - 1) == cases[c].last);
      const uint64_t dims[] = {2, 3}; /* dims keep what merging dropped */
      assert_memory_equal(polyad_tensor_dims(x), dims, sizeof dims);
      polyad_tensor_destroy(x);
    }
  polyad_tensor_input input = rows(2, 6, index, values);
  input.duplicates = POLYAD_DUPLICATES_ERROR;
  polyad_tensor *x;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "(1, 3) (counted from 1) occurs 2 times");
  assert_null(x);
}

static void sums_keep_the_order_given(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0, 0};
  static const double one_way[] = {1, 1e17, -1e17}, other_way[] = {1e17, -1e17, 1};
  polyad_tensor_input input = rows(1, 3, index, one_way);
  polyad_tensor *x = create(&input);
  assert_int_equal(polyad_tensor_nnz(x), 0);
  assert_int_equal(polyad_tensor_zeros_dropped(x), 1);
  polyad_tensor_destroy(x);
  input.values = other_way;
  x = create(&input);
  assert_int_equal(polyad_tensor_nnz(x), 1);
  assert_true(pd_tensor_value(x, 0) == 1);
  polyad_tensor_destroy(x);
}

static void infinite_sums_are_errors(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0, 4, 2, 4, 2};
  static const double values[] = {1, 1.5e308, 1.5e308};
  polyad_tensor_input input = rows(2, 3, index, values);
  polyad_tensor *x;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_NUMERICAL, "(5, 3)");
  static const double small[] = {1, 3e38, 3e38};
  input.values = small;
  input.type = POLYAD_F32;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_NUMERICAL, "float32");
}

/* Many repeats and zeros, so that every thread's part shrinks, against a plain table. */
static void merging_in_parallel_is_exact(void **state) {
  (void)state;
  enum { NNZ = 200000, I = 100, J = 90, K = 7 };
  int64_t *index = malloc(NNZ * 3 * 8);
  double *values = malloc(NNZ * 8), *table = calloc(I * J * K, 8);
  for (int64_t p = 0; p < NNZ; ++p) {
    uint64_t r = pd_random_u64(2, 0, (uint64_t)p);
    int64_t i = (int64_t)(r % I), j = (int64_t)(r / I % J), k = (int64_t)(r / I / J % K);
    index[3 * p] = i;
    index[3 * p + 1] = j;
    index[3 * p + 2] = k;
    values[p] = (double)((int64_t)(r >> 40) % 5 - 2);
    table[(i * J + j) * K + k] += values[p];
  }
  uint64_t hash = 0;
  for (int threads = 1; threads <= 7; threads += 3) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    polyad_tensor_input input = rows(3, NNZ, index, values);
    polyad_tensor *x = create(&input);
    uint64_t p = 0;
    for (uint64_t cell = 0; cell < I * J * K; ++cell) {
      if (table[cell] == 0) continue;
      assert_true(p < polyad_tensor_nnz(x));
      assert_true(pd_tensor_index(x, 0, p) == cell / K / J);
      assert_true(pd_tensor_index(x, 1, p) == cell / K % J);
      assert_true(pd_tensor_index(x, 2, p) == cell % K);
      assert_true(pd_tensor_value(x, p) == table[cell]);
      ++p;
    }
    assert_true(p == polyad_tensor_nnz(x));
    assert_true(polyad_tensor_repeats_merged(x) + polyad_tensor_zeros_dropped(x) + p == NNZ);
    if (hash == 0) hash = polyad_tensor_hash(x);
    assert_true(polyad_tensor_hash(x) == hash);
    polyad_tensor_destroy(x);
  }
  free(index);
  free(values);
  free(table);
}

static void every_order_works(void **state) {
  (void)state;
  enum { NNZ = 3000 };
  int64_t *index = malloc(NNZ * POLYAD_MAX_ORDER * 8);
  for (int order = 1; order <= POLYAD_MAX_ORDER; ++order)
    for (int wide = 0; wide < 2; ++wide) { /* narrow keys fit 64 bits, wide ones do not */
      int64_t dim = wide ? INT64_C(1) << 20 : 3;
      for (int64_t p = 0; p < NNZ * order; ++p)
        index[p] = (int64_t)(pd_random_u64(9, (uint64_t)order, (uint64_t)p) % (uint64_t)dim);
      polyad_tensor_input input = rows(order, NNZ, index, NULL);
      polyad_tensor *x = create(&input);
      double sum = 0;
      for (uint64_t p = 0; p < polyad_tensor_nnz(x); ++p)
        sum += pd_tensor_value(x, p);
      assert_true(sum == NNZ);
      assert_true(polyad_tensor_nnz(x) + polyad_tensor_repeats_merged(x) == NNZ);
      polyad_tensor_destroy(x);
    }
  free(index);
}

/* Coordinates of more than 64 bits, most of them with the same leading index, against the
 * permutation that pd_sort_permutation() finds. */
static void long_coordinates_are_sorted(void **state) {
  (void)state;
  enum { NNZ = 500000, ORDER = 4 };
  static const uint64_t dims[ORDER] = {900, UINT64_C(1) << 40, 1 << 20, INT64_MAX};
  int64_t *index = malloc(NNZ * ORDER * 8);
  uint64_t *column[ORDER], *permutation = malloc(NNZ * 8);
  double *values = malloc(NNZ * 8);
  for (int n = 0; n < ORDER; ++n)
    column[n] = malloc(NNZ * 8);
  for (uint64_t p = 0; p < NNZ; ++p) {
    values[p] = (double)p + 1;
    for (int n = 0; n < ORDER; ++n) {
      uint64_t i = pd_random_u64(12, (uint64_t)n, p) % dims[n];
      if (n == 0 && p % 8 != 0) i = 77;
      index[p * ORDER + (uint64_t)n] = (int64_t)i;
      column[n][p] = i;
    }
  }
  struct pd_key keys[ORDER];
  for (int n = 0; n < ORDER; ++n)
    keys[n] = (struct pd_key){column[n], 8, dims[n]};
  assert_int_equal(pd_sort_permutation(context, NNZ, ORDER, keys, 8, permutation), POLYAD_OK);
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    polyad_tensor_input input = rows(ORDER, NNZ, index, values);
    input.dims = dims;
    input.type = (polyad_type)type;
    polyad_tensor *x = create(&input);
    assert_int_equal(polyad_tensor_nnz(x), NNZ);
    for (uint64_t p = 0; p < NNZ; ++p) {
      for (int n = 0; n < ORDER; ++n)
        assert_true(pd_tensor_index(x, n, p) == column[n][permutation[p]]);
      assert_true(pd_tensor_value(x, p) == values[permutation[p]]);
    }
    polyad_tensor_destroy(x);
  }
  for (int n = 0; n < ORDER; ++n)
    free(column[n]);
  free(permutation);
  free(index);
  free(values);
}

static void long_modes_use_wide_indices(void **state) {
  (void)state;
  static const uint64_t limits[] = {UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, INT64_MAX};
  static const int bytes[] = {4, 8, 8};
  for (int c = 0; c < 3; ++c) {
    int64_t last = (int64_t)(limits[c] - 1);
    int64_t index[] = {last, 0, last, 1, 5, last, last - 1, last, last, last, 0, last};
    double values[] = {1, 2, 4, 8};
    polyad_tensor_input input = rows(3, 4, index, values);
    input.dims = (uint64_t[]){limits[c], limits[c], limits[c]};
    polyad_tensor *x = create(&input);
    assert_int_equal(polyad_tensor_index_bytes(x, 0), bytes[c]);
    assert_int_equal(polyad_tensor_nnz(x), 3);
    assert_true(pd_tensor_index(x, 0, 2) == (uint64_t)last);
    assert_true(pd_tensor_index(x, 1, 0) == 5);
    assert_true(pd_tensor_value(x, 2) == 9);
    assert_true(polyad_tensor_dims(x)[2] == limits[c]);
    polyad_tensor_destroy(x);
  }
  /* Without dims the largest index decides. */
  int64_t index[] = {INT64_MAX - 1, 0};
  polyad_tensor_input input = rows(1, 2, index, NULL);
  polyad_tensor *x = create(&input);
  assert_true(polyad_tensor_dims(x)[0] == INT64_MAX);
  polyad_tensor_destroy(x);
}

static void empty_tensors_are_legal(void **state) {
  (void)state;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 2;
  input.dims = (uint64_t[]){3, 4};
  polyad_tensor *x = create(&input);
  assert_int_equal(polyad_tensor_nnz(x), 0);
  assert_true(polyad_tensor_norm(x) == 0);
  assert_true(polyad_tensor_hash(x) != 0);
  polyad_tensor *copy;
  assert_int_equal(polyad_tensor_convert(context, x, POLYAD_F32, &copy), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(copy), 0);
  polyad_tensor_destroy(copy);
  polyad_tensor_destroy(x);
}

static void bad_input_is_named(void **state) {
  (void)state;
  int64_t index[] = {0, 0, 1, 7, 2, -3};
  double values[] = {1, NAN, 3};
  polyad_tensor *x;
  polyad_tensor_input good = rows(2, 3, index, values), input = good;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "nonzero 2 has index -3 in mode 1");
  index[5] = 3;
  input.dims = (uint64_t[]){3, 7};
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "nonzero 1 has index 7 in mode 1; expected 0 to 6");
  input = good;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "nonzero 1 (counted from 0) has value nan");
  values[1] = -1e39;
  input.type = POLYAD_F32;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_NUMERICAL, "nonzero 1");
  values[1] = 1;
  index[5] = INT64_MAX;
  input = good;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "index 9223372036854775807 in mode 1");
  static const struct {
    int order;
    const char *part;
  } orders[] = {{0, "order 0"}, {-1, "order -1"}, {17, "order 17"}};
  for (int c = 0; c < 3; ++c) {
    input = good;
    input.order = orders[c].order;
    expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT,
                 orders[c].part);
  }
  input = good;
  input.nnz = 0;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "no nonzeros");
  input = good;
  input.index[1] = NULL;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "mode 1");
  input = good;
  input.dims = (uint64_t[]){3, 0};
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "length 0");
  input.dims = (uint64_t[]){3, UINT64_C(1) << 63};
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "mode 1");
  input = good;
  input.index_type = (polyad_index_type)9;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "index type 9");
  input = good;
  input.value_type = (polyad_type)5;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "type 5");
  input = good;
  input.type = (polyad_type)6;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "type 6");
  input = good;
  input.duplicates = (polyad_duplicates)8;
  expect_error(polyad_tensor_create(context, &input, &x), POLYAD_INVALID_ARGUMENT, "policy 8");
  expect_error(polyad_tensor_create(context, NULL, &x), POLYAD_INVALID_ARGUMENT, "NULL");
  expect_error(polyad_tensor_create(context, &good, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
}

/* One of several blocks: whatever changes in it changes the hash, and threads do not. */
static void the_hash_of_a_long_tensor_sees_all_of_it(void **state) {
  (void)state;
  enum { NNZ = (2 << 17) + 5 };
  static uint32_t index[2][NNZ];
  static double values[NNZ];
  static const uint64_t places[] = {0, (1 << 17) - 1, 1 << 17, NNZ - 1};
  polyad_tensor tensor = {.context = context,
                          .order = 2,
                          .dims = {NNZ + 1, 9},
                          .nnz = NNZ,
                          .type = POLYAD_F64,
                          .index_bytes = {4, 4},
                          .index = {index[0], index[1]},
                          .values = values};
  for (uint32_t p = 0; p < NNZ; ++p) {
    index[0][p] = p;
    index[1][p] = p % 9;
    values[p] = 1 + p;
  }
  uint64_t hash = polyad_tensor_hash(&tensor);
  int threads = polyad_threads(context);
  assert_int_equal(polyad_set_threads(context, 3), POLYAD_OK);
  assert_true(polyad_tensor_hash(&tensor) == hash);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
    ++index[0][places[k]];
    assert_true(polyad_tensor_hash(&tensor) != hash);
    --index[0][places[k]];
    values[places[k]] = -values[places[k]];
    assert_true(polyad_tensor_hash(&tensor) != hash);
    values[places[k]] = -values[places[k]];
  }
  assert_true(polyad_tensor_hash(&tensor) == hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(sorts_and_infers_dims),
      TEST(layouts_agree),
      TEST(zeros_are_kept_when_asked),
      TEST(many_zeros_are_counted),
      TEST(values_may_be_left_out),
      TEST(repeats_follow_the_policy),
      TEST(sums_keep_the_order_given),
      TEST(infinite_sums_are_errors),
      TEST(merging_in_parallel_is_exact),
      TEST(every_order_works),
      TEST(long_coordinates_are_sorted),
      TEST(long_modes_use_wide_indices),
      TEST(empty_tensors_are_legal),
      TEST(bad_input_is_named),
      TEST(the_hash_of_a_long_tensor_sees_all_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
