/* What nonnegative CP-ALS does for components that were clipped to zero, and for a first guess that
 * points away from the tensor. */
#include "als_fixture.h"

#include "algorithms/als_state.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 3, RANK = 2 };
static const uint64_t dims[ORDER] = {6, 5, 4};

struct setting {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan *plan;
  polyad_cp_als_options options;
  struct pd_als *als;
};

static void start(struct setting *s, polyad_type precision) {
  memset(s, 0, sizeof *s);
  s->context = cpu_context(2);
  polyad_ktensor *model = als_random_model(s->context, ORDER, dims, RANK, 5, 1);
  s->tensor = als_tensor_of_model(s->context, model);
  polyad_ktensor_destroy(model);
  s->plan = als_plan(s->context, s->tensor, RANK, precision);
  polyad_cp_als_options_init(&s->options);
  s->options.rank = RANK;
  s->options.nonnegative = 1;
}

static void finish(struct setting *s) {
  pd_als_destroy(s->als);
  polyad_plan_destroy(s->plan);
  polyad_tensor_destroy(s->tensor);
  context_end(s->context);
}

static double entry(const struct pd_matrix *a, uint64_t i, uint64_t r) {
  uint64_t k = i * a->stride + r;
  return a->type == POLYAD_F64 ? ((const double *)a->data)[k] : (double)((const float *)a->data)[k];
}

/* ---- the step itself ------------------------------------------------------------------------ */

/* Iteration `iteration` of a run whose second component has weight `weight`. */
static void revive(struct setting *s, int iteration, double weight) {
  ALS_OK(s->context, pd_als_create(s->context, s->plan, &s->options, false, &s->als));
  ALS_OK(s->context, pd_als_start(s->als, 0));
  for (int n = 0; n < ORDER; ++n)
    for (uint64_t i = 0; i < dims[n]; ++i) {
      uint64_t k = i * s->als->factor[n].stride;
      for (uint64_t r = 0; r < RANK; ++r)
        if (s->als->factor[n].type == POLYAD_F64)
          ((double *)s->als->factor[n].data)[k + r] = r == 1 ? 0 : (double)(i + 1);
        else
          ((float *)s->als->factor[n].data)[k + r] = r == 1 ? 0 : (float)(i + 1);
    }
  ((double *)s->als->lambda.data)[0] = 3;
  ((double *)s->als->lambda.data)[1] = weight;
  s->als->run.iteration = iteration;
  ALS_OK(s->context, pd_als_revive(s->als));
}

static void dead_columns_become_random(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    struct setting s;
    double first[8] = {0};
    start(&s, (polyad_type)type);
    double unit = type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    for (int iteration = 1; iteration <= 3; ++iteration) {
      revive(&s, iteration, 0);
      assert_true(((const double *)s.als->lambda.data)[0] == 3);
      assert_true(((const double *)s.als->lambda.data)[1] == 0); /* the model is the same */
      for (int n = 0; n < ORDER; ++n) {
        double square = 0, before = -1;
        for (uint64_t i = 0; i < dims[n]; ++i) {
          double value = entry(&s.als->factor[n], i, 1);
          assert_true(entry(&s.als->factor[n], i, 0) == (double)(i + 1));
          assert_true(n == 0 ? value == 0 : value >= 0 && value < 1 && value != before);
          square += value * value;
          before = value;
        }
        double gram = ((const double *)s.als->gram[n].data)[3];
        if (n > 0) assert_true(square > 0 && fabs(gram - square) <= 8 * unit * square);
      }
      /* Other numbers in each iteration: one that did not help is not tried again. */
      double now = entry(&s.als->factor[1], 0, 1);
      for (int k = 1; k < iteration; ++k)
        assert_true(now != first[k]);
      first[iteration] = now;
      pd_als_destroy(s.als);
      s.als = NULL;
    }
    finish(&s);
  }
}

static void living_columns_stay(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  revive(&s, 1, 1e-300);
  for (int n = 0; n < ORDER; ++n)
    for (uint64_t i = 0; i < dims[n]; ++i) {
      assert_true(entry(&s.als->factor[n], i, 0) == (double)(i + 1));
      assert_true(entry(&s.als->factor[n], i, 1) == 0);
    }
  finish(&s);
}

/* ---- a whole run ---------------------------------------------------------------------------- */

/* A tensor of two components, started where the second is dead in all modes. */
static void a_run_finds_the_dead_component(void **state) {
  (void)state;
  double guess[ORDER][RANK * 6];
  const double *factor[ORDER] = {guess[0], guess[1], guess[2]};
  for (int n = 0; n < ORDER; ++n)
    for (uint64_t k = 0; k < dims[n] * RANK; ++k)
      guess[n][k] = k % RANK == 0 ? 1 + (double)(k % 3) : 0;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor *initial = als_model(s.context, ORDER, dims, RANK, factor), *model;
  s.options.init = POLYAD_INIT_MODEL;
  s.options.initial = initial;
  s.options.run.max_iterations = 1;
  polyad_run_info info = {0};
  ALS_OK(s.context, polyad_cp_als(s.context, s.plan, &s.options, &model, &info));
  double one = info.fit;
  assert_true(((const double *)polyad_ktensor_weights(model))[1] == 0);
  polyad_ktensor_destroy(model);
  s.options.run.max_iterations = 2000;
  s.options.run.tolerance = 1e-9;
  ALS_OK(s.context, polyad_cp_als(s.context, s.plan, &s.options, &model, &info));
  als_check_model(model);
  assert_true(((const double *)polyad_ktensor_weights(model))[1] > 0);
  /* The best single component leaves more than this, and the tensor has exactly two. */
  assert_true(one < 0.99 && info.fit > 0.999);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(initial);
  finish(&s);
}

