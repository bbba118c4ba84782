/* Tucker tensors: entries, norm and fit against their definitions; text that comes back bit for
 * bit. */
#include "harness.h"

#include "core/random.h"
#include "inputs.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t dims[] = {5, 4, 3}, ranks[] = {2, 3, 2};
enum { CELLS = 60 };

static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return left != 0;
}

static double draw(uint64_t stream, uint64_t k) {
  return (double)(float)(pd_random_uniform(3, stream, k) - 0.4);
}

static polyad_ttensor *model_of(polyad_type type) {
  polyad_ttensor *model;
  assert_int_equal(polyad_ttensor_create(context, 3, dims, ranks, type, &model), POLYAD_OK);
  assert_int_equal(polyad_ttensor_core_size(model), 12);
  for (int n = -1; n < 3; ++n) {
    void *to = n < 0 ? polyad_ttensor_core(model) : polyad_ttensor_factor(model, n);
    for (uint64_t k = 0; k < (n < 0 ? 12 : dims[n] * ranks[n]); ++k)
      if (type == POLYAD_F64)
        ((double *)to)[k] = draw((uint64_t)(n + 1), k);
      else
        ((float *)to)[k] = (float)draw((uint64_t)(n + 1), k);
  }
  return model;
}

/* By the definition, from the same numbers. */
static long double exact(const uint64_t *at) {
  long double sum = 0;
  for (uint64_t a = 0; a < 2; ++a)
    for (uint64_t b = 0; b < 3; ++b)
      for (uint64_t c = 0; c < 2; ++c)
        sum += (long double)draw(0, (a * 3 + b) * 2 + c) * (long double)draw(1, at[0] * 2 + a) *
               (long double)draw(2, at[1] * 3 + b) * (long double)draw(3, at[2] * 2 + c);
  return sum;
}

static void all_coordinates(uint64_t coordinates[CELLS * 3]) {
  for (uint64_t p = 0; p < CELLS; ++p) {
    coordinates[3 * p] = p / 12;
    coordinates[3 * p + 1] = p / 3 % 4;
    coordinates[3 * p + 2] = p % 3;
  }
}

static void test_values_and_norm(void **state) {
  (void)state;
  uint64_t coordinates[CELLS * 3];
  double values[CELLS], norm;
  all_coordinates(coordinates);
  for (int type = 0; type < 2; ++type) {
    polyad_ttensor *model = model_of(type == 0 ? POLYAD_F64 : POLYAD_F32);
    assert_int_equal(polyad_ttensor_values(context, model, CELLS, coordinates, values), POLYAD_OK);
    long double square = 0;
    for (uint64_t p = 0; p < CELLS; ++p) {
      long double expected = exact(coordinates + 3 * p);
      assert_true(fabsl((long double)values[p] - expected) <= 40 * DBL_EPSILON);
      square += expected * expected;
    }
    assert_int_equal(polyad_ttensor_norm(context, model, &norm), POLYAD_OK);
    assert_true(fabsl((long double)norm - sqrtl(square)) <= 40 * DBL_EPSILON * sqrtl(square));
    coordinates[3 * 7 + 1] = 4;
    assert_int_equal(polyad_ttensor_values(context, model, CELLS, coordinates, values),
                     POLYAD_INVALID_ARGUMENT);
    assert_non_null(strstr(polyad_last_error(context), "coordinate 7 has index 4 in mode 1"));
    all_coordinates(coordinates);
    polyad_ttensor_destroy(model);
  }
}

/* The tensor of the model's entries, `kept` of them, plus `noise` at the first. */
static polyad_tensor *tensor_of(polyad_ttensor *model, uint64_t kept, double noise) {
  uint64_t coordinates[CELLS * 3];
  double values[CELLS];
  all_coordinates(coordinates);
  assert_int_equal(polyad_ttensor_values(context, model, CELLS, coordinates, values), POLYAD_OK);
  values[0] += noise;
  polyad_tensor_input input = input_of_rows(3, dims, kept, POLYAD_U64, coordinates, values);
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  return tensor;
}

static void test_fit(void **state) {
  (void)state;
  polyad_ttensor *model = model_of(POLYAD_F64);
  uint64_t coordinates[CELLS * 3];
  double norm, fit;
  all_coordinates(coordinates);
  assert_int_equal(polyad_ttensor_norm(context, model, &norm), POLYAD_OK);
  const struct {
    uint64_t kept;
    double noise;
  } cases[] = {{CELLS, 0}, {CELLS, 1e-10}, {CELLS, 0.5}, {CELLS - 20, 0}};
  for (int c = 0; c < 4; ++c) {
    polyad_tensor *tensor = tensor_of(model, cases[c].kept, cases[c].noise);
    long double square = (long double)cases[c].noise * (long double)cases[c].noise, x = 0;
    for (uint64_t p = 0; p < CELLS; ++p) {
      long double m = exact(coordinates + 3 * p);
      long double value = p == 0 ? m + (long double)cases[c].noise : m;
      if (p < cases[c].kept)
        x += value * value;
      else
        square += m * m;
    }
    assert_int_equal(polyad_ttensor_fit(context, model, tensor, &fit), POLYAD_OK);
    double residual = (double)sqrtl(square / x);
    assert_true(fabs((1 - fit) - residual) <= 1e-6 * residual + 1e-15);
    polyad_tensor_destroy(tensor);
  }
  polyad_ttensor_destroy(model);
}

static void test_text(void **state) {
  (void)state;
  char folder[] = "/tmp/polyad-ttensor-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model.txt", folder);
  for (int type = 0; type < 2; ++type) {
    polyad_type precision = type == 0 ? POLYAD_F64 : POLYAD_F32;
    size_t width = type == 0 ? 8 : 4;
    polyad_ttensor *model = model_of(precision), *read = NULL;
    assert_int_equal(polyad_ttensor_write(context, model, path), POLYAD_OK);
    if (polyad_ttensor_read(context, path, precision, &read) != POLYAD_OK)
      fail_msg("%s", polyad_last_error(context));
    assert_memory_equal(polyad_ttensor_core(model), polyad_ttensor_core(read), 12 * width);
    for (int n = 0; n < 3; ++n) {
      assert_int_equal(polyad_ttensor_ranks(read)[n], ranks[n]);
      assert_memory_equal(polyad_ttensor_factor(model, n), polyad_ttensor_factor(read, n),
                          (size_t)(dims[n] * ranks[n]) * width);
    }
    assert_null(polyad_ttensor_factor(read, 3));
    polyad_ttensor_destroy(model);
    polyad_ttensor_destroy(read);
  }
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void test_refused(void **state) {
  (void)state;
  polyad_ttensor *model = NULL;
  const uint64_t huge[] = {UINT64_C(1) << 33, UINT64_C(1) << 33, 2}, none[] = {1, 0, 1};
  assert_int_equal(polyad_ttensor_create(context, 3, dims, huge, POLYAD_F64, &model),
                   POLYAD_OVERFLOW);
  assert_int_equal(polyad_ttensor_create(context, 3, dims, none, POLYAD_F64, &model),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ttensor_create(context, 0, dims, ranks, POLYAD_F64, &model),
                   POLYAD_INVALID_ARGUMENT);
  assert_null(model);
  polyad_ttensor_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_values_and_norm, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_fit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
