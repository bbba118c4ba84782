/* Kruskal tensors against tensors and each other: norm, products, fit, values, match score. */
#include "ktensor_fixture.h"

#include "inputs.h"
#include "tensor/columns.h"
#include "tensor/ktensor_fit.h"
#include <float.h>

/* A tensor that holds `value(cell)` wherever it is not zero. */
static polyad_tensor *tensor_of(const polyad_ktensor *m, double (*value)(uint64_t, long double)) {
  uint64_t cells = cells_of(m), *index = malloc(cells * (uint64_t)m->order * 8);
  double *values = malloc(cells * 8);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    uint64_t *coordinate = index + cell * (uint64_t)m->order;
    cell_coordinate(m, cell, coordinate);
    values[cell] = value(cell, exact_value(m, coordinate));
  }
  polyad_tensor_input input = input_of_rows(m->order, m->dims, cells, POLYAD_U64, index, values);
  polyad_tensor *x;
  assert_int_equal(polyad_tensor_create(context, &input, &x), POLYAD_OK);
  free(index);
  free(values);
  return x;
}

static double sparse_value(uint64_t cell, long double value) {
  (void)value;
  return pd_random_u64(3, 0, cell) % 5 == 0 ? pd_random_normal(3, 1, cell) : 0;
}

/* The model, disturbed by one part in 10^8 of a value of ordinary size. */
#define DISTURBANCE 0x1p-27
static double disturbed_value(uint64_t cell, long double value) {
  return (double)value + (value == 0 ? 0 : cell % 2 == 0 ? DISTURBANCE : -DISTURBANCE);
}

struct shape {
  int order;
  uint64_t dims[8];
  uint64_t rank;
};

static const struct shape shapes[] = {{1, {50}, 3},          {2, {31, 40}, 1},
                                      {3, {9, 14, 11}, 7},   {3, {40, 30, 20}, 65},
                                      {4, {5, 1, 6, 7}, 16}, {8, {2, 3, 2, 2, 3, 2, 2, 2}, 5},
                                      {3, {3, 4, 5}, 100}};

/* Norm, inner product, fit and values against sums over all cells in long double. */
static void agree_with_all_cells(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof shapes / sizeof *shapes; ++c)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      const struct shape *shape = &shapes[c];
      polyad_ktensor *m =
          random_model(shape->order, shape->dims, shape->rank, (polyad_type)type, c);
      polyad_tensor *x = tensor_of(m, sparse_value);
      uint64_t cells = cells_of(m);
      uint64_t *coordinates = malloc(cells * (uint64_t)m->order * 8);
      double *values = malloc(cells * 8);
      long double squares = 0, product = 0, residual = 0, tensor_squares = 0, magnitude = 0;
      for (uint64_t cell = 0; cell < cells; ++cell) {
        uint64_t *coordinate = coordinates + cell * (uint64_t)m->order;
        cell_coordinate(m, cell, coordinate);
        long double value = exact_value(m, coordinate), other = sparse_value(cell, 0);
        squares += value * value;
        product += value * other;
        magnitude += fabsl(other);
        residual += (value - other) * (value - other);
        tensor_squares += other * other;
      }
      assert_int_equal(polyad_ktensor_values(context, m, cells, coordinates, values), POLYAD_OK);
      double largest = 2 * (double)m->rank * pow(0.5, m->order); /* bound on a model value */
      double unit = ((double)m->rank + m->order + 2) * DBL_EPSILON;
      for (uint64_t cell = 0; cell < cells; ++cell)
        assert_true(fabsl(values[cell] - exact_value(m, coordinates + cell * (uint64_t)m->order)) <=
                    unit * largest);
      double norm, inner, fit;
      assert_int_equal(polyad_ktensor_norm(context, m, &norm), POLYAD_OK);
      assert_int_equal(polyad_ktensor_innerprod(context, m, x, &inner), POLYAD_OK);
      assert_int_equal(polyad_ktensor_fit(context, m, x, &fit), POLYAD_OK);
      /* Gram entries: the longest mode's rounding, R^2 terms, each at most largest^2 / R^2. */
      double rows = 64;
      double bound =
          (rows + (double)(m->rank * m->rank)) * DBL_EPSILON * largest * largest * (double)cells;
      assert_true(fabsl((long double)norm * norm - squares) <= bound);
      double product_bound = (unit + (double)cells * DBL_EPSILON) * largest * (double)magnitude;
      assert_true(fabsl(inner - product) <= product_bound);
      long double exact_fit = 1 - sqrtl(residual / tensor_squares);
      double slope = 0.5 / (double)sqrtl(residual * tensor_squares);
      assert_true(fabsl(fit - exact_fit) <=
                  (bound + 2 * product_bound + 1e-15 * (double)tensor_squares) * slope);
      free(coordinates);
      free(values);
      polyad_tensor_destroy(x);
      polyad_ktensor_destroy(m);
    }
}

