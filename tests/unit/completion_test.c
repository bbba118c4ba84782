/* Completion: exact recovery, the objective's gradient at the end by an oracle, weights, biases,
 * nonnegativity, zeros as observations, validation, and bits. */
#include "../oracle/complete_oracle.h"
#include "algorithms/observations.h"
#include "als_fixture.h"
#include "core/random.h"
#include "inputs.h"
#include "plan/plan.h"
#include "tensor/tensor.h"
#include <math.h>
#include <stdio.h>

enum { ORDER = 3 };

/* ---- problems ------------------------------------------------------------------------------- */

/* About `share` of the cells of a model, with their values rounded to whole numbers or not. Zeros
 * are kept. */
static polyad_tensor *sample(polyad_context *context, polyad_ktensor *model, double share,
                             uint64_t seed, bool whole) {
  const uint64_t *dims = polyad_ktensor_dims(model);
  uint64_t cells = dims[0] * dims[1] * dims[2], count = 0;
  uint64_t *at = malloc(cells * ORDER * sizeof *at);
  double *value = malloc(cells * sizeof *value);
  assert_true(at != NULL && value != NULL);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    if (!(pd_random_uniform(seed, 1, cell) < share)) continue;
    at[count * ORDER] = cell / (dims[1] * dims[2]);
    at[count * ORDER + 1] = cell / dims[2] % dims[1];
    at[count * ORDER + 2] = cell % dims[2];
    ++count;
  }
  ALS_OK(context, polyad_ktensor_values(context, model, count, at, value));
  for (uint64_t k = 0; k < count && whole; ++k)
    value[k] = rint(value[k]);
  polyad_tensor_input input = input_of_rows(ORDER, dims, count, POLYAD_U64, at, value);
  polyad_tensor *tensor;
  input.zeros = POLYAD_ZEROS_KEEP;
  ALS_OK(context, polyad_tensor_create(context, &input, &tensor));
  free(at);
  free(value);
  return tensor;
}

/* The same cells with other values: those of a function of their number. */
static polyad_tensor *revalue(polyad_context *context, const polyad_tensor *tensor,
                              double (*of)(uint64_t)) {
  polyad_tensor *copy;
  ALS_OK(context, polyad_tensor_convert(context, tensor, POLYAD_F64, &copy));
  for (uint64_t q = 0; q < copy->nnz; ++q)
    ((double *)copy->values)[q] = of(q);
  copy->zeros_kept = 0;
  for (uint64_t q = 0; q < copy->nnz; ++q)
    copy->zeros_kept += ((double *)copy->values)[q] == 0;
  return copy;
}

