/* CP-ALS on tensors that break naive implementations: singular Gram matrices, degenerate and nearly
 * exact models, empty slices, extreme values. */
#include "als_fixture.h"
#include "core/random.h"
#include <float.h>
#include <math.h>
#include <string.h>

struct run {
  polyad_cp_als_options options;
  polyad_type precision;
  polyad_run_info info;
  polyad_ktensor *model;
};

static struct run run_of(uint64_t rank) {
  struct run run = {.precision = POLYAD_F64};
  polyad_cp_als_options_init(&run.options);
  run.options.rank = rank;
  return run;
}

/* Fits and checks what must hold for every run. */
static void fit(polyad_context *context, polyad_tensor *tensor, struct run *run) {
  polyad_plan *plan = als_plan(context, tensor, run->options.rank, run->precision);
  ALS_OK(context, polyad_cp_als(context, plan, &run->options, &run->model, &run->info));
  als_check_model(run->model);
  assert_true(isfinite(run->info.fit) && run->info.fit <= 1);
  for (int i = 0; i < run->info.trace_rows; ++i) {
    assert_true(isfinite(run->info.trace[i].fit) && run->info.trace[i].fit <= 1);
    assert_true(run->info.trace[i].residual >= 0);
  }
  polyad_plan_destroy(plan);
}

static void end(polyad_context *context, polyad_tensor *tensor, struct run *run) {
  polyad_ktensor_destroy(run->model);
  polyad_run_info_clear(&run->info);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void rank_1_tensor_with_rank_10(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {6, 7, 8};
  polyad_ktensor *truth = als_random_model(context, 3, dims, 1, 3, 0);
  polyad_tensor *tensor = als_tensor_of_model(context, truth);
  polyad_ktensor_destroy(truth);
  struct run run = run_of(10);
  fit(context, tensor, &run);
  assert_true(run.info.fit >= 1 - 1e-8);
  assert_true(run.info.regularized_solves > 0);
  assert_non_null(strstr(run.info.diagnosis, "singular"));
  end(context, tensor, &run);
}

static void all_ones(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {10, 10, 10};
  static const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const double *factor[3] = {ones, ones, ones};
  polyad_ktensor *truth = als_model(context, 3, dims, 1, factor);
  polyad_tensor *tensor = als_tensor_of_model(context, truth);
  polyad_ktensor_destroy(truth);
  struct run run = run_of(5);
  fit(context, tensor, &run);
  assert_true(run.info.fit >= 1 - 1e-8);
  assert_true(run.info.regularized_solves > 0);
  end(context, tensor, &run);
}

static void one_nonzero(void **state) {
  (void)state;
  for (int order = 1; order <= 5; ++order)
    for (int init = POLYAD_INIT_RANDOM; init <= POLYAD_INIT_HOSVD; ++init) {
      polyad_context *context = cpu_context(1);
      static const uint64_t dims[5] = {4, 1, 3, 5, 2};
      static const int32_t index[5] = {2, 0, 1, 4, 0};
      static const double value = -7.5;
      polyad_tensor *tensor = als_tensor(context, order, dims, 1, index, &value);
      struct run run = run_of(8);
      run.options.init = (polyad_init)init;
      fit(context, tensor, &run);
      assert_true(run.info.fit >= 1 - 1e-8);
      end(context, tensor, &run);
    }
}

/* a o a o b + a o b o a + b o a o a has rank 3 and is the limit of tensors of rank 2. */
static void border_rank(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {2, 2, 2};
  static const int32_t index[9] = {0, 0, 1, 0, 1, 0, 1, 0, 0};
  static const double value[3] = {1, 1, 1};
  polyad_tensor *tensor = als_tensor(context, 3, dims, 3, index, value);
  struct run run = run_of(2);
  run.options.run.tolerance = 0;
  run.options.run.max_iterations = 10000;
  fit(context, tensor, &run);
  assert_int_equal(run.info.iterations, 10000);
  for (int i = 1; i < run.info.trace_rows; ++i)
    assert_true(run.info.trace[i].fit >= run.info.trace[i - 1].fit - 1e-10);
  assert_non_null(strstr(run.info.diagnosis, "cancel"));
  end(context, tensor, &run);
}

static void swamp(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {8, 9, 10};
  /* Columns c, c + e d1, c + e d2 with e so that cosines are about 0.9999. */
  polyad_ktensor *truth = als_random_model(context, 3, dims, 3, 11, 0);
  for (int n = 0; n < 3; ++n) {
    double *factor = polyad_ktensor_factor(truth, n);
    for (uint64_t i = 0; i < dims[n]; ++i)
      for (int r = 1; r < 3; ++r)
        factor[i * 3 + (uint64_t)r] = factor[i * 3] + 0.0141 * factor[i * 3 + (uint64_t)r];
  }
  polyad_tensor *tensor = als_tensor_of_model(context, truth);
  polyad_ktensor_destroy(truth);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    polyad_set_seed(context, seed);
    struct run run = run_of(3);
    run.options.run.tolerance = 0;
    run.options.run.max_iterations = 500;
    fit(context, tensor, &run);
    for (int i = 1; i < run.info.trace_rows; ++i)
      assert_true(run.info.trace[i].residual <= run.info.trace[i - 1].residual + 1e-10);
    polyad_ktensor_destroy(run.model);
    polyad_run_info_clear(&run.info);
  }
  struct run run = run_of(3);
  fit(context, tensor, &run);
  assert_true(run.info.reason == POLYAD_REASON_TOLERANCE ||
              run.info.reason == POLYAD_REASON_MAX_ITERATIONS);
  end(context, tensor, &run);
}

