/* Core consistency against a dense computation in long double: pseudo-inverses by the normal
 * equations, the core by sums over all cells. */
#include "als_fixture.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  context = cpu_context(3);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  context_end(context);
  return 0;
}

/* inverse (R x I) = (A^T A)^-1 A^T by Gauss-Jordan with pivoting; A is I x R. */
static void pseudo_inverse(const long double *a, uint64_t rows, uint64_t rank,
                           long double *inverse) {
  uint64_t width = rank + rows;
  long double *t = calloc(rank * width, sizeof *t);
  for (uint64_t r = 0; r < rank; ++r) {
    for (uint64_t s = 0; s < rank; ++s)
      for (uint64_t i = 0; i < rows; ++i)
        t[r * width + s] += a[i * rank + r] * a[i * rank + s];
    for (uint64_t i = 0; i < rows; ++i)
      t[r * width + rank + i] = a[i * rank + r];
  }
  for (uint64_t r = 0; r < rank; ++r) {
    uint64_t best = r;
    for (uint64_t s = r; s < rank; ++s)
      if (fabsl(t[s * width + r]) > fabsl(t[best * width + r])) best = s;
    for (uint64_t k = 0; k < width; ++k) {
      long double swap = t[r * width + k];
      t[r * width + k] = t[best * width + k];
      t[best * width + k] = swap;
    }
    long double pivot = t[r * width + r];
    for (uint64_t k = 0; k < width; ++k)
      t[r * width + k] /= pivot;
    for (uint64_t s = 0; s < rank; ++s) {
      long double factor = s == r ? 0 : t[s * width + r];
      for (uint64_t k = 0; k < width; ++k)
        t[s * width + k] -= factor * t[r * width + k];
    }
  }
  for (uint64_t r = 0; r < rank; ++r)
    memcpy(inverse + r * rows, t + r * width + rank, rows * sizeof *inverse);
  free(t);
}

static uint64_t index_of(const polyad_tensor *x, int mode, uint64_t p) {
  return ((const uint32_t *)polyad_tensor_indices(x, mode))[p];
}

/* Adds what nonzero p contributes to every cell of the core. */
static void add_nonzero(const polyad_tensor *x, uint64_t p, uint64_t rank,
                        long double *const *inverse, uint64_t cells, long double *core) {
  int order = polyad_tensor_order(x);
  const uint64_t *dims = polyad_tensor_dims(x);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    long double product = ((const double *)polyad_tensor_values(x))[p];
    uint64_t rest = cell;
    for (int n = order - 1; n >= 0; --n, rest /= rank)
      product *= inverse[n][rest % rank * dims[n] + index_of(x, n, p)];
    core[cell] += product;
  }
}

static double dense_consistency(polyad_ktensor *m, const polyad_tensor *x) {
  int order = polyad_ktensor_order(m);
  uint64_t rank = polyad_ktensor_rank(m), cells = 1;
  long double *inverse[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n) {
    uint64_t rows = polyad_ktensor_dims(m)[n];
    const double *factor = polyad_ktensor_factor(m, n), *weights = polyad_ktensor_weights(m);
    long double *a = malloc(rows * rank * sizeof *a);
    for (uint64_t k = 0; k < rows * rank; ++k)
      a[k] = (long double)factor[k] * (n == 0 ? weights[k % rank] : 1);
    inverse[n] = malloc(rows * rank * sizeof *a);
    pseudo_inverse(a, rows, rank, inverse[n]);
    free(a);
    cells *= rank;
  }
  long double *core = calloc(cells, sizeof *core), sum = 0;
  for (uint64_t p = 0; p < polyad_tensor_nnz(x); ++p)
    add_nonzero(x, p, rank, inverse, cells, core);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    bool diagonal = true;
    uint64_t rest = cell;
    for (int n = 0; n < order; ++n, rest /= rank)
      diagonal = diagonal && rest % rank == cell % rank;
    long double difference = core[cell] - (diagonal ? 1 : 0);
    sum += difference * difference;
  }
  for (int n = 0; n < order; ++n)
    free(inverse[n]);
  free(core);
  return (double)(100 * (1 - sum / (long double)rank));
}

struct shape {
  int order;
  uint64_t dims[5];
  uint64_t rank;
  uint64_t nonzeros; /* 0: 400 */
};

/* The last two have roots that are cut into several parts. */
static const struct shape shapes[] = {
    {1, {9}, 1, 0},           {2, {7, 6}, 3, 0},       {3, {6, 9, 7}, 1, 0},
    {3, {8, 6, 7}, 4, 0},     {4, {5, 4, 6, 3}, 3, 0}, {5, {3, 4, 3, 2, 3}, 2, 0},
    {3, {120, 90, 80}, 3, 0}, {3, {4, 70, 30}, 4, 0},  {3, {300, 2, 400}, 2, 100000},
    {2, {1, 50000}, 1, 45000}};

static void agrees_with_dense(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof shapes / sizeof *shapes; ++c) {
    const struct shape *s = &shapes[c];
    polyad_tensor *x =
        als_random_tensor(context, s->order, s->dims, s->nonzeros > 0 ? s->nonzeros : 400, c, 0);
    polyad_ktensor *m = als_random_model(context, s->order, s->dims, s->rank, c + 50, 0);
    double *weights = polyad_ktensor_weights(m), found;
    for (uint64_t r = 0; r < s->rank; ++r)
      weights[r] = r % 2 == 0 ? pow(10, (double)r) : -3; /* of any size and sign */
    ALS_OK(context, polyad_core_consistency(context, m, x, &found));
    double expected = dense_consistency(m, x);
    assert_true(fabs(found - expected) <= 1e-10 * (100 + fabs(expected)));
    polyad_ktensor_destroy(m);
    polyad_tensor_destroy(x);
  }
}