static polyad_plan *plan_of(polyad_context *context, const polyad_tensor *tensor,
                            const char *format, polyad_type type) {
  polyad_plan_options options;
  polyad_plan *plan;
  polyad_plan_options_init(&options);
  options.format = format;
  options.precision = type;
  options.zeros = POLYAD_ZEROS_KEEP;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

static polyad_cp_complete_options options_for(uint64_t rank, polyad_complete_method method) {
  polyad_cp_complete_options options;
  polyad_cp_complete_options_init(&options);
  options.rank = rank;
  options.method = method;
  return options;
}

static polyad_ktensor *fit(polyad_context *context, const polyad_plan *plan,
                           const polyad_cp_complete_options *options, polyad_run_info *info) {
  polyad_ktensor *model;
  ALS_OK(context, polyad_cp_complete(context, plan, options, &model, info));
  return model;
}

/* ||M - T|| / ||T|| over all cells. */
static double distance(polyad_context *context, polyad_ktensor *model, polyad_ktensor *truth) {
  polyad_tensor *all = als_tensor_of_model(context, truth);
  double relative;
  ALS_OK(context, polyad_ktensor_fit(context, model, all, &relative));
  polyad_tensor_destroy(all);
  return 1 - relative;
}

/* ---- recovery ------------------------------------------------------------------------------- */

/* 10% of the cells of a tensor of rank 5 determine it. */
static void recovers(polyad_complete_method method, double error) {
  static const uint64_t dims[ORDER] = {40, 50, 45};
  polyad_context *context = cpu_context(2);
  polyad_ktensor *truth = als_random_model(context, ORDER, dims, 5, 3, 0);
  polyad_tensor *tensor = sample(context, truth, 0.1, 11, false);
  polyad_plan *plan = plan_of(context, tensor, "auto", POLYAD_F64);
  polyad_cp_complete_options options = options_for(5, method);
  polyad_run_info info = {0};
  options.ridge = 0;
  options.run.tolerance = 1e-6;
  options.run.max_iterations = 2000;
  options.run.starts = 2;
  polyad_ktensor *model = fit(context, plan, &options, &info);
  double far = distance(context, model, truth);
  if (!(far < error)) fail_msg("method %d: relative error %g; expected %g", method, far, error);
  assert_true(info.fit > 1 - error);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(truth);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void a_tenth_of_the_cells_is_enough(void **state) {
  (void)state;
  recovers(POLYAD_COMPLETE_ALS, 1e-6);
}

/* ---- the oracle ----------------------------------------------------------------------------- */

struct variant {
  polyad_complete_method method;
  bool weights, by_count, biases;
  uint32_t nonnegative; /* bit n: mode n */
};

enum { ALL = (1 << ORDER) - 1 };

static const uint64_t small[ORDER] = {9, 7, 8};

static double some_weight(uint64_t q) {
  return (double)(pd_random_u64(5, 5, q) % 4) / 2; /* 0, 0.5, 1, 1.5 */
}

/* The tensor and the weights as dense arrays. */
static void make_dense(const polyad_tensor *tensor, const polyad_tensor *weights, double *x,
                       double *weight) {
  for (uint64_t q = 0; q < tensor->nnz; ++q) {
    uint64_t cell = 0;
    for (int n = 0; n < ORDER; ++n)
      cell = cell * tensor->dims[n] + pd_tensor_index(tensor, n, q);
    x[cell] = pd_tensor_value(tensor, q);
    weight[cell] = weights != NULL ? pd_tensor_value(weights, q) : 1;
  }
}

/* Component r with its weight dealt out over the modes so that their ridges' terms are equal, as
 * they are where the objective is least. */
static void balance(struct oracle_complete *oracle, polyad_ktensor *model, size_t r) {
  const double *weights = polyad_ktensor_weights(model);
  uint64_t rank = polyad_ktensor_rank(model);
  long double norm[ORDER], all = weights[r];
  for (int n = 0; n < ORDER; ++n) {
    const double *factor = polyad_ktensor_factor(model, n);
    norm[n] = 0;
    for (size_t i = 0; i < oracle->dims[n]; ++i) {
      long double a = factor[i * rank + r];
      norm[n] += oracle_complete_ridge(oracle, n, i) * a * a;
    }
    norm[n] = sqrtl(norm[n]);
    all *= norm[n];
  }
  for (int n = 0; n < ORDER; ++n) {
    const double *factor = polyad_ktensor_factor(model, n);
    for (size_t i = 0; i < oracle->dims[n]; ++i)
      oracle->factor[n][i * oracle->rank + r] =
          norm[n] > 0 ? factor[i * rank + r] * cbrtl(all) / norm[n] : 0;
  }
}

/* The bias of a mode; its component has equal entries in all other modes. */
static void take_bias(struct oracle_complete *oracle, polyad_ktensor *model, int mode) {
  const double *weights = polyad_ktensor_weights(model);
  uint64_t rank = polyad_ktensor_rank(model);
  size_t r = oracle->rank + (size_t)mode;
  long double times = weights[r];
  for (int n = 0; n < ORDER; ++n) {
    const double *factor = polyad_ktensor_factor(model, n);
    if (n == mode) continue;
    times *= factor[r];
    for (size_t i = 0; i < oracle->dims[n]; ++i)
      assert_true(factor[i * rank + r] == factor[r]);
  }
  const double *factor = polyad_ktensor_factor(model, mode);
  for (size_t i = 0; i < oracle->dims[mode]; ++i)
    oracle->bias[mode][i] = times * factor[i * rank + r] - (mode == 0 ? oracle->mean : 0);
}

static void take_model(struct oracle_complete *oracle, polyad_ktensor *model) {
  for (int n = 0; n < ORDER; ++n) {
    oracle->factor[n] = calloc(oracle->dims[n] * oracle->rank, sizeof *oracle->factor[n]);
    oracle->bias[n] = calloc(oracle->dims[n], sizeof *oracle->bias[n]);
    assert_true(oracle->factor[n] != NULL && oracle->bias[n] != NULL);
  }
  for (size_t r = 0; r < oracle->rank; ++r)
    balance(oracle, model, r);
  for (int n = 0; n < ORDER && oracle->biases; ++n)
    take_bias(oracle, model, n);
}

/* Where the objective is least its gradient is zero; with a bound, it may be above zero there. What
 * is left after iterations that lower the objective by less than 1e-13 of itself is far below the
 * gradient's own terms, some of which are above one. */
static void check_gradient(const struct oracle_complete *oracle, uint32_t nonnegative) {
  long double scale = sqrtl(oracle_complete_objective(oracle));
  for (int n = 0; n < ORDER; ++n)
    for (size_t i = 0; i < oracle->dims[n]; ++i)
      for (size_t r = 0; r < oracle->rank + oracle->biases; ++r) {
        long double slope = oracle_complete_slope(oracle, n, i, r);
        bool bound = (nonnegative >> n & 1) && r < oracle->rank;
        if (bound) assert_true(oracle->factor[n][i * oracle->rank + r] >= 0);
        bool bounded = bound && oracle->factor[n][i * oracle->rank + r] == 0;
        if (bounded ? slope < -1e-4L * scale : fabsl(slope) > 1e-4L * scale)
          fail_msg("the objective has slope %Lg in mode %d, row %zu, number %zu", slope, n, i, r);
      }
}

/* A model of the variant's signs. */
static polyad_ktensor *truth_of(polyad_context *context, uint32_t nonnegative) {
  polyad_ktensor *truth = als_random_model(context, ORDER, small, 2, 8, nonnegative == ALL);
  for (int n = 0; n < ORDER; ++n)
    for (uint64_t k = 0; k < small[n] * 2; ++k) {
      double *number = (double *)polyad_ktensor_factor(truth, n) + k;
      if (nonnegative >> n & 1) *number = fmax(*number, 0);
    }
  return truth;
}

static void check_variant(struct variant variant) {
  polyad_context *context = cpu_context(1);
  polyad_ktensor *truth = truth_of(context, variant.nonnegative);
  polyad_tensor *tensor = sample(context, truth, 0.7, 4, false);
  polyad_tensor *weights = variant.weights ? revalue(context, tensor, some_weight) : NULL;
  polyad_plan *plan = plan_of(context, tensor, "auto", POLYAD_F64);
  double x[9 * 7 * 8] = {0}, weight[9 * 7 * 8] = {0};
  polyad_cp_complete_options options = options_for(2, variant.method);
  polyad_run_info info = {0};
  options.weights = weights;
  options.ridge_by_count = variant.by_count;
  options.biases = variant.biases;
  options.nonnegative = variant.nonnegative == ALL;
  if (!options.nonnegative) options.nonnegative_modes = variant.nonnegative;
  options.ridge = 0.05;
  options.bias_ridge = 0.1;
  options.run.tolerance = 1e-13;
  options.run.max_iterations = options.nonnegative_modes != 0 ? 10000 : 3000;
  polyad_ktensor *model = fit(context, plan, &options, &info);
  make_dense(tensor, weights, x, weight);
  struct oracle_complete oracle = {.order = ORDER,
                                   .dims = {9, 7, 8},
                                   .rank = 2,
                                   .cells = sizeof x / sizeof *x,
                                   .x = x,
                                   .weight = weight,
                                   .ridge = options.ridge,
                                   .bias_ridge = options.bias_ridge,
                                   .by_count = variant.by_count,
                                   .biases = variant.biases};
  double sum = 0, all = 0;
  for (size_t cell = 0; cell < oracle.cells; ++cell) {
    sum += weight[cell] * x[cell];
    all += weight[cell];
  }
  oracle.mean = sum / all;
  take_model(&oracle, model);
  check_gradient(&oracle, variant.nonnegative);
  for (int n = 0; n < ORDER; ++n) {
    free(oracle.factor[n]);
    free(oracle.bias[n]);
  }
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(truth);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  polyad_tensor_destroy(weights);
  context_end(context);
}

static void the_objective_is_least(void **state) {
  (void)state;
  for (int method = POLYAD_COMPLETE_ALS; method <= POLYAD_COMPLETE_CCD; ++method)
    for (int bits = 0; bits < 32; ++bits) {
      static const uint32_t sets[] = {0, ALL, 1, 6};
      bool weights = bits & 1, by_count = bits & 2, biases = bits & 4;
      uint32_t nonnegative = sets[bits / 8];
      if (bits >= 16 && (weights || by_count))
        continue;                        /* what they change is no matter of signs */
      if (weights && by_count) continue; /* the oracle does not count cells of weight zero */
      if (TEST_SANITIZED && bits >= 16 && !biases) continue; /* up to 10,000 iterations */
      check_variant(
          (struct variant){(polyad_complete_method)method, weights, by_count, biases, nonnegative});
    }
}

/* ---- bits ----------------------------------------------------------------------------------- */

/* Rows of more than PD_PIECE_LEAST observations are summed in pieces. */
static polyad_tensor *long_rows(polyad_context *context) {
  static const uint64_t dims[ORDER] = {3, 150, 120};
  polyad_ktensor *truth = als_random_model(context, ORDER, dims, 3, 6, 0);
  polyad_tensor *tensor = sample(context, truth, 0.4, 2, true);
  polyad_ktensor_destroy(truth);
  return tensor;
}

static void same_bits(polyad_complete_method method, polyad_type type) {
  static const char *const formats[] = {"coo", "csf", "alto"};
  polyad_ktensor *first = NULL;
  for (int threads = 1; threads <= 4; threads += threads)
    for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f) {
      static polyad_context *keeper;
      polyad_context *context = cpu_context(threads);
      polyad_tensor *tensor = long_rows(context);
      polyad_plan *plan = plan_of(context, tensor, formats[f], type);
      polyad_cp_complete_options options = options_for(4, method);
      options.biases = 1;
      options.run.max_iterations = 4;
      polyad_ktensor *model = fit(context, plan, &options, NULL);
      if (first == NULL) {
        first = model;
        keeper = context;
      } else if (!als_same_model(first, model)) {
        fail_msg("method %d: other bits with %d threads, %s", method, threads, formats[f]);
      }
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      if (model != first) {
        polyad_ktensor_destroy(model);
        context_end(context);
      }
      if (threads == 4 && f == 2) {
        polyad_ktensor_destroy(first);
        context_end(keeper);
      }
    }
}

static void bits_do_not_depend_on_threads_or_formats(void **state) {
  (void)state;
  for (int method = POLYAD_COMPLETE_ALS; method <= POLYAD_COMPLETE_SGD; ++method) {
    same_bits((polyad_complete_method)method, POLYAD_F64);
    same_bits((polyad_complete_method)method, POLYAD_F32);
  }
}

/* ---- zeros, weights, empty rows ------------------------------------------------------------- */

/* Every format that holds the tensor gives its zeros back. */
static void plans_keep_zeros(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_ktensor *truth = als_random_model(context, ORDER, small, 2, 8, 0);
  polyad_tensor *tensor = sample(context, truth, 0.5, 4, true);
  assert_true(polyad_tensor_zeros_kept(tensor) > 10);
  int held = 0;
  for (int f = 0; f < polyad_format_count(); ++f) {
    polyad_format_description about;
    polyad_plan_options options;
    polyad_plan *plan;
    polyad_plan_options_init(&options);
    ALS_OK(context, polyad_format_describe(f, &about));
    options.format = about.name;
    options.zeros = POLYAD_ZEROS_KEEP;
    if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK) continue;
    polyad_tensor *back;
    ALS_OK(context, pd_plan_expand(context, plan, &back));
    if (polyad_tensor_hash(back) != polyad_tensor_hash(tensor))
      fail_msg("format %s changes a tensor with zeros", about.name);
    polyad_tensor_destroy(back);
    polyad_plan_destroy(plan);
    ++held;
  }
  assert_true(held >= 8);
  polyad_ktensor_destroy(truth);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static double zero_or_one(uint64_t q) { return (double)(q % 3 != 0); }

/* Without biases a cell of weight 0 is an unknown one. */
static void weight_zero_is_unknown(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_ktensor *truth = als_random_model(context, ORDER, small, 2, 8, 0);
  polyad_tensor *tensor = sample(context, truth, 0.8, 4, false), *changed;
  polyad_tensor *weights = revalue(context, tensor, zero_or_one);
  ALS_OK(context, polyad_tensor_convert(context, tensor, POLYAD_F64, &changed));
  for (uint64_t q = 0; q < changed->nnz; q += 3)
    ((double *)changed->values)[q] = 1e3;
  polyad_cp_complete_options options = options_for(2, POLYAD_COMPLETE_ALS);
  options.weights = weights;
  options.ridge = 1e-6;
  options.run.tolerance = 0;
  options.run.max_iterations = 300;
  polyad_plan *plan = plan_of(context, changed, "auto", POLYAD_F64);
  polyad_ktensor *model = fit(context, plan, &options, NULL);
  assert_true(distance(context, model, truth) < 1e-4);
  polyad_ktensor_destroy(model);
  options.weights = changed; /* of the right cells; one is negative */
  polyad_ktensor *none;
  assert_int_equal(polyad_cp_complete(context, plan, &options, &none, NULL), POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(context), "a weight is negative"));
  polyad_plan_destroy(plan);
  polyad_ktensor_destroy(truth);
  polyad_tensor_destroy(tensor);
  polyad_tensor_destroy(changed);
  polyad_tensor_destroy(weights);
  context_end(context);
}

