/* CP-ALS against golden values, and what its options promise. */
#include "cp_als_fixture.h"

#include "core/random.h"
#include <float.h>
#include <math.h>
#include <string.h>

#include "../data/golden_cp_als.h"

/* ---- golden values ------------------------------------------------------------------------ */

/* The 3 x 3 x 3 tensor and factors whose iterates other packages agree on. */
static void published_values(void **state) {
  (void)state;
  static const int32_t index[18] = {0, 0, 0, 1, 0, 1, 0, 1, 2, 2, 1, 0, 2, 2, 2, 1, 2, 1};
  static const double value[6] = {1, 2, 3, 4, 5, 6};
  static const uint64_t dims[3] = {3, 3, 3};
  static const double a[6] = {1, .5, .25, 1, .75, .3}, b[6] = {.2, .9, 1, .4, .6, .7},
                      c[6] = {.3, .8, .9, .1, .5, 1};
  const double *factors[3] = {a, b, c};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = als_tensor(context, 3, dims, 6, index, value);
  polyad_plan *plan = als_plan(context, tensor, 2, POLYAD_F64);
  polyad_ktensor *start = als_model(context, 3, dims, 2, factors), *model;
  polyad_cp_als_options options = options_of(2);
  options.init = POLYAD_INIT_MODEL;
  options.initial = start;
  polyad_run_info info = {0};
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  assert_int_equal(info.iterations, 12);
  assert_true(info.converged && info.reason == POLYAD_REASON_TOLERANCE);
  assert_true(fabs(info.fit - 0.46505940261823375) < 1e-14);
  const double *weights = polyad_ktensor_weights(model);
  assert_true(fabs(weights[0] - 6.32370398) < 5e-9 && fabs(weights[1] - 4.99915371) < 5e-9);
  static const double fits[4] = {0.4117725, 0.4513502, 0.4581730, 0.4611789};
  for (int i = 0; i < 4; ++i)
    assert_true(fabs(info.trace[i].fit - fits[i]) < 5e-8);
  assert_string_equal(info.diagnosis, "");
  assert_int_equal(info.regularized_solves, 0);
  polyad_ktensor_destroy(model);
  options.run.tolerance = 0;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  assert_int_equal(info.iterations, 50);
  assert_true(!info.converged && info.reason == POLYAD_REASON_MAX_ITERATIONS);
  assert_true(fabs(info.fit - 0.4654522299829369) < 1e-14);
  als_check_model(model);
  double fit;
  ALS_OK(context, polyad_ktensor_fit(context, model, tensor, &fit));
  assert_true(fabs(info.fit - fit) < 1e-14);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(start);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* residual of each of the first 20 iterations as pyttb has it, for every format. */
static void first_iterations(const struct golden_case *golden, const char *format) {
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor =
      als_tensor(context, golden->order, golden->dims, golden->nnz, golden->index, golden->value);
  polyad_plan_options plan_options;
  polyad_plan_options_init(&plan_options);
  plan_options.format = format;
  plan_options.rank = golden->rank;
  polyad_plan *plan;
  ALS_OK(context, polyad_plan_create(context, tensor, &plan_options, &plan));
  polyad_ktensor *start =
      als_model(context, golden->order, golden->dims, golden->rank, golden->factor);
  polyad_cp_als_options options = options_of(golden->rank);
  options.init = POLYAD_INIT_MODEL;
  options.initial = start;
  options.run.tolerance = 0;
  options.run.max_iterations = GOLDEN_ITERATIONS;
  polyad_run_info info = {0};
  polyad_ktensor *model;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  assert_int_equal(info.trace_rows, GOLDEN_ITERATIONS);
  for (int i = 0; i < GOLDEN_ITERATIONS; ++i) {
    assert_true(fabs(info.trace[i].residual - golden->residual[i]) <= 1e-12);
    assert_true(fabs(info.trace[i].fit - (1 - sqrt(golden->residual[i]))) <= 1e-9);
    assert_int_equal(info.trace[i].iteration, i + 1);
  }
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(start);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void as_pyttb(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof golden_cases / sizeof *golden_cases; ++c)
    for (int f = 0; f < polyad_format_count(); ++f) {
      polyad_format_description about;
      assert_int_equal(polyad_format_describe(f, &about), POLYAD_OK);
      if (strstr(about.devices, "cpu") != NULL) first_iterations(&golden_cases[c], about.name);
    }
}

/* ---- options ------------------------------------------------------------------------------ */

static void same_bits_every_time(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; ++threads)
    for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision)
      for (int nonnegative = 0; nonnegative < 2; ++nonnegative) {
        polyad_ktensor *first = NULL;
        struct setting kept = {0};
        for (int time = 0; time < 3; ++time) {
          struct setting s = set_up(threads, (polyad_type)precision);
          polyad_set_seed(s.context, 7);
          polyad_cp_als_options options = options_of(8);
          options.nonnegative = nonnegative;
          options.run.max_iterations = 5;
          options.run.tolerance = 0;
          polyad_ktensor *model = run(&s, &options, NULL);
          if (time == 0) {
            first = model;
            kept = s;
            continue;
          }
          assert_true(als_same_model(first, model));
          polyad_ktensor_destroy(model);
          tear_down(&s);
        }
        polyad_ktensor_destroy(first);
        tear_down(&kept);
      }
}