/* ---- the first guess ------------------------------------------------------------------------ */

/* HALS as its paper has it, dense and in double: one sweep for each mode from a guess of weights
 * one; out gets the entries of the model. */
static void one_sweep(const double *x, double guess[ORDER][RANK * 6], double *out) {
  double weight[RANK] = {1, 1};
  for (int n = 0; n < ORDER; ++n) {
    double m[6 * RANK] = {0}, v[RANK * RANK], *f = guess[n];
    for (int r = 0; r < RANK; ++r)
      for (int t = 0; t < RANK; ++t) {
        v[r * RANK + t] = 1;
        for (int k = 0; k < ORDER; ++k) {
          double sum = 0;
          for (uint64_t i = 0; i < dims[k]; ++i)
            sum += guess[k][i * RANK + (uint64_t)r] * guess[k][i * RANK + (uint64_t)t];
          if (k != n) v[r * RANK + t] *= sum;
        }
      }
    for (uint64_t p = 0; p < dims[0] * dims[1] * dims[2]; ++p) {
      uint64_t at[ORDER] = {p / (dims[1] * dims[2]), p / dims[2] % dims[1], p % dims[2]};
      for (uint64_t r = 0; r < RANK; ++r) {
        double product = x[p];
        for (int k = 0; k < ORDER; ++k)
          if (k != n) product *= guess[k][at[k] * RANK + r];
        m[at[n] * RANK + r] += product;
      }
    }
    for (uint64_t i = 0; i < dims[n]; ++i) {
      for (uint64_t r = 0; r < RANK; ++r)
        f[i * RANK + r] *= weight[r];
      for (uint64_t r = 0; r < RANK; ++r) {
        double others = 0;
        for (uint64_t t = 0; t < RANK; ++t)
          others += t == r ? 0 : f[i * RANK + t] * v[t * RANK + r];
        f[i * RANK + r] = fmax(0, (m[i * RANK + r] - others) / v[r * RANK + r]);
      }
    }
    for (uint64_t r = 0; r < RANK; ++r) {
      double square = 0;
      for (uint64_t i = 0; i < dims[n]; ++i)
        square += f[i * RANK + r] * f[i * RANK + r];
      weight[r] = sqrt(square);
      for (uint64_t i = 0; i < dims[n] && square > 0; ++i)
        f[i * RANK + r] /= weight[r];
    }
  }
  for (uint64_t p = 0; p < dims[0] * dims[1] * dims[2]; ++p) {
    uint64_t at[ORDER] = {p / (dims[1] * dims[2]), p / dims[2] % dims[1], p % dims[2]};
    out[p] = 0;
    for (uint64_t r = 0; r < RANK; ++r) {
      double product = weight[r];
      for (int k = 0; k < ORDER; ++k)
        product *= guess[k][at[k] * RANK + r];
      out[p] += product;
    }
  }
}

/* Most of the tensor is negative, so <X, M> is: the guess must not be scaled by a negative number,
 * from which the sweep would start outside of what is allowed. */
static void a_guess_that_points_away_is_not_turned(void **state) {
  (void)state;
  enum { CELLS = 6 * 5 * 4 };
  double x[CELLS], guess[ORDER][RANK * 6], expected[CELLS], found[CELLS], largest = 0;
  int32_t index[CELLS * ORDER];
  uint64_t coordinates[CELLS * ORDER];
  const double *factor[ORDER] = {guess[0], guess[1], guess[2]};
  for (int p = 0; p < CELLS; ++p) {
    uint64_t at[ORDER] = {(uint64_t)p / 20, (uint64_t)p / 4 % 5, (uint64_t)p % 4};
    for (int n = 0; n < ORDER; ++n) {
      index[p * ORDER + n] = (int32_t)at[n];
      coordinates[p * ORDER + n] = at[n];
    }
    x[p] = at[0] == 0 && at[1] < 3 ? 5 + p % 7 : -1 - p % 3; /* one positive block */
  }
  for (int n = 0; n < ORDER; ++n)
    for (uint64_t k = 0; k < dims[n] * RANK; ++k)
      guess[n][k] = 0.25 + (double)((k * 7 + (uint64_t)n) % 5);
  struct setting s;
  memset(&s, 0, sizeof s);
  s.context = cpu_context(1);
  s.tensor = als_tensor(s.context, ORDER, dims, CELLS, index, x);
  s.plan = als_plan(s.context, s.tensor, RANK, POLYAD_F64);
  polyad_ktensor *initial = als_model(s.context, ORDER, dims, RANK, factor), *model;
  polyad_cp_als_options_init(&s.options);
  s.options.rank = RANK;
  s.options.nonnegative = 1;
  s.options.init = POLYAD_INIT_MODEL;
  s.options.initial = initial;
  s.options.run.max_iterations = 1;
  ALS_OK(s.context, polyad_cp_als(s.context, s.plan, &s.options, &model, NULL));
  ALS_OK(s.context, polyad_ktensor_values(s.context, model, CELLS, coordinates, found));
  one_sweep(x, guess, expected);
  for (int p = 0; p < CELLS; ++p)
    largest = fmax(largest, fabs(expected[p]));
  assert_true(largest > 1); /* the sweep leaves something to compare */
  /* Sums of at most CELLS terms, each a product of a few roundings, through three modes. */
  for (int p = 0; p < CELLS; ++p)
    assert_true(fabs(found[p] - expected[p]) <= 3 * (CELLS + 20) * DBL_EPSILON * largest);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(initial);
  finish(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dead_columns_become_random),
      cmocka_unit_test(living_columns_stay),
      cmocka_unit_test(a_run_finds_the_dead_component),
      cmocka_unit_test(a_guess_that_points_away_is_not_turned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