static void results_do_not_depend_on_threads(void **state) {
  (void)state;
  const uint64_t dims[] = {60, 70, 50};
  polyad_ktensor *m = random_model(3, dims, 20, POLYAD_F64, 8);
  polyad_tensor *x = tensor_of(m, sparse_value);
  double first[3] = {0};
  for (int threads = 1; threads <= 6; ++threads) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    double now[3];
    assert_int_equal(polyad_ktensor_norm(context, m, &now[0]), POLYAD_OK);
    assert_int_equal(polyad_ktensor_innerprod(context, m, x, &now[1]), POLYAD_OK);
    assert_int_equal(polyad_ktensor_fit(context, m, x, &now[2]), POLYAD_OK);
    if (threads == 1) memcpy(first, now, sizeof now);
    assert_memory_equal(first, now, sizeof now);
  }
  polyad_tensor_destroy(x);
  polyad_ktensor_destroy(m);
}

/* A residual of 1e-8 is lost in the difference of the norms, but not here; over few cells and,
 * with factors that are zero but in a corner, in a tensor too large to visit. */
static void small_residuals_are_seen(void **state) {
  (void)state;
  static const uint64_t sides[] = {20, 90};
  for (int c = 0; c < 2; ++c) {
    const uint64_t dims[] = {sides[c], sides[c], sides[c]};
    polyad_ktensor *m = random_model(3, dims, 4, POLYAD_F64, 5);
    for (int n = 0; c == 1 && n < 3; ++n)
      for (uint64_t e = 6 * 4; e < sides[c] * 4; ++e)
        set(m->factor[n], m->type, e, 0);
    polyad_tensor *x = tensor_of(m, disturbed_value);
    double relative, norm = polyad_tensor_norm(x);
    assert_int_equal(pd_ktensor_residual(context, m, x, &relative, NULL), POLYAD_OK);
    double expected = DISTURBANCE * sqrt((double)polyad_tensor_nnz(x)) / norm;
    /* Each difference of 2^-27 carries the rounding of values of at most 1; what lies between the
     * nonzeros is known to a few thousand units of the longest type. */
    double nonzeros = 16 * DBL_EPSILON / DISTURBANCE;
    double between = c == 0 ? 0 : 4096 * (double)LDBL_EPSILON / (expected * expected);
    assert_true(fabs(relative / expected - 1) <= nonzeros + between);
    double fit;
    assert_int_equal(polyad_ktensor_fit(context, m, x, &fit), POLYAD_OK);
    assert_true(fit == 1 - relative);
    polyad_tensor_destroy(x);
    polyad_ktensor_destroy(m);
  }
}

/* Two components of norms about 2^27 times the model's cancel: the difference of the norms knows
 * nothing of the residual, which is of ordinary size; over few cells, and in a tensor too large to
 * visit. */
