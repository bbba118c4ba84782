/* What tensors know and keep: norm, hash, labels, types, checks, memory. */
#include "tensor_fixture.h"

#include "core/random.h"
#include <math.h>
#include <stdlib.h>

static void norm_of(double scale, polyad_type type) {
  static const int64_t index[] = {0, 1, 2};
  const double values[] = {2 * scale, 3 * scale, -6 * scale};
  polyad_tensor_input input = rows(1, 3, index, values);
  input.type = type;
  polyad_tensor *x = create(&input);
  assert_true(polyad_tensor_norm(x) == 7 * scale);
  polyad_tensor_destroy(x);
}

/* 2, 3, 6 have norm 7; powers of two scale exactly. */
static void norm_has_the_range_of_doubles(void **state) {
  (void)state;
  static const double scales[] = {1, 0x1p1020, 0x1p600, 0x1p-450, 0x1p-1000, 0x1p-1070, 0x1p-1074};
  for (size_t c = 0; c < sizeof scales / sizeof *scales; ++c)
    norm_of(scales[c], POLYAD_F64);
  static const double narrow[] = {1, 0x1p125, 0x1p-149};
  for (size_t c = 0; c < sizeof narrow / sizeof *narrow; ++c)
    norm_of(narrow[c], POLYAD_F32);
  double large[] = {1e300, 1e300, 1e300, 1e300};
  int exponent;
  double sum = pd_sum_of_squares(context, 4, POLYAD_F64, large, &exponent);
  /* exact up to the rounding of 4 squares, 3 sums and a root */
  assert_true(fabs(ldexp(sqrt(sum), exponent) - 2e300) <= 8 * 0x1p-53 * 2e300);
}

static void norm_does_not_depend_on_threads(void **state) {
  (void)state;
  enum { COUNT = 1000003 };
  double *values = malloc(COUNT * 8);
  for (uint64_t p = 0; p < COUNT; ++p)
    values[p] = pd_random_normal(4, 0, p);
  double first = 0;
  for (int threads = 1; threads <= 8; ++threads) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    int exponent;
    double sum = pd_sum_of_squares(context, COUNT, POLYAD_F64, values, &exponent);
    assert_int_equal(exponent, 0);
    if (threads == 1) first = sum;
    assert_true(sum == first);
  }
  long double exact = 0;
  for (uint64_t p = 0; p < COUNT; ++p)
    exact += (long double)values[p] * (long double)values[p];
  /* Blocks bound the terms in one chain: 4096 / 8 lanes, 8 blocks folded, 256 parts. */
  assert_true(fabs(first - (double)exact) <= (4096 / 8 + 8 + 256) * 0x1p-53 * (double)exact);
  free(values);
}

static void equal_tensors_have_equal_hashes(void **state) {
  (void)state;
  static const int64_t index[] = {0, 1, 1, 0, 2, 2}, turned[] = {2, 2, 0, 1, 1, 0};
  static const double values[] = {1, 2, 3}, turned_values[] = {3, 1, 2}, others[] = {1, 2, 4};
  polyad_tensor_input inputs[] = {rows(2, 3, index, values), rows(2, 3, turned, turned_values),
                                  rows(2, 3, index, others), rows(2, 3, index, values)};
  inputs[3].dims = (uint64_t[]){3, 4};
  uint64_t hash[4];
  for (int c = 0; c < 4; ++c) {
    polyad_tensor *x = create(&inputs[c]);
    hash[c] = polyad_tensor_hash(x);
    polyad_tensor_destroy(x);
  }
  assert_true(hash[0] == hash[1]);
  assert_true(hash[0] != hash[2]);
  assert_true(hash[0] != hash[3]);
}

