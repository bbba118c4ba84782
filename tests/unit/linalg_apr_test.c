/* The elementwise steps of CP-APR on the CPU, rows spread over threads: against loops in double,
 * with limits, empty columns and numbers that are not finite wherever they lie. */
#include "harness.h"

#include "core/random.h"
#include "device/device_registry.h"
#include "linalg/linalg.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <string.h>

enum { ROWS = 60000, RANK = 7, THREADS = 3 }; /* enough for three threads */

#define OK(call) assert_int_equal(call, POLYAD_OK)

struct setting {
  polyad_context *context;
  struct pd_linalg_work *work;
  struct pd_matrix x, phi, lambda;
};

static void start(struct setting *s, polyad_type type) {
  OK(polyad_context_create(&s->context));
  OK(polyad_set_threads(s->context, THREADS));
  OK(pd_cpu_linalg.work_create(s->context, &pd_cpu_device, RANK, &s->work));
  OK(pd_matrix_create(s->context, &pd_cpu_device, type, ROWS, RANK, &s->x));
  OK(pd_matrix_create(s->context, &pd_cpu_device, type, ROWS, RANK, &s->phi));
  OK(pd_matrix_create(s->context, &pd_cpu_device, POLYAD_F64, 1, RANK, &s->lambda));
}

static void finish(struct setting *s) {
  pd_matrix_destroy(s->context, &s->x);
  pd_matrix_destroy(s->context, &s->phi);
  pd_matrix_destroy(s->context, &s->lambda);
  pd_cpu_linalg.work_destroy(s->context, s->work);
  assert_int_equal(polyad_memory_in_use(s->context), 0);
  polyad_context_destroy(s->context);
}

static double get(const struct pd_matrix *a, uint64_t i, uint64_t r) {
  uint64_t k = i * a->stride + r;
  return a->type == POLYAD_F64 ? ((const double *)a->data)[k] : (double)((const float *)a->data)[k];
}

static void set(struct pd_matrix *a, uint64_t i, uint64_t r, double value) {
  if (a->type == POLYAD_F64)
    ((double *)a->data)[i * a->stride + r] = value;
  else
    ((float *)a->data)[i * a->stride + r] = (float)value;
}

/* Uniform in [0, most). */
static void fill(struct pd_matrix *a, uint64_t stream, double most) {
  for (uint64_t i = 0; i < ROWS; ++i)
    for (uint64_t r = 0; r < RANK; ++r)
      set(a, i, r, most * pd_random_uniform(3, stream, i * RANK + r));
}

static double fetch(struct setting *s, int which) {
  double scalar[PD_SCALARS];
  OK(pd_cpu_linalg.fetch(s->context, 1, &s->work, &scalar));
  return scalar[which];
}

static double kkt(struct setting *s) {
  OK(pd_cpu_linalg.kkt(s->context, s->work, &s->phi, &s->x));
  return fetch(s, PD_SCALAR_KKT);
}

/* ---- the violation of the KKT conditions ------------------------------------------------------
 */

static void kkt_is_the_largest_of_all_threads(void **state) {
  (void)state;
  static const uint64_t places[] = {0, ROWS / 2, ROWS - 1};
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    struct setting s;
    start(&s, (polyad_type)type);
    fill(&s.x, 1, 0.125);
    fill(&s.phi, 2, 0.5);
    for (size_t k = 0; k < 3; ++k) {
      set(&s.x, places[k], 3, 0.75);
      set(&s.phi, places[k], 3, 0.25); /* min(0.75, 1 - 0.25) */
      assert_true(kkt(&s) == 0.75);
      set(&s.phi, places[k], 3, 3.5); /* min(0.75, 1 - 3.5) */
      assert_true(kkt(&s) == 2.5);
      set(&s.x, places[k], 3, 0);
      set(&s.phi, places[k], 3, 0.5);
      assert_true(kkt(&s) < 0.125);
    }
    finish(&s);
  }
}