static void cancelling_components_are_summed(void **state) {
  (void)state;
  static const uint64_t sides[] = {20, 90};
  for (int c = 0; c < 2; ++c) {
    const uint64_t dims[] = {sides[c], sides[c], sides[c]};
    polyad_ktensor *m = random_model(3, dims, 2, POLYAD_F64, 6);
    for (int n = 0; n < 3; ++n)
      for (uint64_t i = 0; i < sides[c]; ++i) {
        if (i >= 12) set(m->factor[n], m->type, 2 * i, 0);
        set(m->factor[n], m->type, 2 * i + 1,
            get(m->factor[n], m->type, 2 * i) * (1 + (n == 2 ? 0x1p-30 * (double)(i % 5) : 0)));
      }
    set(m->weights, m->type, 0, 0x1p30);
    set(m->weights, m->type, 1, -0x1p30);
    polyad_tensor *x = tensor_of(m, sparse_value);
    uint64_t coordinate[3];
    long double squares = 0, residual = 0;
    for (uint64_t cell = 0; cell < cells_of(m); ++cell) {
      cell_coordinate(m, cell, coordinate);
      long double other = sparse_value(cell, 0), value = exact_value(m, coordinate);
      squares += other * other;
      residual += (value - other) * (value - other);
    }
    double relative, bound;
    assert_int_equal(pd_ktensor_residual(context, m, x, &relative, &bound), POLYAD_OK);
    long double missed = fabsl(relative - sqrtl(residual / squares));
    if (!(missed <= bound && bound < 1e-6))
      fail_msg("residual %.12g, off by %.3Lg; bound %.3g", relative, missed, bound);
    polyad_tensor_destroy(x);
    polyad_ktensor_destroy(m);
  }
}

static void scale_tensor(polyad_tensor *x, double scale) {
  for (uint64_t p = 0; p < x->nnz; ++p)
    ((double *)x->values)[p] *= scale;
}

/* Powers of two change nothing but exponents. */
static void fit_has_the_range_of_doubles(void **state) {
  (void)state;
  const uint64_t dims[] = {6, 5, 7};
  polyad_ktensor *m = random_model(3, dims, 3, POLYAD_F64, 2);
  polyad_tensor *x = tensor_of(m, sparse_value);
  double fit, norm, product;
  assert_int_equal(polyad_ktensor_fit(context, m, x, &fit), POLYAD_OK);
  assert_int_equal(polyad_ktensor_norm(context, m, &norm), POLYAD_OK);
  assert_int_equal(polyad_ktensor_innerprod(context, m, x, &product), POLYAD_OK);
  static const double scales[] = {0x1p900, 0x1p-900};
  for (int c = 0; c < 2; ++c)
    for (int where = 0; where < 2; ++where) { /* in the weights, or in a factor */
      double scaled_fit, scaled_norm, scaled_product;
      void *numbers = where == 0 ? m->weights : m->factor[1];
      uint64_t count = where == 0 ? 3 : 15;
      for (uint64_t e = 0; e < count; ++e)
        set(numbers, m->type, e, get(numbers, m->type, e) * scales[c]);
      assert_int_equal(polyad_ktensor_norm(context, m, &scaled_norm), POLYAD_OK);
      assert_true(fabs(scaled_norm / scales[c] / norm - 1) <= 64 * DBL_EPSILON);
      assert_int_equal(polyad_ktensor_innerprod(context, m, x, &scaled_product), POLYAD_OK);
      assert_true(fabs(scaled_product / scales[c] / product - 1) <= 1e4 * DBL_EPSILON);
      scale_tensor(x, scales[c]);
      assert_int_equal(polyad_ktensor_fit(context, m, x, &scaled_fit), POLYAD_OK);
      assert_true(fabs(scaled_fit - fit) <= 1e4 * DBL_EPSILON);
      scale_tensor(x, 1 / scales[c]);
      for (uint64_t e = 0; e < count; ++e)
        set(numbers, m->type, e, get(numbers, m->type, e) / scales[c]);
    }
  polyad_tensor_destroy(x);
  polyad_ktensor_destroy(m);
}