static double about_one(uint64_t q) { return 0.5 + pd_random_uniform(5, 0, q); }

static double far_below_one(uint64_t q) { return ldexp(about_one(q), -10); }

static double fit_of(polyad_context *context, const polyad_plan *plan,
                     polyad_complete_method method, double ridge, polyad_run_info *info) {
  polyad_cp_complete_options options = options_for(2, method);
  if (ridge > 0) options.ridge = ridge;
  polyad_ktensor_destroy(fit(context, plan, &options, info));
  return info->fit;
}

/* The default ridge leaves nothing of values of about 2^-10. The one that the diagnosis names is
 * what the default is worth beside their root mean square, and is as heavy for them as 2^(40/3)
 * times as much is for values 2^10 times as large: both runs differ by rounding alone. */
static void small_values_ask_for_a_small_ridge(void **state) {
  (void)state;
  static const uint64_t dims[ORDER] = {12, 9, 8};
  polyad_context *context = cpu_context(1);
  polyad_ktensor *truth = als_random_model(context, ORDER, dims, 3, 5, 0);
  polyad_tensor *cells = sample(context, truth, 0.5, 3, false);
  polyad_tensor *tensor[] = {revalue(context, cells, far_below_one),
                             revalue(context, cells, about_one)};
  polyad_plan *plan[2];
  double squares = 0;
  for (uint64_t q = 0; q < cells->nnz; ++q)
    squares += far_below_one(q) * far_below_one(q);
  double suited = 0.2 * pow(squares / (double)cells->nnz, 2.0 / 3);
  for (int k = 0; k < 2; ++k)
    plan[k] = plan_of(context, tensor[k], "auto", POLYAD_F64);
  for (int way = POLYAD_COMPLETE_ALS; way <= POLYAD_COMPLETE_SGD; ++way) {
    const polyad_complete_method method = (polyad_complete_method)way;
    static const char words[] = "for which a ridge of ";
    polyad_run_info info = {0};
    assert_true(fit_of(context, plan[0], method, 0, &info) < 1e-3);
    const char *named = strstr(info.diagnosis, words);
    assert_non_null(strstr(info.diagnosis, "The ridge 0.2 leaves next to nothing"));
    assert_non_null(named);
    double ridge = strtod(named + strlen(words), NULL);
    assert_true(fabs(ridge - suited) <= 0.005 * suited); /* three digits are shown */
    polyad_run_info_clear(&info);
    double of_small = fit_of(context, plan[0], method, ridge, &info);
    assert_null(strstr(info.diagnosis, "next to nothing"));
    polyad_run_info_clear(&info);
    double of_large = fit_of(context, plan[1], method, ridge * exp2(40.0 / 3), &info);
    polyad_run_info_clear(&info);
    assert_true(fabs(of_small - of_large) <= 1e-12 && of_small > 1e-3);
  }
  for (int k = 0; k < 2; ++k) {
    polyad_plan_destroy(plan[k]);
    polyad_tensor_destroy(tensor[k]);
  }
  polyad_tensor_destroy(cells);
  polyad_ktensor_destroy(truth);
  context_end(context);
}

