/* CP-ALS: what it refuses, where memory ends, and its first factors by HOSVD. */
#include "cp_als_fixture.h"

#include "algorithms/model_start.h"
#include "failing_allocator.h"
#include "inputs.h"
#include "plan/plan.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------------------------- */

static void refuse(struct setting *s, const polyad_cp_als_options *options, polyad_status expected,
                   const char *words) {
  polyad_ktensor *model = NULL;
  assert_int_equal(polyad_cp_als(s->context, s->plan, options, &model, NULL), expected);
  assert_null(model);
  if (strstr(polyad_last_error(s->context), words) == NULL)
    fail_msg("'%s' lacks '%s'", polyad_last_error(s->context), words);
}

static void wrong_options_are_refused(void **state) {
  (void)state;
  struct setting s = set_up(1, POLYAD_F64);
  polyad_cp_als_options options = options_of(0);
  refuse(&s, &options, POLYAD_INVALID_ARGUMENT, "rank 0");
#define REFUSE(field, value, status, words)                                                        \
  options = options_of(8);                                                                         \
  options.field = (value);                                                                         \
  refuse(&s, &options, status, words)
  REFUSE(run.max_iterations, -1, POLYAD_INVALID_ARGUMENT, "-1 iterations");
  REFUSE(run.tolerance, NAN, POLYAD_INVALID_ARGUMENT, "tolerance nan");
  REFUSE(run.tolerance, -1e-3, POLYAD_INVALID_ARGUMENT, "tolerance -0.001");
  REFUSE(run.max_seconds, NAN, POLYAD_INVALID_ARGUMENT, "max_seconds nan");
  REFUSE(ridge, -1.0, POLYAD_INVALID_ARGUMENT, "ridge -1");
  REFUSE(ridge, INFINITY, POLYAD_INVALID_ARGUMENT, "ridge inf");
  REFUSE(run.starts, 0, POLYAD_INVALID_ARGUMENT, "0 starts");
  REFUSE(run.first_start, -1, POLYAD_INVALID_ARGUMENT, "first start -1");
  REFUSE(init, (polyad_init)9, POLYAD_INVALID_ARGUMENT, "9");
  REFUSE(init, POLYAD_INIT_MODEL, POLYAD_INVALID_ARGUMENT, "no initial model");
  REFUSE(rank, UINT64_MAX, POLYAD_MEMORY_LIMIT, "mode 0");
#undef REFUSE
  static const uint64_t dims[3] = {300, 40, 201};
  polyad_ktensor *start = als_random_model(s.context, 3, dims, 8, 1, 0);
  options = options_of(8);
  options.init = POLYAD_INIT_MODEL;
  options.initial = start;
  refuse(&s, &options, POLYAD_MISMATCH, "mode 2 of the initial model has length 201; expected 200");
  options.rank = 7;
  refuse(&s, &options, POLYAD_MISMATCH, "rank 8; expected 7");
  polyad_ktensor_destroy(start);
  start = als_random_model(s.context, 3, polyad_plan_dims(s.plan), 8, 1, 0);
  ((double *)polyad_ktensor_factor(start, 1))[17] = NAN;
  options.rank = 8;
  options.initial = start;
  refuse(&s, &options, POLYAD_NUMERICAL, "not finite");
  polyad_ktensor_destroy(start);
  polyad_ktensor *model;
  options = options_of(8);
  assert_int_equal(polyad_cp_als(s.context, NULL, &options, &model, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_cp_als(s.context, s.plan, NULL, &model, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_cp_als(s.context, s.plan, &options, NULL, NULL), POLYAD_INVALID_ARGUMENT);
  tear_down(&s);
}

static void memory_limit_names_the_mode(void **state) {
  (void)state;
  struct setting s = set_up(1, POLYAD_F64);
  polyad_cp_als_options options = options_of(100000);
  ALS_OK(s.context, polyad_set_memory_limit(s.context, UINT64_C(200) << 20));
  refuse(&s, &options, POLYAD_MEMORY_LIMIT, "mode 0 has length 300");
  tear_down(&s);
}

static polyad_status small_run(polyad_context *context, void *data) {
  static const uint64_t dims[3] = {5, 4, 6};
  static const int32_t index[12] = {0, 1, 2, 4, 3, 5, 2, 2, 2, 1, 0, 0};
  static const double value[4] = {1, 2, 3, 4};
  polyad_tensor_input input = input_of_rows(3, dims, 4, POLYAD_I32, index, value);
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_plan_options plan_options;
  polyad_cp_als_options options = options_of(3);
  polyad_run_info info = {0};
  options.init = *(const polyad_init *)data;
  options.run.starts = 2;
  options.run.max_iterations = 3;
  polyad_plan_options_init(&plan_options);
  polyad_status status = polyad_tensor_create(context, &input, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &plan_options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(context, plan, &options, &model, &info);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (int init = POLYAD_INIT_RANDOM; init <= POLYAD_INIT_HOSVD; ++init) {
    polyad_init which = (polyad_init)init;
    assert_true(sweep_failures(small_run, &which, 1) > 30);
  }
}

/* ---- a model ------------------------------------------------------------------------------ */

static double fit_of_start(polyad_context *context, const polyad_plan *plan,
                           const polyad_ktensor *start, uint32_t nonnegative, int iterations) {
  polyad_cp_als_options options = options_of(polyad_ktensor_rank(start));
  options.init = POLYAD_INIT_MODEL;
  options.initial = start;
  options.nonnegative_modes = nonnegative;
  options.run.max_iterations = iterations;
  polyad_run_info info = {0};
  polyad_ktensor *model;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  double fit = info.fit;
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  return fit;
}

/* Without an iteration the fit is that of the model with its weights, of any sign where a mode
 * takes any sign; a sweep of HALS goes on from it. Weights and values may be far from 1. */
static void weights_of_a_first_model_count(void **state) {
  (void)state;
  static const uint64_t dims[3] = {9, 11, 7};
  static const double scales[] = {1, 1e180, 1e-180};
  for (int k = 0; k < 3; ++k) {
    polyad_context *context = cpu_context(2);
    polyad_ktensor *truth = als_random_model(context, 3, dims, 3, 5, 1);
    double *weights = polyad_ktensor_weights(truth), fit;
    for (int r = 0; r < 3; ++r)
      weights[r] = (r + 1) * (r + 1) * scales[k];
    polyad_tensor *tensor = als_tensor_of_model(context, truth);
    polyad_plan *plan = als_plan(context, tensor, 3, POLYAD_F64);
    for (uint32_t nonnegative = 0; nonnegative < 8; ++nonnegative) {
      assert_true(fit_of_start(context, plan, truth, nonnegative, 0) > 1 - 1e-7);
      assert_true(fit_of_start(context, plan, truth, nonnegative, 1) > 1 - 1e-7);
    }
    weights[0] = -weights[0];
    ALS_OK(context, polyad_ktensor_fit(context, truth, tensor, &fit));
    assert_true(fit < 0.95);
    for (uint32_t nonnegative = 0; nonnegative < 7; ++nonnegative)
      assert_true(fabs(fit_of_start(context, plan, truth, nonnegative, 0) - fit) < 1e-12);
    weights[0] = 0;
    ALS_OK(context, polyad_ktensor_fit(context, truth, tensor, &fit));
    weights[0] = -scales[k];
    assert_true(fabs(fit_of_start(context, plan, truth, 7, 0) - fit) < 1e-12);
    weights[1] = INFINITY;
    polyad_cp_als_options options = options_of(3);
    options.init = POLYAD_INIT_MODEL;
    options.initial = truth;
    polyad_ktensor *model;
    assert_int_equal(polyad_cp_als(context, plan, &options, &model, NULL), POLYAD_NUMERICAL);
    assert_non_null(strstr(polyad_last_error(context), "weight 1 of the initial model is inf"));
    polyad_ktensor_destroy(truth);
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
}

/* ---- HOSVD -------------------------------------------------------------------------------- */

/* HOSVD of a tensor of multilinear rank (R, R, R) spans its factors, so that one iteration fits. */
static void hosvd_starts_near_the_answer(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  static const uint64_t dims[3] = {20, 15, 12};
  polyad_ktensor *truth = als_random_model(context, 3, dims, 1, 21, 0), *model;
  polyad_tensor *tensor = als_tensor_of_model(context, truth);
  polyad_plan *plan = als_plan(context, tensor, 1, POLYAD_F64);
  polyad_cp_als_options options = options_of(1);
  options.init = POLYAD_INIT_HOSVD;
  options.run.max_iterations = 0;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, NULL));
  double score;
  ALS_OK(context, polyad_ktensor_score(context, truth, model, 0, &score, NULL));
  assert_true(fabs(score - 1) < 1e-12);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(truth);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* A diagonal tensor's singular vectors are unit vectors, in the order of the magnitudes. */
static void hosvd_finds_the_leading_vectors(void **state) {
  (void)state;
  enum { LENGTH = 3000, RANK = 5 };
  polyad_context *context = cpu_context(2);
  static const uint64_t dims[3] = {LENGTH, LENGTH, LENGTH};
  static int32_t index[LENGTH][3];
  static double value[LENGTH];
  for (int p = 0; p < LENGTH; ++p) {
    index[p][0] = index[p][1] = index[p][2] = p;
    value[p] = p == 7 ? 50 : p == 2999 ? -40 : p == 0 ? 30 : p == 1500 ? 20 : p == 42 ? 10 : 1;
  }
  static const int order[RANK] = {7, 2999, 0, 1500, 42};
  polyad_tensor *tensor = als_tensor(context, 3, dims, LENGTH, &index[0][0], value);
  polyad_plan *plan = als_plan(context, tensor, RANK, POLYAD_F64);
  polyad_cp_als_options options = options_of(RANK);
  options.init = POLYAD_INIT_HOSVD;
  options.run.max_iterations = 0;
  polyad_ktensor *model;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, NULL));
  for (int n = 0; n < 3; ++n)
    for (int r = 0; r < RANK; ++r) {
      double best = 0; /* equal weights leave the order of components to rounding */
      for (int c = 0; c < RANK; ++c)
        best = fmax(best, ((double *)polyad_ktensor_factor(model, n))[order[r] * RANK + c]);
      assert_true(fabs(best - 1) < 1e-8);
    }
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Whatever order a format keeps, its tensor comes back bit for bit. */
static void formats_give_their_nonzeros_back(void **state) {
  (void)state;
  static const uint64_t dims[5] = {70, 1, 300, 9, 20};
  for (int order = 1; order <= 5; ++order)
    for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision)
      for (int f = 0; f < polyad_format_count(); ++f) {
        polyad_format_description about;
        assert_int_equal(polyad_format_describe(f, &about), POLYAD_OK);
        char variants[256];
        snprintf(variants, sizeof variants, "%s", about.variants);
        for (char *variant = strtok(variants, " "); variant != NULL; variant = strtok(NULL, " ")) {
          polyad_context *context = cpu_context(2);
          polyad_tensor *wide = als_random_tensor(context, order, dims, 3000, 8, 1), *tensor, *back;
          ALS_OK(context, polyad_tensor_convert(context, wide, (polyad_type)precision, &tensor));
          polyad_plan_options options;
          polyad_plan_options_init(&options);
          options.format = about.name;
          options.variant = variant;
          options.precision = (polyad_type)precision;
          polyad_plan *plan;
          polyad_status status = polyad_plan_create(context, tensor, &options, &plan);
          if (status == POLYAD_OK) {
            ALS_OK(context, pd_plan_expand(context, plan, &back));
            assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
            polyad_tensor_destroy(back);
            polyad_plan_destroy(plan);
          } else {
            assert_int_equal(status, POLYAD_UNSUPPORTED);
          }
          polyad_tensor_destroy(tensor);
          polyad_tensor_destroy(wide);
          context_end(context);
        }
      }
}

/* ---- starts whose models are all wanted ------------------------------------------------------ */

/* Whether factors agree to what sums in another order may change in so many iterations. */
static void assert_close(const struct setting *s, polyad_ktensor *a, polyad_ktensor *b,
                         int iterations) {
  uint64_t rank = polyad_ktensor_rank(a);
  double drift = als_drift(s->context, a, polyad_plan_nnz(s->plan), iterations);
  assert_int_equal(rank, polyad_ktensor_rank(b));
  assert_true(drift < 1e-9); /* else this would say little */
  for (int n = 0; n < polyad_ktensor_order(a); ++n)
    for (uint64_t k = 0; k < polyad_ktensor_dims(a)[n] * rank; ++k)
      assert_true(fabs(((double *)polyad_ktensor_factor(a, n))[k] -
                       ((double *)polyad_ktensor_factor(b, n))[k]) <= drift);
}

/* The models of five starts are those of calls for one start each, the returned one is the best of
 * them, and without room for side-by-side runs (a rank of half the columns) they are the same bits.
 */
static void models_of_all_starts(uint64_t rank, bool same_bits) {
  enum { STARTS = 5 };
  struct setting s = set_up(1, POLYAD_F64);
  polyad_cp_als_options options = options_of(rank);
  polyad_run_info info = {0};
  polyad_ktensor *best, *one;
  options.run.max_iterations = 2;
  options.run.tolerance = 0;
  options.run.starts = STARTS;
  options.run.keep_starts = 1;
  ALS_OK(s.context, polyad_cp_als(s.context, s.plan, &options, &best, &info));
  assert_int_equal(info.start_count, STARTS);
  assert_true(als_same_model(best, info.models[info.best_restart]));
  options.run.starts = 1;
  options.run.keep_starts = 0;
  for (int k = 0; k < STARTS; ++k) {
    polyad_run_info alone = {0};
    options.run.first_start = k;
    ALS_OK(s.context, polyad_cp_als(s.context, s.plan, &options, &one, &alone));
    assert_null(alone.models);
    assert_true(fabs(alone.fit - info.starts[k].objective) < 1e-12);
    assert_true(info.starts[k].objective <= info.starts[info.best_restart].objective);
    if (same_bits)
      assert_true(als_same_model(one, info.models[k]));
    else
      assert_close(&s, one, info.models[k], options.run.max_iterations);
    polyad_ktensor_destroy(one);
    polyad_run_info_clear(&alone);
  }
  /* What is taken is the caller's. */
  one = info.models[1];
  info.models[1] = NULL;
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(one);
  polyad_ktensor_destroy(best);
  tear_down(&s);
}

static void all_models_side_by_side(void **state) {
  (void)state;
  models_of_all_starts(4, false);
}

static void all_models_one_after_the_other(void **state) {
  (void)state;
  models_of_all_starts(100, true);
}

static polyad_status kept_run(polyad_context *context, void *data) {
  struct kept_case {
    polyad_plan *plan;
    uint64_t rank;
  } *c = data;
  polyad_cp_als_options options = options_of(c->rank);
  polyad_run_info info = {0};
  polyad_ktensor *model = NULL;
  options.run.max_iterations = 1;
  options.run.starts = 3;
  options.run.keep_starts = 1;
  polyad_status status = polyad_cp_als(context, c->plan, &options, &model, &info);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  return status;
}

/* Neither way leaks when an allocation fails. */
static void keeping_models_may_fail(void **state) {
  (void)state;
  struct setting s = set_up(1, POLYAD_F64);
  struct {
    polyad_plan *plan;
    uint64_t rank;
  } c = {s.plan, 2};
  assert_true(sweep_failures(kept_run, &c, 1) > 10);
  c.rank = 100;
  assert_true(sweep_failures(kept_run, &c, 1) > 10);
  tear_down(&s);
}

/* Every decomposition whose models are kept refuses what it refuses without. */
static void assert_kept_refused(const struct setting *s, const polyad_run_options *run) {
  polyad_cp_als_options als = options_of(100);
  polyad_cp_apr_options apr;
  polyad_cp_complete_options complete;
  polyad_ktensor *model = NULL;
  polyad_cp_apr_options_init(&apr);
  polyad_cp_complete_options_init(&complete);
  als.run = apr.run = complete.run = *run;
  assert_int_equal(polyad_cp_als(s->context, s->plan, &als, &model, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_cp_apr(s->context, s->plan, &apr, &model, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_cp_complete(s->context, s->plan, &complete, &model, NULL),
                   POLYAD_INVALID_ARGUMENT);
  assert_null(model);
}

static void kept_starts_are_checked(void **state) {
  (void)state;
  struct setting s = set_up(1, POLYAD_F64);
  polyad_run_options run = options_of(1).run;
  run.keep_starts = 1;
  run.starts = 0;
  assert_kept_refused(&s, &run);
  run.starts = -1;
  assert_kept_refused(&s, &run);
  run.starts = 2;
  run.first_start = INT_MAX;
  assert_kept_refused(&s, &run);
  run.first_start = 0;
  run.checkpoint = "kept_starts.state"; /* one file for the states of several starts */
  assert_kept_refused(&s, &run);
  tear_down(&s);
}

/* Several threads take the rows, and the first row that is wrong is named whoever finds it. */
static void an_initial_model_is_taken_by_threads(void **state) {
  (void)state;
  enum { RANK = 700, BAD = 17, LATER = 290 };
  for (int threads = 1; threads <= 3; ++threads) {
    struct setting s = set_up(threads, POLYAD_F64);
    const uint64_t *dims = polyad_plan_dims(s.plan);
    polyad_ktensor *start = als_random_model(s.context, 3, dims, RANK, 1, 1), *taken;
    ALS_OK(s.context, polyad_ktensor_create(s.context, 3, dims, RANK, POLYAD_F64, &taken));
    double *factor = polyad_ktensor_factor(start, 0);
    factor[5] = -3;
    ALS_OK(s.context, pd_model_take_initial(s.context, s.plan, start, true, taken));
    assert_true(((double *)polyad_ktensor_factor(taken, 0))[5] == 0);
    factor[5] = 0;
    for (int n = 0; n < 3; ++n)
      assert_memory_equal(polyad_ktensor_factor(taken, n), polyad_ktensor_factor(start, n),
                          dims[n] * RANK * sizeof(double));
    factor[LATER * RANK] = factor[BAD * RANK + 3] = INFINITY;
    pd_begin(s.context);
    assert_int_equal(pd_model_take_initial(s.context, s.plan, start, false, taken),
                     POLYAD_NUMERICAL);
    assert_non_null(strstr(polyad_last_error(s.context), "mode 0 has an entry that is not finite"));
    assert_non_null(strstr(polyad_last_error(s.context), "in row 17"));
    polyad_ktensor_destroy(start);
    polyad_ktensor_destroy(taken);
    tear_down(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_models_side_by_side),
      cmocka_unit_test(kept_starts_are_checked),
      cmocka_unit_test(all_models_one_after_the_other),
      cmocka_unit_test(keeping_models_may_fail),
      cmocka_unit_test(wrong_options_are_refused),
      cmocka_unit_test(weights_of_a_first_model_count),
      cmocka_unit_test(an_initial_model_is_taken_by_threads),
      cmocka_unit_test(memory_limit_names_the_mode),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(hosvd_starts_near_the_answer),
      cmocka_unit_test(hosvd_finds_the_leading_vectors),
      cmocka_unit_test(formats_give_their_nonzeros_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