/* Whichever thread meets it, before or after others with large violations. */
static void kkt_keeps_nan(void **state) {
  (void)state;
  static const uint64_t places[] = {0, ROWS / 2, ROWS - 1};
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    struct setting s;
    start(&s, (polyad_type)type);
    fill(&s.x, 1, 9);
    fill(&s.phi, 2, 9);
    for (size_t k = 0; k < 3; ++k) {
      double kept = get(&s.phi, places[k], 5), value = get(&s.x, places[k], 5);
      set(&s.phi, places[k], 5, NAN);
      assert_true(isnan(kkt(&s)));
      set(&s.phi, places[k], 5, kept);
      set(&s.x, places[k], 5, NAN);
      assert_true(isnan(kkt(&s)));
      set(&s.x, places[k], 5, value);
      assert_true(isfinite(kkt(&s)));
    }
    finish(&s);
  }
}

/* ---- updates ------------------------------------------------------------------------------------
 */

static void multiply_changes_what_violates(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  fill(&s.x, 1, 1);
  fill(&s.phi, 2, 2);
  set(&s.x, 7, 2, 0.5);
  set(&s.phi, 7, 2, 1.5);
  double violation = kkt(&s);
  OK(pd_cpu_linalg.multiply(s.context, s.work, &s.phi, nextafter(violation, 9), NULL, &s.x));
  assert_true(get(&s.x, 7, 2) == 0.5); /* converged: nothing changes */
  assert_true(fetch(&s, PD_SCALAR_UPDATES) == 0);
  assert_true(kkt(&s) == violation);
  OK(pd_cpu_linalg.multiply(s.context, s.work, &s.phi, violation, NULL, &s.x));
  assert_true(get(&s.x, 7, 2) == 0.75);
  double first = 1 * pd_random_uniform(3, 1, 0), last = pd_random_uniform(3, 1, ROWS * RANK - 1);
  assert_true(get(&s.x, 0, 0) == first * get(&s.phi, 0, 0));
  assert_true(get(&s.x, ROWS - 1, RANK - 1) == last * get(&s.phi, ROWS - 1, RANK - 1));
  OK(pd_cpu_linalg.multiply(s.context, s.work, &s.phi, violation, NULL, &s.x));
  assert_true(fetch(&s, PD_SCALAR_UPDATES) == 2);
  assert_true(fetch(&s, PD_SCALAR_UPDATES) == 0); /* counted since the last fetch */
  finish(&s);
}

static void weigh_shifts_inadmissible_zeros(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  fill(&s.x, 1, 1);
  for (uint64_t i = 0; i < ROWS; ++i)
    for (uint64_t r = 0; r < RANK; ++r) {
      set(&s.phi, i, r, 1);
      if (get(&s.x, i, r) < 0.01) set(&s.x, i, r, 0.01); /* the limit itself is not below it */
    }
  for (uint64_t r = 0; r < RANK; ++r)
    ((double *)s.lambda.data)[r] = (double)(r + 1);
  static const uint64_t places[] = {0, ROWS / 3 + 1, ROWS - 1};
  for (size_t k = 0; k < 3; ++k) {
    set(&s.x, places[k], 0, 0);
    set(&s.phi, places[k], 0, 1.5); /* inadmissible */
    set(&s.x, places[k], 1, 0);     /* phi = 1: admissible */
    set(&s.x, places[k], 2, 0.01);
    set(&s.phi, places[k], 2, 1.5); /* not small enough */
  }
  OK(pd_cpu_linalg.weigh(s.context, s.work, &s.phi, 0.25, 0.01, &s.lambda, &s.x));
  assert_true(fetch(&s, PD_SCALAR_SHIFTED) == 3);
  for (size_t k = 0; k < 3; ++k) {
    assert_true(get(&s.x, places[k], 0) == 0.25);
    assert_true(get(&s.x, places[k], 1) == 0);
    assert_true(get(&s.x, places[k], 2) == 0.01 * 3);
  }
  double kept = get(&s.x, 9, 4);
  OK(pd_cpu_linalg.weigh(s.context, s.work, NULL, 0.25, 0.01, &s.lambda, &s.x));
  assert_true(get(&s.x, 9, 4) == kept * 5);
  assert_true(fetch(&s, PD_SCALAR_SHIFTED) == 0);
  finish(&s);
}

