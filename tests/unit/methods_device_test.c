/* Prediction, anomalies, projection and updates on a device (the program's argument, default the
 * CPU): values and rows by their definitions in wide precision, updates as on the CPU.
 *
 * Models are positive, and in the tests that solve equations components share no index of a mode:
 * the normal equations are diagonal, every result is a quotient of sums of positive terms, and its
 * relative error is at most the roundings that it went through. */
#include "als_fixture.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *kind = "cpu";

enum { MOST_ORDER = 8, NNZ = 300 };

static const uint64_t dims[MOST_ORDER] = {40, 9, 1, 14, 5, 3, 2, 4};
static const uint64_t ranks[] = {1, 3, 7, 17, 33};
enum { RANKS = sizeof ranks / sizeof *ranks };

static polyad_context *context_on(const char *device) {
  polyad_context *context = cpu_context(2);
  ALS_OK(context, polyad_set_device(context, device));
  return context;
}

static void check_device(const char *device) {
  assert_int_equal(strncmp(device, kind, strlen(kind)), 0);
}

static uint64_t index_of(const polyad_tensor *x, int mode, uint64_t q) {
  const void *index = polyad_tensor_indices(x, mode);
  return polyad_tensor_index_bytes(x, mode) == 4 ? ((const uint32_t *)index)[q]
                                                 : ((const uint64_t *)index)[q];
}

static long double component_at(polyad_ktensor *model, const polyad_tensor *x, uint64_t q,
                                uint64_t r, int but) {
  uint64_t rank = polyad_ktensor_rank(model);
  long double product = ((const double *)polyad_ktensor_weights(model))[r];
  for (int n = 0; n < polyad_ktensor_order(model); ++n)
    if (n != but)
      product *= ((const double *)polyad_ktensor_factor(model, n))[index_of(x, n, q) * rank + r];
  return product;
}

/* The model's value; all terms are positive. */
static long double value_at(polyad_ktensor *model, const polyad_tensor *x, uint64_t q) {
  long double sum = 0;
  for (uint64_t r = 0; r < polyad_ktensor_rank(model); ++r)
    sum += component_at(model, x, q, r, -1);
  return sum;
}

/* A term is rounded once for every factor, and in every sum that it is part of. */
static double roundings_of_value(polyad_ktensor *model) {
  return (double)polyad_ktensor_order(model) + (double)polyad_ktensor_rank(model) + 2;
}

static void weigh(polyad_ktensor *model) {
  double *weight = polyad_ktensor_weights(model);
  for (uint64_t r = 0; r < polyad_ktensor_rank(model); ++r)
    weight[r] = 1 + (double)r / 4;
}

static void predicts_by_definition(void **state) {
  (void)state;
  for (int order = 1; order <= MOST_ORDER; ++order)
    for (int k = 0; k < RANKS; ++k) {
      polyad_context *context = context_on(kind);
      polyad_tensor *x = als_random_tensor(context, order, dims, NNZ, 3 + (uint64_t)k, 1);
      polyad_ktensor *model = als_random_model(context, order, dims, ranks[k], 7, 1);
      double values[NNZ];
      polyad_prediction_score score;
      weigh(model);
      ALS_OK(context, polyad_ktensor_predict(context, model, x, values, 0, 10, &score));
      check_device(score.device);
      double unit = 0.5 * DBL_EPSILON * roundings_of_value(model);
      for (uint64_t q = 0; q < polyad_tensor_nnz(x); ++q) {
        long double wanted = value_at(model, x, q);
        if (!(fabsl(values[q] - wanted) <= unit * wanted))
          fail_msg("order %d, rank %d: %.17g, expected %.17Lg", order, (int)ranks[k], values[q],
                   wanted);
      }
      polyad_ktensor_destroy(model);
      polyad_tensor_destroy(x);
      context_end(context);
    }
}

/* Weights beyond the range of the products they are part of. */
static void predicts_with_extreme_weights(void **state) {
  (void)state;
  polyad_context *context = context_on(kind);
  polyad_tensor *x = als_random_tensor(context, 3, dims, NNZ, 5, 1);
  polyad_ktensor *model = als_random_model(context, 3, dims, 2, 7, 1);
  double values[NNZ], *weight = polyad_ktensor_weights(model);
  weight[0] = weight[1] = 0x1p-1000;
  for (uint64_t i = 0; i < dims[0] * 2; ++i)
    ((double *)polyad_ktensor_factor(model, 0))[i] *= 0x1p1000;
  ALS_OK(context, polyad_ktensor_predict(context, model, x, values, 0, 10, NULL));
  double unit = 0.5 * DBL_EPSILON * roundings_of_value(model);
  for (uint64_t q = 0; q < polyad_tensor_nnz(x); ++q)
    assert_true(fabsl(values[q] - value_at(model, x, q)) <= unit * value_at(model, x, q));
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(x);
  context_end(context);
}

