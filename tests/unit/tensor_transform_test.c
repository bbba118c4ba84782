/* Values changed before a decomposition, against the definitions in wider precision. */
#include "tensor_fixture.h"

#include "core/random.h"
#include <math.h>
#include <stdlib.h>

enum { NNZ = 150, MOST = 8 };

/* Modes of lengths 1 and 2^40 among ordinary ones; the long one has few different indices. */
static polyad_tensor *random_tensor(int order, polyad_type type, bool negative, bool keep_zeros) {
  static const uint64_t lengths[MOST] = {7, UINT64_C(1) << 40, 1, 5, 30, 3, 2, 11};
  uint64_t dims[MOST];
  int64_t *index = malloc(sizeof *index * NNZ * (size_t)order);
  double *values = malloc(sizeof *values * NNZ);
  for (int n = 0; n < order; ++n)
    dims[n] = lengths[order == 1 ? 4 : n];
  for (uint64_t p = 0; p < NNZ; ++p) {
    for (int n = 0; n < order; ++n) {
      uint64_t draw = pd_random_u64(9, (uint64_t)n, p);
      index[p * (uint64_t)order + (uint64_t)n] =
          (int64_t)(dims[n] > 1000 ? (draw % 9) * UINT64_C(111111111111) : draw % dims[n]);
    }
    values[p] = floor(20 * pd_random_uniform(9, 50, p)) - (negative ? 10 : 0);
  }
  polyad_tensor_input input = rows(order, NNZ, index, values);
  input.dims = dims;
  input.type = type;
  input.duplicates = POLYAD_DUPLICATES_LAST;
  input.zeros = keep_zeros ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
  polyad_tensor *x = create(&input);
  free(index);
  free(values);
  return x;
}

static polyad_tensor *transform(const polyad_tensor *x, polyad_transform step) {
  polyad_tensor *made;
  if (polyad_tensor_transform(context, x, &step, 1, &made) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_tensor_check(context, made), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(made), polyad_tensor_nnz(x));
  return made;
}

/* Documents that have a nonzero with the term of nonzero p, each counted once, from all pairs. */
static long double documents_of(const polyad_tensor *x, const polyad_transform *step, uint64_t p) {
  uint64_t term = pd_tensor_index(x, step->mode, p), found = 0;
  for (uint64_t q = 0; q < polyad_tensor_nnz(x); ++q) {
    if (pd_tensor_index(x, step->mode, q) != term || pd_tensor_value(x, q) == 0) continue;
    bool is_first = true;
    for (uint64_t r = 0; r < q && is_first; ++r)
      is_first = pd_tensor_index(x, step->mode, r) != term || pd_tensor_value(x, r) == 0 ||
                 pd_tensor_index(x, step->documents, r) != pd_tensor_index(x, step->documents, q);
    found += is_first;
  }
  return found;
}

static long double slice_size(const polyad_tensor *x, const polyad_transform *step, uint64_t p) {
  long double squares = 0, sum = 0, most = 0;
  for (uint64_t q = 0; q < polyad_tensor_nnz(x); ++q) {
    if (pd_tensor_index(x, step->mode, q) != pd_tensor_index(x, step->mode, p)) continue;
    long double magnitude = fabs(pd_tensor_value(x, q));
    squares += magnitude * magnitude;
    sum += magnitude;
    most = fmaxl(most, magnitude);
  }
  if (step->kind == POLYAD_TRANSFORM_SCALE_MAX) return most;
  return step->kind == POLYAD_TRANSFORM_SCALE_SUM ? sum : sqrtl(squares);
}

/* What a nonzero becomes by the definition. */
static long double expected(const polyad_tensor *x, const polyad_transform *step, uint64_t p) {
  long double value = pd_tensor_value(x, p);
  if (step->kind == POLYAD_TRANSFORM_LOG1P) return log1pl(value);
  if (step->kind == POLYAD_TRANSFORM_TF_IDF) {
    long double all = (long double)polyad_tensor_dims(x)[step->documents];
    return value * (logl((1 + all) / (1 + documents_of(x, step, p))) + 1);
  }
  return value == 0 ? 0 : value / slice_size(x, step, p);
}

/* A sum of at most NNZ shares, each rounded when divided and squared, a root, three divisions or
 * products, and a logarithm within a unit in the last place; the type rounds once more. */