/* The first factors are the documented random numbers. */
static void zero_iterations_give_the_first_guess(void **state) {
  (void)state;
  struct setting s = set_up(2, POLYAD_F64);
  polyad_set_seed(s.context, 5);
  polyad_cp_als_options options = options_of(8);
  options.run.max_iterations = 0;
  polyad_run_info info = {0};
  polyad_ktensor *model = run(&s, &options, &info), *expected;
  assert_int_equal(info.iterations, 0);
  assert_int_equal(info.trace_rows, 0);
  assert_int_equal(info.reason, POLYAD_REASON_MAX_ITERATIONS);
  const uint64_t *dims = polyad_plan_dims(s.plan);
  ALS_OK(s.context, polyad_ktensor_create(s.context, 3, dims, 8, POLYAD_F64, &expected));
  for (int n = 0; n < 3; ++n)
    for (uint64_t k = 0; k < dims[n] * 8; ++k)
      ((double *)polyad_ktensor_factor(expected, n))[k] = pd_random_uniform(5, (uint64_t)n, k);
  polyad_ktensor_normalize(expected, POLYAD_NORM_2);
  ALS_OK(s.context, polyad_ktensor_arrange(s.context, expected));
  assert_true(als_same_model(model, expected));
  double fit;
  ALS_OK(s.context, polyad_ktensor_fit(s.context, model, s.tensor, &fit));
  assert_true(fabs(fit - info.fit) < 1e-12 * fabs(fit));
  polyad_ktensor_destroy(expected);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  tear_down(&s);
}

static int stop_at_three(void *user, const polyad_progress *progress) {
  *(int *)user = progress->iteration;
  assert_int_equal(progress->max_iterations, 50);
  assert_true(isnan(progress->change) == (progress->iteration == 1));
  return progress->iteration == 3;
}

static void progress_and_cancel_end_a_run(void **state) {
  (void)state;
  struct setting s = set_up(2, POLYAD_F64);
  polyad_cp_als_options options = options_of(8);
  polyad_run_info info = {0};
  int seen = 0;
  options.run.tolerance = 0;
  polyad_set_progress(s.context, stop_at_three, &seen);
  polyad_ktensor *model = run(&s, &options, &info);
  assert_int_equal(seen, 3);
  assert_int_equal(info.iterations, 3);
  assert_int_equal(info.reason, POLYAD_REASON_CANCELLED);
  polyad_set_progress(s.context, NULL, NULL);
  options.run.max_iterations = 3;
  polyad_ktensor *three = run(&s, &options, &info);
  assert_true(als_same_model(model, three));
  polyad_cancel(s.context);
  polyad_ktensor_destroy(three);
  options.run.max_iterations = 50;
  options.run.starts = 4;
  three = run(&s, &options, &info);
  assert_int_equal(info.iterations, 1);
  assert_int_equal(info.reason, POLYAD_REASON_CANCELLED);
  assert_string_equal(polyad_reason_string(info.reason), "cancelled");
  polyad_clear_cancel(s.context);
  polyad_ktensor_destroy(three);
  polyad_ktensor_destroy(model);
  options.run.starts = 1;
  options.run.max_seconds = 1e-9;
  model = run(&s, &options, &info);
  assert_int_equal(info.iterations, 1);
  assert_int_equal(info.reason, POLYAD_REASON_MAX_SECONDS);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  tear_down(&s);
}