/* The number of the entry at a cell. */
static uint64_t find_cell(const polyad_tensor *x, const uint64_t *cell) {
  for (uint64_t q = 0; q < polyad_tensor_nnz(x); ++q) {
    bool same = true;
    for (int n = 0; n < polyad_tensor_order(x); ++n)
      same = same && index_of(x, n, q) == cell[n];
    if (same) return q;
  }
  fail_msg("no entry is at this cell");
  return 0;
}

static void anomalies_have_the_models_values(void **state) {
  (void)state;
  for (int order = 1; order <= MOST_ORDER; ++order) {
    polyad_context *context = context_on(kind);
    polyad_tensor *x = als_random_tensor(context, order, dims, NNZ, 3, 1);
    polyad_ktensor *model = als_random_model(context, order, dims, 5, 7, 1);
    polyad_anomaly_options options;
    polyad_anomaly_result result = {.rows = NULL};
    weigh(model);
    polyad_anomaly_options_init(&options);
    options.top = 20;
    for (int poisson = 0; poisson < 2; ++poisson) {
      options.kind = poisson ? POLYAD_KIND_POISSON : POLYAD_KIND_SIGNED;
      ALS_OK(context, polyad_anomalies(context, model, x, &options, &result));
      check_device(result.device);
      assert_true(result.row_count == (polyad_tensor_nnz(x) < 20 ? polyad_tensor_nnz(x) : 20));
      double unit = 0.5 * DBL_EPSILON * roundings_of_value(model);
      for (uint64_t k = 0; k < result.row_count; ++k) {
        const polyad_anomaly *row = &result.rows[k];
        long double wanted = value_at(model, x, find_cell(x, row->index));
        assert_true(fabsl(row->expected - wanted) <= unit * wanted);
      }
    }
    polyad_anomaly_result_clear(&result);
    polyad_ktensor_destroy(model);
    polyad_tensor_destroy(x);
    context_end(context);
  }
}

/* ---- equations ------------------------------------------------------------------------------ */

enum { SOLVED_RANK = 2, SOLVED_ORDER = 4 };
static const uint64_t solved_dims[SOLVED_ORDER] = {30, 8, 11, 6};

/* Where they are `apart`, component r has the indices that are r modulo the rank, of all modes but
 * the first. Equations of counts are diagonal anyway. */
static polyad_ktensor *positive(polyad_context *context, int order, bool apart) {
  polyad_ktensor *model = als_random_model(context, order, solved_dims, SOLVED_RANK, 9, 1);
  for (int n = 1; n < order && apart; ++n)
    for (uint64_t i = 0; i < solved_dims[n]; ++i)
      for (uint64_t r = 0; r < SOLVED_RANK; ++r)
        if (i % SOLVED_RANK != r)
          ((double *)polyad_ktensor_factor(model, n))[i * SOLVED_RANK + r] = 0;
  weigh(model);
  return model;
}

/* Roundings of a sum over nonzeros, a Gram matrix, and what is made of them. */
static double roundings_of_row(int order) { return NNZ + 30 + 4 * (double)order + 8; }

/* Entry (i, r) of the first mode's factor: that of least squares, from a diagonal system. */
static long double row_entry(polyad_ktensor *model, const polyad_tensor *x, uint64_t i,
                             uint64_t r) {
  long double right = 0, square = ((const double *)polyad_ktensor_weights(model))[r];
  square *= square;
  for (int n = 1; n < polyad_ktensor_order(model); ++n) {
    long double sum = 0;
    for (uint64_t k = 0; k < solved_dims[n]; ++k) {
      long double a = ((const double *)polyad_ktensor_factor(model, n))[k * SOLVED_RANK + r];
      sum += a * a;
    }
    square *= sum;
  }
  for (uint64_t q = 0; q < polyad_tensor_nnz(x); ++q)
    if (index_of(x, 0, q) == i)
      right += ((const double *)polyad_tensor_values(x))[q] * component_at(model, x, q, r, 0);
  return right / square;
}