/* Rows of empty slices are zero. */
static void check_empty_rows(polyad_ktensor *model, int mode, uint64_t used) {
  uint64_t rank = polyad_ktensor_rank(model);
  const double *factor = polyad_ktensor_factor(model, mode);
  for (uint64_t i = 0; i < polyad_ktensor_dims(model)[mode]; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      assert_true(i % used == 0 || factor[i * rank + r] == 0);
}

static void empty_slices(void **state) {
  (void)state;
  for (int init = POLYAD_INIT_RANDOM; init <= POLYAD_INIT_HOSVD; ++init) {
    polyad_context *context = cpu_context(1);
    static const uint64_t dims[3] = {1000, 1, 700};
    int32_t index[50][3];
    double value[50];
    for (uint64_t p = 0; p < 50; ++p) {
      index[p][0] = (int32_t)(100 * (p % 10));
      index[p][1] = 0;
      index[p][2] = (int32_t)(100 * (pd_random_u64(1, 0, p) % 7));
      value[p] = pd_random_normal(1, 1, p);
    }
    polyad_tensor *tensor = als_tensor(context, 3, dims, 50, &index[0][0], value);
    struct run run = run_of(4);
    run.options.init = (polyad_init)init;
    fit(context, tensor, &run);
    check_empty_rows(run.model, 0, 100);
    check_empty_rows(run.model, 2, 100);
    assert_non_null(strstr(run.info.diagnosis, "no nonzero"));
    end(context, tensor, &run);
  }
}

static void long_mode_with_one_entry(void **state) {
  (void)state;
  for (int init = POLYAD_INIT_RANDOM; init <= POLYAD_INIT_HOSVD; ++init) {
    polyad_context *context = cpu_context(1);
    static const uint64_t dims[3] = {1000000, 4, 1};
    static const int32_t index[6] = {999999, 0, 0, 999999, 3, 0};
    static const double value[2] = {3, 4};
    polyad_tensor *tensor = als_tensor(context, 3, dims, 2, index, value);
    struct run run = run_of(3);
    run.options.init = (polyad_init)init;
    fit(context, tensor, &run);
    assert_true(run.info.fit >= 1 - 1e-8);
    assert_true(fabs(((double *)polyad_ktensor_weights(run.model))[0]) <= 5 * (1 + 1e-12));
    end(context, tensor, &run);
  }
}

/* The fit of a tensor does not change when its values are multiplied by a power of ten. */
static void extreme_values(void **state) {
  (void)state;
  static const double scales[] = {1, 1e300, 1e-300, 1e-160, 1e150, 5e-324};
  static const uint64_t dims[3] = {3, 3, 3};
  static const int32_t index[4][3] = {{0, 0, 0}, {1, 1, 1}, {2, 0, 1}, {0, 2, 2}};
  double expected = 0;
  for (size_t s = 0; s < sizeof scales / sizeof *scales; ++s) {
    polyad_context *context = cpu_context(1);
    double value[4];
    for (int p = 0; p < 4; ++p)
      value[p] = scales[s] * (p + 1);
    polyad_tensor *tensor = als_tensor(context, 3, dims, 4, &index[0][0], value);
    struct run run = run_of(2);
    run.options.run.tolerance = 0;
    run.options.run.max_iterations = 30;
    fit(context, tensor, &run);
    double weight = ((double *)polyad_ktensor_weights(run.model))[0];
    assert_true(weight > scales[s] && weight < 6 * scales[s]);
    if (s == 0) expected = run.info.fit;
    /* Scales are no powers of two: values round, and 30 iterations carry that on. */
    assert_true(fabs(run.info.fit - expected) < 1e-9);
    end(context, tensor, &run);
  }
}

static void mixed_scale(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {2, 2, 2};
  static const int32_t index[6] = {0, 0, 0, 1, 1, 1};
  static const double value[2] = {1e150, 1e-150};
  polyad_tensor *tensor = als_tensor(context, 3, dims, 2, index, value);
  struct run run = run_of(2);
  fit(context, tensor, &run);
  assert_true(run.info.fit >= 1 - 1e-8);
  end(context, tensor, &run);
}

static void exact_fit(void **state) {
  (void)state;
  static const uint64_t dims[3] = {5, 6, 7};
  for (int nonnegative = 0; nonnegative < 2; ++nonnegative)
    for (uint64_t seed = 0; seed < 10; ++seed) {
      polyad_context *context = cpu_context(1);
      polyad_ktensor *truth = als_random_model(context, 3, dims, 2, seed, 1);
      polyad_tensor *tensor = als_tensor_of_model(context, truth);
      struct run run = run_of(2);
      run.options.run.tolerance = 0;
      run.options.init = POLYAD_INIT_MODEL;
      run.options.initial = truth;
      run.options.nonnegative = nonnegative;
      run.options.run.max_iterations = 5;
      fit(context, tensor, &run);
      assert_true(run.info.fit >= 1 - 1e-12);
      polyad_ktensor_destroy(truth);
      end(context, tensor, &run);
    }
}

/* 2^25 ones in one row would stop at 2^24 if sums were kept in single precision. The values of
 * this tensor are 1 / 4096 beside 4096, which has the same effect with few nonzeros. */
static void single_precision_sums_are_wider(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  enum { SMALL = 200000 };
  static int32_t index[SMALL + 1][2];
  static double value[SMALL + 1];
  static const uint64_t dims[2] = {1, SMALL + 1};
  for (int p = 0; p <= SMALL; ++p) {
    index[p][1] = p;
    value[p] = p == 0 ? 4096 : 1.0 / 4096;
  }
  polyad_tensor *tensor = als_tensor(context, 2, dims, SMALL + 1, &index[0][0], value);
  struct run run = run_of(1);
  run.precision = POLYAD_F32;
  fit(context, tensor, &run);
  double exact = sqrt(4096.0 * 4096.0 + SMALL / 4096.0 / 4096.0);
  double weight = (double)((float *)polyad_ktensor_weights(run.model))[0];
  assert_true(fabs(weight - exact) <= 1e-6 * exact);
  assert_true(run.info.fit >= 1 - 1e-6);
  end(context, tensor, &run);
}

static void rank_above_every_mode(void **state) {
  (void)state;
  static const uint64_t dims[4] = {2, 3, 2, 3};
  for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision)
    for (int nonnegative = 0; nonnegative < 2; ++nonnegative)
      for (int order = 1; order <= 4; ++order) {
        polyad_context *context = cpu_context(1);
        polyad_tensor *tensor = als_random_tensor(context, order, dims, 20, 5, 1);
        struct run run = run_of(40);
        run.precision = (polyad_type)precision;
        run.options.nonnegative = nonnegative;
        fit(context, tensor, &run);
        /* Rank 40 can hold any of these tensors; HALS approaches it more slowly. */
        assert_true(run.info.fit > (nonnegative ? 0.9 : 0.99));
        end(context, tensor, &run);
      }
}