/* An index without an observation has row 0; with biases its values are the other modes'. */
static void empty_rows_are_the_ridges(void **state) {
  (void)state;
  static const uint64_t dims[ORDER] = {4, 3, 3};
  static const int32_t index[] = {0, 0, 0, 0, 1, 2, 1, 2, 0, 1, 1, 1, 3, 0, 2, 3, 2, 2};
  static const double value[] = {3, 4, 5, 3, 2, 6};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_tensor(context, ORDER, dims, 6, index, value);
  polyad_plan *plan = plan_of(context, tensor, "auto", POLYAD_F64);
  for (int method = POLYAD_COMPLETE_ALS; method <= POLYAD_COMPLETE_SGD; ++method)
    for (int biases = 0; biases < 2; ++biases) {
      polyad_cp_complete_options options = options_for(2, (polyad_complete_method)method);
      polyad_run_info info = {0};
      options.biases = biases;
      polyad_ktensor *model = fit(context, plan, &options, &info);
      const double *factor = polyad_ktensor_factor(model, 0);
      uint64_t rank = polyad_ktensor_rank(model), at[] = {2, 0, 0};
      double found;
      assert_int_equal(rank, biases ? 5 : 2);
      assert_true(factor[2 * rank] == 0 && factor[2 * rank + 1] == 0);
      ALS_OK(context, polyad_ktensor_values(context, model, 1, at, &found));
      assert_true(biases ? found > 1 && found < 7 : found == 0);
      assert_non_null(strstr(info.diagnosis, "1 of 4 indices of mode 0 have no observation"));
      polyad_run_info_clear(&info);
      polyad_ktensor_destroy(model);
    }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- validation ----------------------------------------------------------------------------- */

static double rmse_on(polyad_context *context, polyad_ktensor *model, const polyad_tensor *tensor) {
  double sum = 0;
  for (uint64_t q = 0; q < tensor->nnz; ++q) {
    uint64_t at[ORDER];
    double found;
    for (int n = 0; n < ORDER; ++n)
      at[n] = pd_tensor_index(tensor, n, q);
    ALS_OK(context, polyad_ktensor_values(context, model, 1, at, &found));
    sum += (found - pd_tensor_value(tensor, q)) * (found - pd_tensor_value(tensor, q));
  }
  return sqrt(sum / (double)tensor->nnz);
}

/* Too many components for noise: the validation error soon grows, and the iterate of its least is
 * returned, with the error that is reported. */
static void the_best_iterate_is_returned(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *whole = als_random_tensor(context, ORDER, small, 250, 9, 0), *parts[2];
  const double share = 0.2;
  ALS_OK(context, polyad_tensor_split(context, whole, 1, &share, parts));
  polyad_plan *plan = plan_of(context, parts[1], "auto", POLYAD_F64);
  for (int method = POLYAD_COMPLETE_ALS; method <= POLYAD_COMPLETE_SGD; ++method) {
    polyad_cp_complete_options options = options_for(6, (polyad_complete_method)method);
    polyad_run_info info = {0};
    options.validation = parts[0];
    options.patience = 4;
    options.ridge = 1e-3;
    options.run.tolerance = 0;
    options.run.max_iterations = 2000;
    polyad_ktensor *model = fit(context, plan, &options, &info);
    assert_int_equal(info.reason, POLYAD_REASON_VALIDATION);
    double least = INFINITY;
    for (int k = 0; k < info.trace_rows; ++k)
      least = fmin(least, info.trace[k].validation_rmse);
    assert_true(info.trace[info.best_iteration - 1].validation_rmse == least);
    assert_true(info.best_iteration < info.iterations);
    double mine = rmse_on(context, model, parts[0]);
    assert_true(fabs(mine - info.validation_rmse) <= 1e-12 * mine);
    assert_true(fabs(mine - least) <= 1e-12 * mine);
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
  }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(whole);
  polyad_tensor_destroy(parts[0]);
  polyad_tensor_destroy(parts[1]);
  context_end(context);
}

/* Of several starts the one whose model has the least validation error is returned: more starts
 * never raise it. */
static void the_best_start_is_returned(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *whole = als_random_tensor(context, ORDER, small, 250, 9, 0), *parts[2];
  const double share = 0.2;
  ALS_OK(context, polyad_tensor_split(context, whole, 1, &share, parts));
  polyad_plan *plan = plan_of(context, parts[1], "auto", POLYAD_F64);
  double before = INFINITY, first = 0;
  for (int starts = 1; starts <= 6; ++starts) {
    polyad_cp_complete_options options = options_for(6, POLYAD_COMPLETE_ALS);
    polyad_run_info info = {0};
    options.validation = parts[0];
    options.ridge = 1e-3;
    options.run.starts = starts;
    options.run.max_iterations = 20;
    polyad_ktensor *model = fit(context, plan, &options, &info);
    assert_true(info.validation_rmse <= before);
    before = info.validation_rmse;
    if (starts == 1) first = before;
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
  }
  assert_true(before < first);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(whole);
  polyad_tensor_destroy(parts[0]);
  polyad_tensor_destroy(parts[1]);
  context_end(context);
}

static void wrong_options_are_refused(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, small, 50, 9, 0);
  polyad_plan *plan = plan_of(context, tensor, "auto", POLYAD_F64);
  const double wrong[] = {-1, INFINITY, NAN};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k)
    for (int which = 0; which < 3; ++which) {
      polyad_cp_complete_options options = options_for(2, POLYAD_COMPLETE_ALS);
      *(which == 0   ? &options.ridge
        : which == 1 ? &options.bias_ridge
                     : &options.learn_rate) = wrong[k];
      polyad_ktensor *model;
      assert_int_equal(polyad_cp_complete(context, plan, &options, &model, NULL),
                       POLYAD_INVALID_ARGUMENT);
      assert_null(model);
    }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Where most cells are known, those that are added as zeros are among the few others. */
