/* The search along a direction that PDNR and PQNR make for one row. */
#include "harness.h"

#include "algorithms/apr_rows.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { RANK = 2, COUNT = 3 };

struct problem {
  double pi[COUNT * RANK], x[COUNT], dots[COUNT];
  double m[RANK], gradient[RANK], phi[RANK], direction[RANK], next[RANK], before[RANK];
  struct pd_apr_row row;
};

static void start(struct problem *p, double first, double second) {
  static const double pi[] = {0.5, 0.25, 0.125, 0.5, 0.375, 0.25}, x[] = {3, 1, 2};
  memset(p, 0, sizeof *p);
  memcpy(p->pi, pi, sizeof pi);
  memcpy(p->x, x, sizeof x);
  p->m[0] = first;
  p->m[1] = second;
  p->row = (struct pd_apr_row){.count = COUNT,
                               .rank = RANK,
                               .loss = {PD_LOSS_POISSON, 1e-10},
                               .pi = p->pi,
                               .x = p->x,
                               .dots = p->dots,
                               .m = p->m,
                               .gradient = p->gradient,
                               .phi = p->phi,
                               .direction = p->direction,
                               .next = p->next};
  (void)pd_apr_row_gradient(&p->row);
  memcpy(p->before, p->m, sizeof p->before);
}

/* sum of m - sum of x log(pi . m) */
static double objective(const struct problem *p, const double *m) {
  double value = m[0] + m[1];
  for (int j = 0; j < COUNT; ++j)
    value -= p->x[j] * log(p->pi[2 * j] * m[0] + p->pi[2 * j + 1] * m[1]);
  return value;
}

static bool near(double a, double b) { return fabs(a - b) <= 64 * DBL_EPSILON * (1 + fabs(b)); }

/* The largest step of 1, 1/2, 1/4, ... that decreases the objective by enough (Armijo's rule, with
 * the slope of the projected step); 0: none of ten. */
static double expected_step(const struct problem *p) {
  double step = 1;
  for (int k = 0; k < 10; ++k, step /= 2) {
    double next[RANK], slope = 0;
    for (int r = 0; r < RANK; ++r) {
      next[r] = fmax(0, p->before[r] + step * p->direction[r]);
      slope += p->gradient[r] * (next[r] - p->before[r]);
    }
    if (slope <= 0 && next[0] + next[1] >= 1e-7 &&
        objective(p, next) <= objective(p, p->before) + 1e-4 * slope)
      return step;
  }
  return 0;
}

static void the_first_step_that_is_enough_is_taken(void **state) {
  (void)state;
  int halvings = 0;
  for (double length = 0.25; length <= 1024; length *= 2) { /* longer ones must be cut */
    struct problem p;
    start(&p, 1, 2);
    for (int r = 0; r < RANK; ++r)
      p.direction[r] = -length * p.gradient[r];
    double step = expected_step(&p);
    struct pd_apr_search found = pd_apr_row_search(&p.row);
    assert_true(near(found.before, objective(&p, p.before)));
    if (step == 0) continue;
    for (int r = 0; r < RANK; ++r)
      assert_true(near(p.m[r], fmax(0, p.before[r] + step * p.direction[r])));
    assert_true(objective(&p, p.m) < objective(&p, p.before));
    double unit[RANK];
    for (int r = 0; r < RANK; ++r)
      unit[r] = fmax(0, p.before[r] + p.direction[r]);
    if (step == 1) assert_true(near(found.unit, objective(&p, unit)));
    halvings += step < 1;
  }
  assert_true(halvings >= 3); /* the cases reach what they are for */
}

/* Uphill, or so far that ten halvings do not help: the multiplicative update, which never makes it
 * worse. */
static void without_a_step_the_update_is_multiplicative(void **state) {
  (void)state;
  for (int c = 0; c < 3; ++c) {
    struct problem p;
    start(&p, 1, 2);
    for (int r = 0; r < RANK; ++r)
      p.direction[r] = c == 0 ? p.gradient[r] : c == 1 ? -p.m[r] * 1e6 : -1e7 * p.gradient[r];
    assert_true(expected_step(&p) == 0);
    struct pd_apr_search found = pd_apr_row_search(&p.row);
    for (int r = 0; r < RANK; ++r)
      assert_true(p.m[r] == p.before[r] * p.phi[r]);
    assert_true(found.unit == found.before || c == 2);
    assert_true(objective(&p, p.m) <= objective(&p, p.before));
  }
}

static void gradient_and_violation(void **state) {
  (void)state;
  struct problem p;
  start(&p, 1, 2);
  double violation = 0;
  for (int r = 0; r < RANK; ++r) {
    double phi = 0;
    for (int j = 0; j < COUNT; ++j)
      phi += p.x[j] * p.pi[2 * j + r] / (p.pi[2 * j] * p.m[0] + p.pi[2 * j + 1] * p.m[1]);
    assert_true(near(p.phi[r], phi) && near(p.gradient[r], 1 - phi));
    violation = fmax(violation, fabs(fmin(p.m[r], 1 - phi)));
  }
  assert_true(near(pd_apr_row_gradient(&p.row), violation));
  p.m[0] = NAN;
  assert_true(isnan(pd_apr_row_gradient(&p.row)));
  start(&p, 1, 2);
  p.x[COUNT - 1] = NAN;
  assert_true(isnan(pd_apr_row_gradient(&p.row)));
  start(&p, 0, 0); /* divided by epsilon, not by zero */
  assert_true(isfinite(pd_apr_row_gradient(&p.row)));
}

static void active_are_those_pushed_to_zero(void **state) {
  (void)state;
  struct problem p;
  bool active[RANK];
  start(&p, 1, 2);
  p.m[0] = 1e-9;
  p.m[1] = 1e-9;
  p.gradient[0] = 1;
  p.gradient[1] = -1;
  pd_apr_row_active(&p.row, 1e-8, active);
  assert_true(active[0] && !active[1]);
  pd_apr_row_active(&p.row, 1e-10, active);
  assert_false(active[0]);
  p.m[0] = 1e-8; /* the limit itself is near enough */
  pd_apr_row_active(&p.row, 1e-8, active);
  assert_true(active[0]);
  p.m[1] = 0; /* the step's length is the nearer limit */
  p.gradient[1] = 0;
  p.gradient[0] = 1e-9;
  pd_apr_row_active(&p.row, 1e-8, active);
  assert_false(active[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_step_that_is_enough_is_taken),
      cmocka_unit_test(without_a_step_the_update_is_multiplicative),
      cmocka_unit_test(gradient_and_violation),
      cmocka_unit_test(active_are_those_pushed_to_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