static void labels_are_kept(void **state) {
  (void)state;
  static const int64_t index[] = {0, 1, 1, 0};
  polyad_tensor_input input = rows(2, 2, index, NULL);
  polyad_tensor *x = create(&input), *copy;
  const char *names[] = {"Berlin", ""}, *other[] = {"x", "yy"};
  assert_null(polyad_tensor_label(x, 0, 0, NULL));
  assert_null(polyad_tensor_mode_name(x, 0));
  assert_int_equal(polyad_tensor_set_labels(context, x, 0, "city", other), POLYAD_OK);
  assert_int_equal(polyad_tensor_set_labels(context, x, 0, "town", names), POLYAD_OK);
  assert_int_equal(polyad_tensor_set_labels(context, x, 1, "day", NULL), POLYAD_OK);
  assert_int_equal(polyad_tensor_convert(context, x, POLYAD_F32, &copy), POLYAD_OK);
  polyad_tensor_destroy(x);
  size_t length = 99;
  assert_string_equal(polyad_tensor_mode_name(copy, 0), "town");
  assert_string_equal(polyad_tensor_mode_name(copy, 1), "day");
  assert_string_equal(polyad_tensor_label(copy, 0, 0, &length), "Berlin");
  assert_int_equal(length, 6);
  assert_string_equal(polyad_tensor_label(copy, 0, 1, &length), "");
  assert_int_equal(length, 0);
  assert_null(polyad_tensor_label(copy, 0, 2, &length));
  assert_null(polyad_tensor_label(copy, 1, 0, NULL));
  assert_null(polyad_tensor_label(copy, 2, 0, NULL));
  assert_null(polyad_tensor_mode_name(copy, 2));
  const char *missing[] = {"a", NULL};
  expect_error(polyad_tensor_set_labels(context, copy, 0, NULL, missing), POLYAD_INVALID_ARGUMENT,
               "label 1 is NULL");
  assert_string_equal(polyad_tensor_label(copy, 0, 0, NULL), "Berlin");
  expect_error(polyad_tensor_set_labels(context, copy, 2, "z", NULL), POLYAD_INVALID_ARGUMENT,
               "mode 2");
  polyad_tensor_destroy(copy);
}

static void conversion_minds_the_range(void **state) {
  (void)state;
  static const int64_t index[] = {0, 1, 2};
  double values[] = {1.5, 1e-60, -2};
  polyad_tensor_input input = rows(1, 3, index, values);
  polyad_tensor *x = create(&input), *narrow, *wide;
  assert_int_equal(polyad_tensor_convert(context, x, POLYAD_F32, &narrow), POLYAD_OK);
  assert_int_equal(pd_tensor_check(context, narrow), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(narrow), 2); /* too small for float32: zero, dropped */
  assert_int_equal(polyad_tensor_zeros_dropped(narrow), 1);
  assert_int_equal(polyad_tensor_convert(context, narrow, POLYAD_F64, &wide), POLYAD_OK);
  assert_true(pd_tensor_value(wide, 1) == -2);
  polyad_tensor_destroy(narrow);
  polyad_tensor_destroy(wide);
  polyad_tensor_destroy(x);
  values[1] = 1e60;
  x = create(&input);
  expect_error(polyad_tensor_convert(context, x, POLYAD_F32, &narrow), POLYAD_NUMERICAL, "(2)");
  assert_null(narrow);
  expect_error(polyad_tensor_convert(context, x, (polyad_type)7, &narrow), POLYAD_INVALID_ARGUMENT,
               "type 7");
  polyad_tensor_destroy(x);
}

static void check_finds_what_is_broken(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0, 0, 1, 1, 1};
  polyad_tensor_input input = rows(2, 3, index, NULL);
  polyad_tensor *x = create(&input);
  uint32_t *first = x->index[0], *second = x->index[1];
  double *values = x->values;
  first[2] = 2;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "index 2 in mode 0");
  pd_begin(context);
  first[2] = 0;
  second[2] = 0;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "not sorted");
  pd_begin(context);
  second[2] = 1;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "more than once");
  pd_begin(context);
  first[2] = 1;
  values[1] = 0;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "nonzero 1 has value 0");
  pd_begin(context);
  values[1] = INFINITY;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "value inf");
  pd_begin(context);
  values[1] = 1;
  x->index_bytes[1] = 8;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "8 bytes");
  pd_begin(context);
  x->index_bytes[1] = 4;
  x->order = 0;
  expect_error(pd_tensor_check(context, x), POLYAD_INTERNAL, "order 0");
  x->order = 2;
  polyad_tensor_destroy(x);
}