static void compare(const polyad_tensor *x, const polyad_transform *step) {
  polyad_tensor *made = transform(x, *step);
  double bound = (NNZ + 12) * 0x1p-53 + (x->type == POLYAD_F32 ? 0x1p-24 : 0);
  for (uint64_t p = 0; p < polyad_tensor_nnz(x); ++p) {
    long double exact = expected(x, step, p);
    assert_true(fabsl(pd_tensor_value(made, p) - exact) <= bound * fabsl(exact));
  }
  polyad_tensor_destroy(made);
}

static void values_are_what_the_definitions_say(void **state) {
  (void)state;
  for (int order = 1; order <= MOST; ++order)
    for (int which = 0; which < 4; ++which) {
      polyad_type type = which % 2 == 0 ? POLYAD_F64 : POLYAD_F32;
      polyad_tensor *x = random_tensor(order, type, false, which > 1);
      polyad_tensor *negative = random_tensor(order, type, true, which > 1);
      compare(x, &(polyad_transform){POLYAD_TRANSFORM_LOG1P, 0, 0});
      for (int n = 0; n < order; ++n) {
        for (int k = POLYAD_TRANSFORM_SCALE_NORM; k <= POLYAD_TRANSFORM_SCALE_MAX; ++k)
          compare(negative, &(polyad_transform){(polyad_transform_kind)k, n, 0});
        if (order > 1) compare(x, &(polyad_transform){POLYAD_TRANSFORM_TF_IDF, n, (n + 1) % order});
      }
      polyad_tensor_destroy(x);
      polyad_tensor_destroy(negative);
    }
}

/* Squares of these overflow or vanish. */
static void slices_of_any_size_are_scaled(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0, 1, 0, 0, 1};
  static const double values[] = {3e300, 4e300, -5e-300}, scaled[] = {0.6, -1, 0.8};
  polyad_tensor_input input = rows(2, 3, index, values);
  polyad_tensor *x = create(&input); /* sorted: 3e300, -5e-300, 4e300 */
  polyad_tensor *made = transform(x, (polyad_transform){POLYAD_TRANSFORM_SCALE_NORM, 1, 0});
  for (uint64_t p = 0; p < 3; ++p)
    assert_true(fabs(pd_tensor_value(made, p) - scaled[p]) <= 8 * 0x1p-53);
  polyad_tensor_destroy(made);
  polyad_tensor_destroy(x);
}

static void wrong_steps_are_refused(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0, 1, 1};
  static const double values[] = {2, -1};
  polyad_tensor_input input = rows(2, 2, index, values);
  polyad_tensor *x = create(&input), *made;
  static const struct {
    polyad_transform step;
    const char *says;
  } cases[] = {{{POLYAD_TRANSFORM_LOG1P, 0, 0}, "value -1 at coordinate (2, 2)"},
               {{POLYAD_TRANSFORM_TF_IDF, 0, 1}, "value -1 at coordinate (2, 2)"},
               {{POLYAD_TRANSFORM_TF_IDF, 1, 1}, "mode 1 both as terms and as documents"},
               {{POLYAD_TRANSFORM_TF_IDF, 0, 2}, "mode 2; expected 0 to 1"},
               {{POLYAD_TRANSFORM_SCALE_SUM, -1, 0}, "mode -1; expected 0 to 1"},
               {{(polyad_transform_kind)5, 0, 0}, "kind 5"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    assert_int_equal(polyad_tensor_transform(context, x, &cases[k].step, 1, &made),
                     POLYAD_INVALID_ARGUMENT);
    assert_null(made);
    if (strstr(polyad_last_error(context), cases[k].says) == NULL)
      fail_msg("%s", polyad_last_error(context));
  }
  assert_int_equal(polyad_tensor_transform(context, x, NULL, 1, &made), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_tensor_transform(context, x, NULL, 0, &made), POLYAD_OK);
  assert_true(polyad_tensor_hash(made) == polyad_tensor_hash(x));
  polyad_tensor_destroy(made);
  polyad_tensor_destroy(x);
}

static void values_that_no_longer_fit_are_an_error(void **state) {
  (void)state;
  static const int64_t index[] = {0, 0};
  static const double values[] = {1.7e308};
  static const uint64_t dims[] = {1, 1000};
  polyad_tensor_input input = rows(2, 1, index, values);
  input.dims = dims;
  polyad_tensor *x = create(&input), *made;
  const polyad_transform step = {POLYAD_TRANSFORM_TF_IDF, 0, 1};
  assert_int_equal(polyad_tensor_transform(context, x, &step, 1, &made), POLYAD_NUMERICAL);
  polyad_tensor_destroy(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(values_are_what_the_definitions_say), TEST(slices_of_any_size_are_scaled),
      TEST(wrong_steps_are_refused), TEST(values_that_no_longer_fit_are_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
