/* float32 of well-posed data has float64's fit: after equal iterations from one start, in every
 * format that has kernels on the CPU; and what sums lose is within what formats and fits state. */
#include "als_fixture.h"
#include "core/random.h"
#include "plan/plan.h"
#include "tensor/tensor.h"
#include <math.h>

enum { ITERATIONS = 25 };

/* The fit, and by how much another run's may differ that rounds differently. */
struct found {
  double fit, drift;
};

static struct found fit_in(polyad_context *context, const polyad_tensor *tensor, const char *format,
                           polyad_type precision, const polyad_ktensor *start, bool nonnegative) {
  polyad_plan_options wanted;
  polyad_plan *plan;
  polyad_plan_options_init(&wanted);
  wanted.format = format;
  wanted.precision = precision;
  wanted.rank = polyad_ktensor_rank(start);
  polyad_status status = polyad_plan_create(context, tensor, &wanted, &plan);
  if (status == POLYAD_UNSUPPORTED) return (struct found){NAN, NAN};
  ALS_OK(context, status);
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = wanted.rank;
  options.run.max_iterations = ITERATIONS;
  options.run.tolerance = 0;
  options.init = POLYAD_INIT_MODEL;
  options.initial = start;
  options.nonnegative = nonnegative;
  polyad_ktensor *model;
  polyad_run_info info = {0};
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
  assert_int_equal(info.iterations, ITERATIONS);
  double drift = als_drift(context, model, polyad_plan_nnz(plan), ITERATIONS) + info.fit_bound;
  struct found found = {info.fit, drift};
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(plan);
  return found;
}

/* Entries that both precisions hold. */
static polyad_ktensor *start_of(polyad_context *context, int order, const uint64_t *dims,
                                uint64_t rank) {
  polyad_ktensor *start = als_random_model(context, order, dims, rank, 7, 1);
  for (int n = 0; n < order; ++n) {
    double *factor = polyad_ktensor_factor(start, n);
    for (uint64_t k = 0; k < dims[n] * rank; ++k)
      factor[k] = (double)(float)factor[k];
  }
  return start;
}

/* Every format that is there; float32 may differ by 1e-5, another float64 by its rounding. */
static void compare(polyad_context *context, polyad_tensor *tensor, int order, const uint64_t *dims,
                    uint64_t rank, bool nonnegative) {
  polyad_ktensor *start = start_of(context, order, dims, rank);
  struct found wide = fit_in(context, tensor, "coo", POLYAD_F64, start, nonnegative);
  double expected = wide.fit;
  int compared = 0;
  assert_true(isfinite(expected) && wide.drift < 1e-7);
  for (int k = 0; k < polyad_format_count(); ++k) {
    polyad_format_description about;
    ALS_OK(context, polyad_format_describe(k, &about));
    const char *format = about.name;
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      double fit = fit_in(context, tensor, format, (polyad_type)type, start, nonnegative).fit;
      if (isnan(fit)) continue;
      if (!(fabs(fit - expected) <= (type == POLYAD_F32 ? 1e-5 : wide.drift)))
        fail_msg("%s, %s: fit %.9f; float64 has %.9f", format,
                 type == POLYAD_F32 ? "float32" : "float64", fit, expected);
      compared += type == POLYAD_F32;
    }
  }
  if (compared < 10) fail_msg("%d formats have kernels in float32; expected 10 or more", compared);
  polyad_ktensor_destroy(start);
}

/* Components that stand apart, with a tenth of noise on a dense tensor. */
static void planted_components(void **state) {
  (void)state;
  static const uint64_t dims[3] = {24, 20, 16};
  polyad_context *context = cpu_context(3);
  polyad_ktensor *truth = als_random_model(context, 3, dims, 4, 11, 0);
  polyad_tensor *tensor = als_tensor_of_model(context, truth);
  double *values = tensor->values, spread = polyad_tensor_norm(tensor) / sqrt((double)tensor->nnz);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    values[p] += 0.1 * spread * pd_random_normal(5, 0, p);
  compare(context, tensor, 3, dims, 4, false);
  compare(context, tensor, 3, dims, 4, true);
  polyad_tensor_destroy(tensor);
  polyad_ktensor_destroy(truth);
  context_end(context);
}