/* A zero column in the first factors stays harmless. */
static void zero_columns(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {4, 5, 6};
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 40, 2, 1);
  polyad_ktensor *start = als_random_model(context, 3, dims, 3, 9, 1);
  for (int n = 0; n < 3; ++n)
    for (uint64_t i = 0; i < dims[n]; ++i)
      ((double *)polyad_ktensor_factor(start, n))[i * 3 + 1] = 0;
  struct run run = run_of(3);
  run.options.init = POLYAD_INIT_MODEL;
  run.options.initial = start;
  fit(context, tensor, &run);
  assert_true(run.info.regularized_solves > 0);
  assert_true(((double *)polyad_ktensor_weights(run.model))[2] == 0);
  assert_non_null(strstr(run.info.diagnosis, "zero"));
  polyad_ktensor_destroy(start);
  end(context, tensor, &run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rank_1_tensor_with_rank_10),
      cmocka_unit_test(all_ones),
      cmocka_unit_test(one_nonzero),
      cmocka_unit_test(border_rank),
      cmocka_unit_test(swamp),
      cmocka_unit_test(empty_slices),
      cmocka_unit_test(long_mode_with_one_entry),
      cmocka_unit_test(extreme_values),
      cmocka_unit_test(mixed_scale),
      cmocka_unit_test(exact_fit),
      cmocka_unit_test(single_precision_sums_are_wider),
      cmocka_unit_test(rank_above_every_mode),
      cmocka_unit_test(zero_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