static void added_zeros_are_other_cells(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_ktensor *truth = als_random_model(context, ORDER, small, 2, 8, 0);
  polyad_tensor *whole = sample(context, truth, 0.8, 4, false), *more;
  ALS_OK(context, polyad_tensor_add_negatives(context, whole, whole, 1, 0, &more));
  assert_true(more->nnz > whole->nnz);
  uint64_t p = 0; /* both are in the order of their cells */
  for (uint64_t q = 0; q < more->nnz; ++q) {
    bool known = p < whole->nnz;
    for (int n = 0; known && n < ORDER; ++n)
      known = pd_tensor_index(more, n, q) == pd_tensor_index(whole, n, p);
    assert_true(pd_tensor_value(more, q) == (known ? pd_tensor_value(whole, p) : 0));
    p += known;
  }
  assert_true(p == whole->nnz);
  polyad_tensor_destroy(more);
  polyad_tensor_destroy(whole);
  polyad_ktensor_destroy(truth);
  context_end(context);
}

/* Values far from one, and those of another scale: the model is the same but for the scale, where
 * the ridge is scaled with it. */
static void scales_do_not_matter(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_ktensor *truth = als_random_model(context, ORDER, small, 2, 8, 0);
  polyad_tensor *tensor = sample(context, truth, 0.6, 4, false), *large;
  ALS_OK(context, polyad_tensor_convert(context, tensor, POLYAD_F64, &large));
  for (uint64_t q = 0; q < large->nnz; ++q)
    ((double *)large->values)[q] = ldexp(((double *)large->values)[q], 300);
  for (int method = POLYAD_COMPLETE_ALS; method <= POLYAD_COMPLETE_SGD; ++method) {
    double fits[2];
    for (int k = 0; k < 2; ++k) {
      polyad_cp_complete_options options = options_for(2, (polyad_complete_method)method);
      polyad_plan *plan = plan_of(context, k == 0 ? tensor : large, "auto", POLYAD_F64);
      polyad_run_info info = {0};
      options.ridge = k == 0 ? 0.1 : ldexp(0.1, 400); /* 2^(300 (2 - 2/3)) */
      options.run.max_iterations = 10;
      polyad_ktensor *model = fit(context, plan, &options, &info);
      fits[k] = info.fit;
      polyad_run_info_clear(&info);
      polyad_ktensor_destroy(model);
      polyad_plan_destroy(plan);
    }
    assert_true(fabs(fits[0] - fits[1]) < 1e-9);
  }
  polyad_ktensor_destroy(truth);
  polyad_tensor_destroy(tensor);
  polyad_tensor_destroy(large);
  context_end(context);
}