/* Counts at random places: rows of very different lengths. */
static void sparse_counts(void **state) {
  (void)state;
  static const uint64_t dims[2][4] = {{300, 40, 200, 0}, {60, 9, 30, 20}};
  polyad_context *context = cpu_context(3);
  for (int order = 3; order <= 4; ++order) {
    polyad_tensor *tensor = als_random_tensor(context, order, dims[order - 3], 20000, 4, 1);
    compare(context, tensor, order, dims[order - 3], 6, order == 4);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

/* ---- how many additions a product goes through ---------------------------------------------- */

enum { CELLS = 1600, LENGTH = 400, RANK = 32 };

/* The first row's sum of 1 and of many halves of the unit roundoff, each of which a number that
 * holds 1 loses whole: a format may lose no more than the additions that it says it makes. Whether
 * it said so. */
static bool depth_is_true(polyad_context *context, const polyad_tensor *tensor, const char *format,
                          polyad_type type) {
  static float ones_f32[LENGTH * RANK], out_f32[LENGTH * RANK];
  static double ones_f64[LENGTH * RANK], out_f64[LENGTH * RANK];
  const void *ones = type == POLYAD_F32 ? (void *)ones_f32 : (void *)ones_f64;
  const void *factors[3] = {ones, ones, ones};
  polyad_plan_options wanted;
  polyad_plan *plan;
  polyad_workspace *workspace;
  for (int k = 0; k < LENGTH * RANK; ++k)
    ones_f32[k] = 1, ones_f64[k] = 1;
  polyad_plan_options_init(&wanted);
  wanted.format = format;
  wanted.precision = type;
  wanted.rank = RANK;
  polyad_status status = polyad_plan_create(context, tensor, &wanted, &plan);
  if (status == POLYAD_UNSUPPORTED) return false;
  ALS_OK(context, status);
  ALS_OK(context, polyad_workspace_create(context, plan, RANK, &workspace));
  ALS_OK(context, polyad_mttkrp(context, plan, workspace, 0, factors,
                                type == POLYAD_F32 ? (void *)out_f32 : (void *)out_f64));
  double unit = type == POLYAD_F32 ? 0x1p-24 : 0x1p-53;
  double roundings =
      (double)pd_plan_sum_depth(plan, workspace, 0) + 3; /* products, and the entry */
  for (int r = 0; r < RANK; ++r) {
    double found = type == POLYAD_F32 ? (double)out_f32[r] : out_f64[r];
    double exact = (CELLS - 1) * unit / 2; /* beside 1, which is taken away without a rounding */
    if (!(fabs(found - 1 - exact) <= roundings * unit * (1 + exact)))
      fail_msg("%s is off by %.1f roundings; expected at most %.0f", format,
               fabs(found - 1 - exact) / unit, roundings);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return true;
}

static void depths_are_true(polyad_type type) {
  static const uint64_t dims[3][3] = {{2, 40, 40}, {2, 4, LENGTH}, {2, LENGTH, 4}};
  static int32_t index[CELLS][3];
  static double value[CELLS];
  polyad_context *context = cpu_context(2);
  for (int k = 0; k < 3; ++k) {
    int tried = 0;
    for (int p = 0; p < CELLS; ++p) {
      index[p][1] = p / (int)dims[k][2];
      index[p][2] = p % (int)dims[k][2];
      value[p] = p == 0 ? 1 : type == POLYAD_F32 ? 0x1p-25 : 0x1p-54;
    }
    polyad_tensor *tensor = als_tensor(context, 3, dims[k], CELLS, &index[0][0], value);
    for (int f = 0; f < polyad_format_count(); ++f) {
      polyad_format_description about;
      ALS_OK(context, polyad_format_describe(f, &about));
      tried += depth_is_true(context, tensor, about.name, type);
    }
    assert_true(tried >= 10);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

static void depths_of_sums_are_true(void **state) {
  (void)state;
  depths_are_true(POLYAD_F32);
  depths_are_true(POLYAD_F64);
}

/* ---- long sums of equal terms --------------------------------------------------------------- */

/* Equal terms round alike, so that their sum drifts: every fit of a constant tensor, whose model is
 * exact but for the rounding of its last update, is within its own bound of 1. */
static void equal_terms_stay_in_the_bound(void **state) {
  (void)state;
  enum { ROWS = 600, COLUMNS = 700 };
  static const uint64_t dims[3] = {ROWS, COLUMNS, 1};
  static int32_t index[ROWS * COLUMNS][3];
  static double value[ROWS * COLUMNS];
  /* A row's products, additions and solve, of one update each of the three factors, and the
   * products of Gram matrices, whose sums are shorter. */
  double rounded = 3 * 2 * (ROWS * COLUMNS + 8) * 0x1p-53;
  polyad_context *context = cpu_context(1);
  for (int p = 0; p < ROWS * COLUMNS; ++p) {
    index[p][0] = p / COLUMNS;
    index[p][1] = p % COLUMNS;
    value[p] = 0.9;
  }
  polyad_tensor *tensor = als_tensor(context, 3, dims, ROWS * COLUMNS, &index[0][0], value);
  for (int f = 0; f < polyad_format_count(); ++f) {
    polyad_format_description about;
    polyad_plan_options wanted;
    polyad_plan *plan;
    ALS_OK(context, polyad_format_describe(f, &about));
    polyad_plan_options_init(&wanted);
    wanted.format = about.name;
    wanted.rank = 1;
    if (polyad_plan_create(context, tensor, &wanted, &plan) != POLYAD_OK) continue;
    polyad_cp_als_options options;
    polyad_ktensor *model;
    polyad_run_info info = {0};
    polyad_cp_als_options_init(&options);
    options.rank = 1;
    options.run.max_iterations = 3;
    options.run.tolerance = 0;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
    for (int row = 0; row < info.trace_rows; ++row)
      if (!(1 - info.trace[row].fit <= info.trace[row].fit_bound + rounded))
        fail_msg("%s, iteration %d: a fit of 1 - %.3g is off by more than its bound, %.3g",
                 about.name, row + 1, 1 - info.trace[row].fit, info.trace[row].fit_bound);
    polyad_ktensor_destroy(model);
    polyad_run_info_clear(&info);
    polyad_plan_destroy(plan);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_components), cmocka_unit_test(sparse_counts),
      cmocka_unit_test(depths_of_sums_are_true), cmocka_unit_test(equal_terms_stay_in_the_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