static void projects_by_definition(void **state) {
  (void)state;
  for (int order = 2; order <= SOLVED_ORDER; ++order) {
    polyad_context *context = context_on(kind);
    polyad_tensor *x = als_random_tensor(context, order, solved_dims, NNZ, 3, 1);
    polyad_ktensor *model = positive(context, order, true), *projected = NULL;
    polyad_project_options options;
    polyad_project_info info;
    polyad_project_options_init(&options);
    options.kind = POLYAD_KIND_SIGNED;
    ALS_OK(context, polyad_project(context, model, x, &options, &projected, &info));
    check_device(info.device);
    const double *found = polyad_ktensor_factor(projected, 0);
    for (uint64_t i = 0; i < solved_dims[0]; ++i)
      for (uint64_t r = 0; r < SOLVED_RANK; ++r) {
        long double wanted = row_entry(model, x, i, r);
        double bound = 0.5 * DBL_EPSILON * roundings_of_row(order);
        if (!(fabsl(found[i * SOLVED_RANK + r] - wanted) <= bound * wanted))
          fail_msg("order %d, row %d: %.17g, expected %.17Lg", order, (int)i,
                   found[i * SOLVED_RANK + r], wanted);
      }
    polyad_ktensor_destroy(projected);
    polyad_ktensor_destroy(model);
    polyad_tensor_destroy(x);
    context_end(context);
  }
}

/* The model after new slices of the first mode. */
static polyad_ktensor *updated(polyad_context *context, polyad_model_kind of, int order,
                               polyad_update_info *info) {
  polyad_tensor *x = als_random_tensor(context, order, solved_dims, NNZ, 3, 1);
  polyad_ktensor *model = positive(context, order, of == POLYAD_KIND_SIGNED), *after = NULL;
  polyad_updater *updater = NULL;
  polyad_update_options options;
  polyad_update_options_init(&options);
  options.kind = of;
  ALS_OK(context, polyad_updater_create(context, model, &options, &updater));
  ALS_OK(context, polyad_updater_add(context, updater, x, NULL, info));
  ALS_OK(context, polyad_updater_model(context, updater, &after));
  polyad_updater_destroy(updater);
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(x);
  return after;
}

/* New rows and their sums, in one round for each mode, go through a row's roundings twice: as the
 * numerator and in the denominator. A Newton step of rows of counts ends within its own tolerance,
 * on both devices in the same way from sums that are added up on the host. */
static void updates_as_the_cpu_does(void **state) {
  (void)state;
  for (int order = 3; order <= SOLVED_ORDER; ++order)
    for (int poisson = 0; poisson < 2; ++poisson) {
      polyad_model_kind of = poisson ? POLYAD_KIND_POISSON : POLYAD_KIND_SIGNED;
      polyad_context *there = context_on(kind), *here = context_on("cpu");
      polyad_update_info info, ignored;
      polyad_ktensor *found = updated(there, of, order, &info);
      polyad_ktensor *wanted = updated(here, of, order, &ignored);
      check_device(info.device);
      assert_string_equal(ignored.device, "cpu");
      double bound = 2 * 0.5 * DBL_EPSILON * (2 * order + 1) * roundings_of_row(order);
      for (int n = 0; n < order; ++n) {
        const double *a = polyad_ktensor_factor(found, n), *b = polyad_ktensor_factor(wanted, n);
        for (uint64_t k = 0; k < polyad_ktensor_dims(found)[n] * SOLVED_RANK; ++k)
          if (!(fabs(a[k] - b[k]) <= bound * fabs(b[k])))
            fail_msg("order %d, mode %d: %.17g, expected %.17g", order, n, a[k], b[k]);
      }
      polyad_ktensor_destroy(found);
      polyad_ktensor_destroy(wanted);
      context_end(there);
      context_end(here);
    }
}

int main(int count, char **arguments) {
  if (count > 1) kind = arguments[1];
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  const char *why = polyad_device_why_not(context, kind);
  bool missing = why[0] != '\0';
  if (missing) fprintf(stderr, "skipped: %s\n", why);
  polyad_context_destroy(context);
  if (missing) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(predicts_by_definition),
      cmocka_unit_test(predicts_with_extreme_weights),
      cmocka_unit_test(anomalies_have_the_models_values),
      cmocka_unit_test(projects_by_definition),
      cmocka_unit_test(updates_as_the_cpu_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