static void best_of_several_starts(void **state) {
  (void)state;
  struct setting s = set_up(2, POLYAD_F64);
  polyad_cp_als_options options = options_of(3);
  options.run.max_iterations = 6;
  options.run.tolerance = 0;
  polyad_run_info info = {0}, alone = {0};
  options.run.starts = 4;
  polyad_ktensor *best = run(&s, &options, &info);
  double fit;
  ALS_OK(s.context, polyad_ktensor_fit(s.context, best, s.tensor, &fit));
  assert_true(fabs(fit - info.fit) < 1e-12);
  assert_true(info.best_restart >= 0 && info.best_restart < 4);
  options.run.starts = 1;
  polyad_ktensor *first = run(&s, &options, &alone);
  assert_true(info.fit >= alone.fit);
  assert_true(info.best_restart == 0 ? als_same_model(best, first) : info.fit > alone.fit);
  polyad_ktensor_destroy(first);
  polyad_ktensor_destroy(best);
  polyad_run_info_clear(&info);
  polyad_run_info_clear(&alone);
  tear_down(&s);
}

static void nonnegative_is_monotone(void **state) {
  (void)state;
  for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision)
    for (int ridge = 0; ridge < 2; ++ridge) {
      struct setting s = set_up(2, (polyad_type)precision);
      polyad_cp_als_options options = options_of(8);
      options.nonnegative = 1;
      options.run.tolerance = 0;
      options.run.max_iterations = 40;
      polyad_run_info info = {0};
      polyad_ktensor *model = run(&s, &options, &info);
      /* Each step minimises exactly; what is left is the rounding of factors and of the fit. */
      double unit = precision == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
      for (int i = 1; i < info.trace_rows; ++i)
        assert_true(info.trace[i].residual <= info.trace[i - 1].residual + 64 * unit);
      for (int n = 0; n < 3; ++n)
        for (uint64_t k = 0; k < polyad_plan_dims(s.plan)[n] * 8; ++k) {
          const void *factor = polyad_ktensor_factor(model, n);
          assert_true(precision == POLYAD_F64 ? ((const double *)factor)[k] >= 0
                                              : ((const float *)factor)[k] >= 0);
        }
      polyad_ktensor_destroy(model);
      polyad_run_info_clear(&info);
      tear_down(&s);
    }
}

/* Components that are clipped to zero get new chances: counts of eight blocks need eight. */
static void nonnegative_components_live(void **state) {
  (void)state;
  enum { BLOCKS = 8, SIDE = 3, CELLS = BLOCKS * SIDE * SIDE * SIDE };
  static const uint64_t dims[3] = {BLOCKS * SIDE, BLOCKS * SIDE, BLOCKS * SIDE};
  int32_t index[3 * CELLS];
  double value[CELLS];
  for (int p = 0; p < CELLS; ++p) {
    int block = p / (SIDE * SIDE * SIDE);
    index[3 * p] = block * SIDE + p % SIDE;
    index[3 * p + 1] = block * SIDE + p / SIDE % SIDE;
    index[3 * p + 2] = block * SIDE + p / (SIDE * SIDE) % SIDE;
    value[p] = 1 + block;
  }
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = als_tensor(context, 3, dims, CELLS, index, value);
  polyad_plan *plan = als_plan(context, tensor, BLOCKS, POLYAD_F64);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    polyad_set_seed(context, seed);
    polyad_cp_als_options options = options_of(BLOCKS);
    options.nonnegative = 1;
    options.run.max_iterations = 100;
    options.run.tolerance = 0;
    polyad_run_info info = {0};
    polyad_ktensor *model;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
    const double *weight = polyad_ktensor_weights(model);
    for (int r = 0; r < BLOCKS; ++r)
      assert_true(weight[r] > 0);
    for (int i = 1; i < info.trace_rows; ++i)
      assert_true(info.trace[i].residual <= info.trace[i - 1].residual + 64 * DBL_EPSILON);
    polyad_ktensor_destroy(model);
    polyad_run_info_clear(&info);
  }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* A ridge keeps singular equations solvable and shrinks the model. */