/* SGD goes down the objective that ALS and CCD++ minimise, and not as far. */
static void methods_agree(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = long_rows(context);
  polyad_plan *plan = plan_of(context, tensor, "auto", POLYAD_F64);
  double fits[3];
  for (int method = POLYAD_COMPLETE_ALS; method <= POLYAD_COMPLETE_SGD; ++method) {
    polyad_cp_complete_options options = options_for(3, (polyad_complete_method)method);
    polyad_run_info info = {0};
    options.run.tolerance = 1e-6;
    if (method == POLYAD_COMPLETE_SGD) options.run.max_iterations = 60;
    options.run.starts = 2;
    polyad_ktensor *model = fit(context, plan, &options, &info);
    fits[method] = info.fit;
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
  }
  if (!(fabs(fits[1] - fits[0]) < 2e-3 && fabs(fits[2] - fits[0]) < 0.1))
    fail_msg("fits %g, %g, %g", fits[0], fits[1], fits[2]);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- splitting ------------------------------------------------------------------------------ */

static void parts_make_up_the_whole(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *whole = als_random_tensor(context, ORDER, small, 250, 9, 0), *parts[3];
  const double shares[] = {0.1, 0.25}, wrong[] = {0.5, 0.5};
  ALS_OK(context, polyad_tensor_set_labels(context, whole, 1, "name", NULL));
  ALS_OK(context, polyad_tensor_split(context, whole, 2, shares, parts));
  uint64_t nnz = polyad_tensor_nnz(whole);
  assert_int_equal(polyad_tensor_nnz(parts[0]), llround(0.1 * (double)nnz));
  assert_int_equal(polyad_tensor_nnz(parts[1]), llround(0.25 * (double)nnz));
  assert_string_equal(polyad_tensor_mode_name(parts[2], 1), "name");
  uint64_t at[3] = {0};
  for (uint64_t q = 0; q < nnz; ++q) {
    int found = 0;
    for (int k = 0; k < 3; ++k) {
      if (at[k] == polyad_tensor_nnz(parts[k])) continue;
      bool same = pd_tensor_value(parts[k], at[k]) == pd_tensor_value(whole, q);
      for (int n = 0; n < ORDER; ++n)
        same = same && pd_tensor_index(parts[k], n, at[k]) == pd_tensor_index(whole, n, q);
      at[k] += same;
      found += same;
    }
    assert_int_equal(found, 1);
  }
  for (int k = 0; k < 3; ++k)
    polyad_tensor_destroy(parts[k]);
  assert_int_equal(polyad_tensor_split(context, whole, 2, wrong, parts), POLYAD_INVALID_ARGUMENT);
  assert_null(parts[0]);
  polyad_tensor_destroy(whole);
  context_end(context);
}

/* ---- devices --------------------------------------------------------------------------------
 */

/* Drivers refuse to allocate nothing. */
static polyad_status allocate_some(polyad_context *context, const struct pd_device *device,
                                   uint64_t bytes, void **pointer) {
  assert_true(bytes > 0);
  return pd_cpu_device.functions->allocate(context, device, bytes, pointer);
}

/* Observations on a device with a memory of its own are those of the host, also where arrays are
 * empty: no row of these is long enough to be divided. */
static void observations_are_sent_whole(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, small, 250, 9, 0);
  struct pd_device_functions functions = *pd_cpu_device.functions;
  struct pd_device device = pd_cpu_device;
  struct pd_observations *sent, *kept;
  functions.host_memory = false;
  functions.allocate = allocate_some;
  device.functions = &functions;
  ALS_OK(context, pd_observations_create(context, tensor, tensor, 0, &kept));
  ALS_OK(context, pd_observations_create(context, tensor, tensor, 0, &sent));
  ALS_OK(context, pd_observations_find_rows(kept, &pd_cpu_completion));
  ALS_OK(context, pd_observations_find_rows(sent, &pd_cpu_completion));
  struct pd_observations *host = sent;
  ALS_OK(context, pd_observations_send(&device, &sent));
  assert_ptr_not_equal(sent, host);
  assert_memory_equal(sent->value, kept->value, kept->count * sizeof *kept->value);
  assert_memory_equal(sent->weight, kept->weight, kept->count * sizeof *kept->weight);
  for (int n = 0; n < ORDER; ++n) {
    const struct pd_observed_rows *rows = &kept->rows[n];
    assert_memory_equal(sent->cell[n], kept->cell[n], kept->count * sizeof *kept->cell[n]);
    assert_memory_equal(sent->rows[n].start, rows->start, (small[n] + 1) * sizeof *rows->start);
    assert_int_equal(rows->long_rows, 0);
    assert_null(sent->rows[n].piece);
  }
  pd_observations_destroy(sent);
  pd_observations_destroy(kept);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tenth_of_the_cells_is_enough),
      cmocka_unit_test(the_objective_is_least),
      cmocka_unit_test(bits_do_not_depend_on_threads_or_formats),
      cmocka_unit_test(plans_keep_zeros),
      cmocka_unit_test(weight_zero_is_unknown),
      cmocka_unit_test(empty_rows_are_the_ridges),
      cmocka_unit_test(small_values_ask_for_a_small_ridge),
      cmocka_unit_test(the_best_iterate_is_returned),
      cmocka_unit_test(the_best_start_is_returned),
      cmocka_unit_test(wrong_options_are_refused),
      cmocka_unit_test(added_zeros_are_other_cells),
      cmocka_unit_test(scales_do_not_matter),
      cmocka_unit_test(methods_agree),
      cmocka_unit_test(parts_make_up_the_whole),
      cmocka_unit_test(observations_are_sent_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