static void bits_of_modes(void **state) {
  (void)state;
  assert_int_equal(pd_index_bits(1), 0);
  assert_int_equal(pd_index_bits(2), 1);
  assert_int_equal(pd_index_bits(3), 2);
  assert_int_equal(pd_index_bits(4), 2);
  assert_int_equal(pd_index_bits(5), 3);
  assert_int_equal(pd_index_bits(INT64_MAX), 63);
}

static polyad_status make_and_convert(polyad_context *failing, void *data) {
  polyad_tensor *x = NULL, *copy = NULL;
  polyad_status status = polyad_tensor_create(failing, data, &x);
  const char *labels[] = {"a", "b", "c"};
  if (status == POLYAD_OK) status = polyad_tensor_set_labels(failing, x, 0, "name", labels);
  if (status == POLYAD_OK) status = polyad_tensor_convert(failing, x, POLYAD_F32, &copy);
  polyad_tensor_destroy(copy);
  polyad_tensor_destroy(x);
  return status;
}

static void allocations_may_fail(void **state) {
  (void)state;
  int64_t narrow[] = {2, 1, 0, 0, 2, 1, 1, 1, 2, 1};
  polyad_tensor_input input = rows(2, 5, narrow, NULL);
  assert_true(sweep_failures(make_and_convert, &input, 2) > 10);
  input.dims = (uint64_t[]){3, INT64_MAX}; /* keys longer than 64 bits */
  assert_true(sweep_failures(make_and_convert, &input, 2) > 10);
}

static polyad_status make_large(polyad_context *failing, void *data) {
  polyad_tensor *x = NULL;
  polyad_status status = polyad_tensor_create(failing, data, &x);
  polyad_tensor_destroy(x);
  return status;
}

/* Enough nonzeros for buckets, two of which hold all and are divided further. */
static void allocations_may_fail_in_buckets(void **state) {
  (void)state;
  enum { NNZ = 300000 };
  int64_t *index = malloc(NNZ * 2 * 8);
  for (int64_t p = 0; p < NNZ; ++p) {
    index[2 * p] = p % 2 * (INT64_MAX / 2);
    index[2 * p + 1] = (int64_t)(pd_random_u64(1, 1, (uint64_t)p) >> 1);
  }
  polyad_tensor_input input = rows(2, NNZ, index, NULL);
  input.dims = (uint64_t[]){INT64_MAX, (uint64_t)INT64_MAX};
  assert_true(sweep_failures(make_large, &input, 2) > 8);
  free(index);
}

/* Beside the tensor, sorting needs a record of all indices' bits and the value for each nonzero,
 * and its threads' parts of the cache. */
static void peak_memory_is_bounded(void **state) {
  (void)state;
  enum { NNZ = 1000000 };
  for (int wide = 0; wide < 2; ++wide) {
    polyad_context *own;
    assert_int_equal(polyad_context_create(&own), POLYAD_OK);
    int64_t *index = malloc(NNZ * 3 * 8);
    for (int64_t p = 0; p < NNZ * 3; ++p)
      index[p] = (int64_t)(pd_random_u64(6, 0, (uint64_t)p) >> (wide ? 41 : 44));
    polyad_tensor_input input = rows(3, NNZ, index, NULL);
    polyad_tensor *x;
    assert_int_equal(polyad_tensor_create(own, &input, &x), POLYAD_OK);
    uint64_t words = (3 * (wide ? 23 : 20) + 64 + 63) / 64, threads = (uint64_t)polyad_threads(own);
    assert_true(polyad_memory_peak(own) <=
                polyad_tensor_bytes(x) + (uint64_t)NNZ * 8 * words + (threads << 20));
    polyad_tensor_destroy(x);
    free(index);
    polyad_context_destroy(own);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(norm_has_the_range_of_doubles),
      TEST(norm_does_not_depend_on_threads),
      TEST(equal_tensors_have_equal_hashes),
      TEST(labels_are_kept),
      TEST(conversion_minds_the_range),
      TEST(check_finds_what_is_broken),
      TEST(bits_of_modes),
      TEST(allocations_may_fail),
      TEST(allocations_may_fail_in_buckets),
      TEST(peak_memory_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