static void ridge_regularizes(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[3] = {4, 5, 6};
  polyad_ktensor *truth = als_random_model(context, 3, dims, 1, 3, 1), *model;
  polyad_tensor *tensor = als_tensor_of_model(context, truth);
  polyad_plan *plan = als_plan(context, tensor, 4, POLYAD_F64);
  polyad_cp_als_options options = options_of(4);
  polyad_run_info info = {0};
  double fits[3];
  static const double ridges[3] = {1e-6, 1e-2, 1};
  for (int k = 0; k < 3; ++k) {
    options.ridge = ridges[k];
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
    assert_int_equal(info.regularized_solves, 0);
    fits[k] = info.fit;
    polyad_ktensor_destroy(model);
  }
  assert_true(fits[0] > 0.9999 && fits[0] > fits[1] && fits[1] > fits[2]);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(truth);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* For a matrix the best fit of rank R is known: CP-ALS of order 2 reaches it. */
static void order_2_is_a_truncated_svd(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  static const uint64_t dims[2] = {3, 3};
  static const int32_t index[6] = {0, 0, 1, 1, 2, 2};
  static const double value[3] = {3, 2, 1};
  polyad_tensor *tensor = als_tensor(context, 2, dims, 3, index, value);
  polyad_plan *plan = als_plan(context, tensor, 2, POLYAD_F64);
  for (int init = POLYAD_INIT_RANDOM; init <= POLYAD_INIT_HOSVD; ++init) {
    polyad_cp_als_options options = options_of(2);
    options.run.tolerance = 0;
    options.run.max_iterations = 200;
    options.init = (polyad_init)init;
    polyad_run_info info = {0};
    polyad_ktensor *model;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
    assert_true(fabs(info.fit - (1 - 1 / sqrt(14))) < 1e-12);
    polyad_ktensor_destroy(model);
    polyad_run_info_clear(&info);
  }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void single_precision_is_close_to_double(void **state) {
  (void)state;
  double fit[2];
  for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision) {
    struct setting s = set_up(2, (polyad_type)precision);
    polyad_cp_als_options options = options_of(8);
    options.run.max_iterations = 10;
    options.run.tolerance = 0;
    polyad_run_info info = {0};
    polyad_ktensor_destroy(run(&s, &options, &info));
    fit[precision] = info.fit;
    polyad_run_info_clear(&info);
    tear_down(&s);
  }
  /* Iterations of a least-squares method forgive rounding of the factors. */
  assert_true(fabs(fit[0] - fit[1]) < 1000 * (double)FLT_EPSILON);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_values),
      cmocka_unit_test(as_pyttb),
      cmocka_unit_test(same_bits_every_time),
      cmocka_unit_test(zero_iterations_give_the_first_guess),
      cmocka_unit_test(progress_and_cancel_end_a_run),
      cmocka_unit_test(best_of_several_starts),
      cmocka_unit_test(nonnegative_is_monotone),
      cmocka_unit_test(nonnegative_components_live),
      cmocka_unit_test(ridge_regularizes),
      cmocka_unit_test(order_2_is_a_truncated_svd),
      cmocka_unit_test(single_precision_is_close_to_double),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