/* ---- norms --------------------------------------------------------------------------------------
 */

/* Columns whose largest entries lie on both sides of 1, one of them empty. */
static void largest_entries_below_1_do_not_scale(void **state) {
  (void)state;
  static const double largest[RANK] = {0.75, 1.5, 0.125, 0, 1, 0.5, 8};
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (uint64_t place = 0; place < ROWS; place += ROWS / 2 - 1) {
      struct setting s;
      start(&s, (polyad_type)type);
      for (uint64_t i = 0; i < ROWS; ++i)
        for (uint64_t r = 0; r < RANK; ++r)
          set(&s.x, i, r, i == place ? -largest[r] : largest[r] / 4);
      OK(pd_cpu_linalg.normalize(s.context, s.work, PD_SCALE_MAX_AT_LEAST_1, &s.x, &s.lambda));
      double mass = 0;
      for (uint64_t r = 0; r < RANK; ++r) {
        double norm = largest[r] > 0 ? fmax(largest[r], 1) : 0, by = norm > 0 ? norm : 1;
        assert_true(((const double *)s.lambda.data)[r] == norm);
        assert_true(fabs(get(&s.x, place, r) + largest[r] / by) <= FLT_EPSILON);
        mass += norm;
      }
      assert_true(fetch(&s, PD_SCALAR_MASS) == mass);
      finish(&s);
    }
}

static void norms_join_all_threads(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  for (int scaling = PD_SCALE_NORM_2; scaling <= PD_SCALE_NORM_1; ++scaling) {
    if (scaling == PD_SCALE_MAX_AT_LEAST_1) continue;
    fill(&s.x, 4, 2);
    for (uint64_t i = 0; i < ROWS; ++i) {
      set(&s.x, i, 3, 0);
      if (i % 2 == 1) set(&s.x, i, 1, -get(&s.x, i, 1));
    }
    long double norm[RANK] = {0};
    double before = get(&s.x, 77, 1);
    for (uint64_t i = 0; i < ROWS; ++i)
      for (uint64_t r = 0; r < RANK; ++r) {
        long double value = (long double)get(&s.x, i, r);
        norm[r] += scaling == PD_SCALE_NORM_1 ? fabsl(value) : value * value;
      }
    OK(pd_cpu_linalg.normalize(s.context, s.work, (enum pd_scaling)scaling, &s.x, &s.lambda));
    for (uint64_t r = 0; r < RANK; ++r) {
      long double expected = scaling == PD_SCALE_NORM_1 ? norm[r] : sqrtl(norm[r]);
      double found = ((const double *)s.lambda.data)[r];
      /* ROWS roundings of sums of numbers of one sign. */
      assert_true(fabsl((long double)found - expected) <= (ROWS + 4) * DBL_EPSILON * expected);
    }
    assert_true(fabs(get(&s.x, 77, 1) * ((const double *)s.lambda.data)[1] - before) <=
                4 * DBL_EPSILON * fabs(before));
    assert_true(((const double *)s.lambda.data)[3] == 0 && get(&s.x, 5, 3) == 0);
  }
  finish(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kkt_is_the_largest_of_all_threads),
      cmocka_unit_test(kkt_keeps_nan),
      cmocka_unit_test(multiply_changes_what_violates),
      cmocka_unit_test(weigh_shifts_inadmissible_zeros),
      cmocka_unit_test(largest_entries_below_1_do_not_scale),
      cmocka_unit_test(norms_join_all_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
