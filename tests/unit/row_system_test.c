/* Normal equations of one row, at the ends of what numbers can be: an answer always comes. */
#include "harness.h"

#include "linalg/cholesky.h"
#include "linalg/row_system.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>

enum { UNKNOWNS = 2 };

static polyad_context *context;
static struct pd_row_system system_of_two;

static int set_up(void **state) {
  (void)state;
  return polyad_context_create(&context) != POLYAD_OK ||
         pd_row_system_create(context, UNKNOWNS, &system_of_two) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  pd_row_system_clear(context, &system_of_two);
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return left != 0;
}

/* One observation h of a value, and one of 2 h: h h^T has rank one. */
static bool solve(double first, double second, double value, double ridge, double *x) {
  struct pd_row_system *system = &system_of_two;
  double ridges[UNKNOWNS] = {ridge, ridge};
  pd_row_system_begin(system);
  for (int k = 0; k < 2; ++k) {
    double *row = system->rows + (size_t)k * system->padded;
    row[0] = (k + 1) * first;
    row[1] = (k + 1) * second;
    system->values[k] = (k + 1) * value;
  }
  pd_row_system_add(system, 2, false);
  return pd_row_system_solve(system, ridges, x);
}

static void a_ridge_is_enough(void **state) {
  (void)state;
  double x[UNKNOWNS];
  assert_false(solve(1, 2, 10, 5, x)); /* (5 h h^T + 5) x = 5 h 10, h = (1, 2) */
  assert_true(fabs(x[0] - 10 / 6.0) < 1e-14 && fabs(x[1] - 20 / 6.0) < 1e-14);
}

static void what_is_singular_gets_a_little(void **state) {
  (void)state;
  double x[UNKNOWNS];
  assert_true(solve(1, 2, 10, 0, x));
  assert_true(fabs(x[0] + 2 * x[1] - 10) < 1e-6);
  assert_true(solve(1e-150, 2e-150, 1e-149, 0, x));
  assert_true(fabs(x[0] + 2 * x[1] - 10) < 1e-6);
}

static void nothing_is_zero(void **state) {
  (void)state;
  double x[UNKNOWNS] = {1, 1};
  assert_false(solve(0, 0, 10, 0, x));
  assert_true(x[0] == 0 && x[1] == 0);
}

/* It took for ever when what is added was 0 or infinite at once. */
static void what_overflows_or_vanishes_ends(void **state) {
  (void)state;
  double x[UNKNOWNS];
  assert_true(solve(1e200, 1e200, 1, 0, x));
  assert_true(!isfinite(x[0]));
  assert_true(solve(1e-160, 1e-160, 1, 0, x)); /* 1e-320: below DBL_MIN */
  assert_true(!isfinite(x[0]));
  assert_true(solve(NAN, 1, 1, 1, x));
  assert_true(!isfinite(x[0]));
}

/* A diagonal of zeros or below: the factor would have NaN. */
static void what_is_not_positive_has_no_factor(void **state) {
  (void)state;
  static const double matrix[][4] = {{0, 0, 0, 0}, {-1, 0, 0, 1}, {1, 0, 0, -1}, {1, 0, 0, 0}};
  double lower[4], inverse[2], ratio = 1;
  for (size_t k = 0; k < sizeof matrix / sizeof *matrix; ++k)
    assert_false(pd_cholesky(2, matrix[k], pd_cholesky_rounding(2), lower, inverse, &ratio));
  assert_true(ratio == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_ridge_is_enough, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_singular_gets_a_little, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nothing_is_zero, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_overflows_or_vanishes_ends, set_up, tear_down),
      cmocka_unit_test(what_is_not_positive_has_no_factor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