static void fit_of_nothing(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 3}, other[] = {2, 4};
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 2;
  input.dims = dims;
  polyad_tensor *x;
  assert_int_equal(polyad_tensor_create(context, &input, &x), POLYAD_OK);
  polyad_ktensor *m = model(2, dims, 1, POLYAD_F64), *longer = model(2, other, 1, POLYAD_F64);
  polyad_ktensor *shorter = model(1, dims, 1, POLYAD_F64);
  double fit;
  expect_error(polyad_ktensor_fit(context, m, x, &fit), POLYAD_NUMERICAL, "zero");
  expect_error(polyad_ktensor_fit(context, longer, x, &fit), POLYAD_MISMATCH, "mode 1");
  expect_error(polyad_ktensor_fit(context, shorter, x, &fit), POLYAD_MISMATCH, "order 1");
  expect_error(polyad_ktensor_fit(context, m, x, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  expect_error(polyad_ktensor_fit(context, NULL, x, &fit), POLYAD_INVALID_ARGUMENT, "NULL");
  expect_error(polyad_ktensor_innerprod(context, m, x, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  expect_error(polyad_ktensor_norm(context, m, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  expect_error(polyad_ktensor_score(context, m, longer, 1, &fit, NULL), POLYAD_MISMATCH, "mode 1");
  expect_error(polyad_ktensor_score(context, m, shorter, 1, &fit, NULL), POLYAD_MISMATCH, "orders");
  expect_error(polyad_ktensor_score(context, m, NULL, 1, &fit, NULL), POLYAD_INVALID_ARGUMENT,
               "NULL");
  expect_error(polyad_ktensor_score(context, m, m, 1, NULL, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  const uint64_t outside[] = {0, 0, 1, 3};
  double values[2];
  expect_error(polyad_ktensor_values(context, m, 2, outside, values), POLYAD_INVALID_ARGUMENT,
               "coordinate 1 has index 3 in mode 1");
  expect_error(polyad_ktensor_values(context, NULL, 2, outside, values), POLYAD_INVALID_ARGUMENT,
               "NULL");
  double norm;
  assert_int_equal(polyad_ktensor_norm(context, m, &norm), POLYAD_OK);
  assert_true(norm == 0);
  polyad_ktensor_destroy(m);
  polyad_ktensor_destroy(longer);
  polyad_ktensor_destroy(shorter);
  polyad_tensor_destroy(x);
}

/* Components taken in another order, turned round in two modes and rescaled are the same. */
enum { RANK_MOST = 2 * PD_COLUMN_CHUNK + 1 };

static void sees_through_forms(uint64_t rank) {
  const uint64_t dims[] = {12, 9, 10};
  uint64_t order[RANK_MOST], matching[RANK_MOST];
  for (uint64_t r = 0; r < rank; ++r) /* odd ranks only */
    order[r] = (2 * r + 3) % rank;
  polyad_ktensor *a = random_model(3, dims, rank, POLYAD_F64, 4);
  polyad_ktensor *b = model(3, dims, rank, POLYAD_F64), *part = model(3, dims, 2, POLYAD_F32);
  for (uint64_t r = 0; r < rank; ++r) {
    const double turn[] = {-2, 0x1p-300, -0x1p299};
    set(b->weights, b->type, r, get(a->weights, a->type, order[r]));
    for (int n = 0; n < 3; ++n)
      for (uint64_t i = 0; i < dims[n]; ++i)
        set(b->factor[n], b->type, i * rank + r,
            turn[n] * get(a->factor[n], a->type, i * rank + order[r]));
  }
  for (int n = 0; n < 3; ++n)
    for (uint64_t i = 0; i < dims[n]; ++i)
      for (uint64_t r = 0; r < 2; ++r)
        set(part->factor[n], part->type, i * 2 + r, get(a->factor[n], a->type, i * rank + 4 - r));
  double score;
  for (int weights = 0; weights < 2; ++weights) {
    assert_int_equal(polyad_ktensor_score(context, a, b, weights, &score, matching), POLYAD_OK);
    assert_true(fabs(score - 1) <= 64 * DBL_EPSILON);
    assert_memory_equal(matching, order, (size_t)rank * sizeof *order);
  }
  /* The model with fewer components comes second, whichever way it is given. */
  for (int turn = 0; turn < 2; ++turn) {
    assert_int_equal(
        polyad_ktensor_score(context, turn ? part : a, turn ? a : part, 0, &score, matching),
        POLYAD_OK);
    assert_true(fabs(score - 1) <= 8 * FLT_EPSILON);
    assert_int_equal(matching[0], 4);
    assert_int_equal(matching[1], 3);
  }
  polyad_ktensor_destroy(a);
  polyad_ktensor_destroy(b);
  polyad_ktensor_destroy(part);
}

/* Few components, and more than are looked at together. */
static void score_sees_through_forms(void **state) {
  (void)state;
  sees_through_forms(5);
  sees_through_forms(RANK_MOST);
}

/* Two modes, columns at known angles: congruence (3/5)(4/5), weights 2 and 5. */
static void score_by_hand(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 2};
  polyad_ktensor *a = model(2, dims, 2, POLYAD_F64), *b = model(2, dims, 1, POLYAD_F64);
  const double a_first[] = {1, 0, 0, 0}, a_second[] = {0, 1, 2, 0}; /* second component: zero */
  const double b_first[] = {-3, 4}, b_second[] = {3, 4};
  for (uint64_t e = 0; e < 4; ++e) {
    set(a->factor[0], a->type, e, a_first[e]);
    set(a->factor[1], a->type, e, a_second[e]);
  }
  for (uint64_t e = 0; e < 2; ++e) {
    set(b->factor[0], b->type, e, b_first[e]);
    set(b->factor[1], b->type, e, b_second[e]);
  }
  set(b->weights, b->type, 0, 0.2);
  double score;
  uint64_t matching[1];
  assert_int_equal(polyad_ktensor_score(context, a, b, 0, &score, matching), POLYAD_OK);
  assert_true(fabs(score - 0.48) <= 4 * DBL_EPSILON);
  assert_int_equal(matching[0], 0);
  assert_int_equal(polyad_ktensor_score(context, a, b, 1, &score, NULL), POLYAD_OK);
  assert_true(fabs(score - 0.48 * 0.4) <= 4 * DBL_EPSILON);
  set(a->weights, a->type, 0, 0);
  set(b->weights, b->type, 0, 0);
  assert_int_equal(polyad_ktensor_score(context, a, b, 1, &score, NULL), POLYAD_OK);
  assert_true(fabs(score - 0.48) <= 4 * DBL_EPSILON);
  set(b->factor[0], b->type, 0, NAN);
  assert_int_equal(polyad_ktensor_score(context, a, b, 1, &score, NULL), POLYAD_OK);
  assert_true(score == 0);
  polyad_ktensor_destroy(a);
  polyad_ktensor_destroy(b);
}

struct recipe {
  polyad_tensor_input input;
  double spread; /* of the factor: how far from 1 */
};

static polyad_status use_everything(polyad_context *failing, void *data) {
  const struct recipe *recipe = data;
  polyad_tensor *x = NULL;
  polyad_ktensor *m = NULL;
  double number, values[1];
  polyad_status status = polyad_tensor_create(failing, &recipe->input, &x);
  if (status == POLYAD_OK)
    status = polyad_ktensor_create(failing, 3, recipe->input.dims, 2, POLYAD_F64, &m);
  if (status == POLYAD_OK)
    for (int n = 0; n < 3; ++n)
      set(m->factor[n], m->type, 0, n == 0 ? recipe->spread : 1);
  if (status == POLYAD_OK) status = polyad_ktensor_arrange(failing, m);
  if (status == POLYAD_OK) status = polyad_ktensor_norm(failing, m, &number);
  if (status == POLYAD_OK) status = polyad_ktensor_fit(failing, m, x, &number);
  if (status == POLYAD_OK) status = polyad_ktensor_innerprod(failing, m, x, &number);
  if (status == POLYAD_OK) status = polyad_ktensor_score(failing, m, m, 1, &number, NULL);
  const uint64_t corner[] = {0, 0, 0};
  if (status == POLYAD_OK) status = polyad_ktensor_values(failing, m, 1, corner, values);
  polyad_ktensor_destroy(m);
  polyad_tensor_destroy(x);
  return status;
}

static void allocations_may_fail(void **state) {
  (void)state;
  static const double spreads[] = {1, 0x1p600};
  for (int c = 0; c < 2; ++c) {
    uint32_t zero = 0;
    struct recipe recipe = {.spread = spreads[c]};
    polyad_tensor_input_init(&recipe.input);
    recipe.input.order = 3;
    recipe.input.dims = (uint64_t[]){200, 200, 200};
    recipe.input.nnz = 1;
    recipe.input.index_type = POLYAD_U32;
    for (int n = 0; n < 3; ++n)
      recipe.input.index[n] = &zero;
    recipe.input.values = &spreads[c];
    assert_true(sweep_failures(use_everything, &recipe, 2) > 25);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(agree_with_all_cells),         TEST(results_do_not_depend_on_threads),
      TEST(small_residuals_are_seen),     TEST(cancelling_components_are_summed),
      TEST(fit_has_the_range_of_doubles), TEST(fit_of_nothing),
      TEST(score_sees_through_forms),     TEST(score_by_hand),
      TEST(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