/* The model itself has a superdiagonal core; others have none. */
static void knows_the_model_itself(void **state) {
  (void)state;
  const uint64_t dims[] = {12, 9, 10};
  polyad_ktensor *truth = als_random_model(context, 3, dims, 3, 7, 0);
  polyad_tensor *x = als_tensor_of_model(context, truth);
  double found;
  ALS_OK(context, polyad_core_consistency(context, truth, x, &found));
  assert_true(fabs(found - 100) < 1e-9);
  /* Components that are not the tensor's. */
  polyad_ktensor *more = als_random_model(context, 3, dims, 4, 7, 0);
  ALS_OK(context, polyad_core_consistency(context, more, x, &found));
  assert_true(found < 90);
  polyad_ktensor_destroy(more);
  polyad_ktensor_destroy(truth);
  polyad_tensor_destroy(x);
}

/* Equal columns have one place in the core between them, zero columns none. */
static void takes_dependent_columns(void **state) {
  (void)state;
  const uint64_t dims[] = {6, 5, 4};
  polyad_ktensor *one = als_random_model(context, 3, dims, 1, 3, 0);
  polyad_tensor *x = als_tensor_of_model(context, one);
  polyad_ktensor *three;
  ALS_OK(context, polyad_ktensor_create(context, 3, dims, 3, POLYAD_F64, &three));
  for (int n = 0; n < 3; ++n)
    for (uint64_t i = 0; i < dims[n]; ++i) {
      double *row = (double *)polyad_ktensor_factor(three, n) + 3 * i;
      row[0] = row[1] = ((double *)polyad_ktensor_factor(one, n))[i];
    }
  double found;
  ALS_OK(context, polyad_core_consistency(context, three, x, &found));
  /* Of the three ones of a superdiagonal core one is there. */
  assert_true(fabs(found - 100.0 / 3) < 1e-9);
  polyad_ktensor_destroy(three);
  polyad_ktensor_destroy(one);
  polyad_tensor_destroy(x);
}

static void same_bits_with_any_threads(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 300, 400};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 90000, 1, 1);
  polyad_ktensor *m = als_random_model(context, 3, dims, 6, 2, 1);
  double first, found;
  ALS_OK(context, polyad_core_consistency(context, m, x, &first));
  for (int threads = 1; threads <= 5; ++threads) {
    ALS_OK(context, polyad_set_threads(context, threads));
    ALS_OK(context, polyad_core_consistency(context, m, x, &found));
    assert_memory_equal(&found, &first, sizeof found);
  }
  polyad_ktensor_destroy(m);
  polyad_tensor_destroy(x);
}

static void expect(polyad_status status, polyad_status expected, const char *part) {
  assert_int_equal(status, expected);
  if (strstr(polyad_last_error(context), part) == NULL)
    fail_msg("'%s' is not in '%s'", part, polyad_last_error(context));
}

static void refuses(void **state) {
  (void)state;
  const uint64_t dims[] = {6, 5, 4}, other[] = {6, 5, 3};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 30, 1, 0);
  polyad_ktensor *m = als_random_model(context, 3, dims, 2, 2, 0);
  polyad_ktensor *small = als_random_model(context, 3, other, 2, 2, 0);
  polyad_ktensor *matrix = als_random_model(context, 2, dims, 2, 2, 0);
  double found;
  expect(polyad_core_consistency(context, NULL, x, &found), POLYAD_INVALID_ARGUMENT, "NULL");
  expect(polyad_core_consistency(context, m, NULL, &found), POLYAD_INVALID_ARGUMENT, "NULL");
  expect(polyad_core_consistency(context, m, x, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  assert_int_equal(polyad_core_consistency(NULL, m, x, &found), POLYAD_INVALID_ARGUMENT);
  expect(polyad_core_consistency(context, small, x, &found), POLYAD_MISMATCH,
         "mode 2 has length 3 in the model and 4 in the tensor");
  expect(polyad_core_consistency(context, matrix, x, &found), POLYAD_MISMATCH, "2 modes");
  ((double *)polyad_ktensor_factor(m, 1))[3] = NAN;
  expect(polyad_core_consistency(context, m, x, &found), POLYAD_NUMERICAL, "row 1");
  polyad_ktensor_destroy(matrix);
  polyad_ktensor_destroy(small);
  polyad_ktensor_destroy(m);
  polyad_tensor_destroy(x);
}

/* R^N numbers that do not fit are refused by name, before they are asked for. */
static void refuses_large_cores(void **state) {
  (void)state;
  const uint64_t dims[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
  polyad_tensor *x = als_random_tensor(context, 12, dims, 30, 1, 0);
  polyad_ktensor *large = als_random_model(context, 12, dims, 30, 2, 0);
  polyad_ktensor *huge = als_random_model(context, 12, dims, 60, 2, 0);
  double found;
  expect(polyad_core_consistency(context, large, x, &found), POLYAD_MEMORY_LIMIT, "core");
  expect(polyad_core_consistency(context, huge, x, &found), POLYAD_OVERFLOW, "rank 60 in 12 modes");
  polyad_ktensor_destroy(huge);
  polyad_ktensor_destroy(large);
  polyad_tensor_destroy(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(agrees_with_dense, set_up, tear_down),
      cmocka_unit_test_setup_teardown(knows_the_model_itself, set_up, tear_down),
      cmocka_unit_test_setup_teardown(takes_dependent_columns, set_up, tear_down),
      cmocka_unit_test_setup_teardown(same_bits_with_any_threads, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_large_cores, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
