/* CP-ALS with factors in bfloat16 for a time: when that begins and ends, that it ends at the fit of
 * a run without, and who is refused. The device is the CPU with tables that say that it can. */
#include "als_fixture.h"
#include "core/half.h"
#include "formats/format.h"
#include "linalg/linalg.h"
#include "plan/plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODES = 3 };

static struct pd_linalg half_linalg;
static struct pd_device half_device;
static struct pd_walk half_walk;
static struct polyad_kernels half_kernels;
static struct pd_matrix kept; /* the MTTKRP that an update began with */
static int begun, updates;    /* factors that were rounded at first, and by updates */
static bool coarse;           /* rounds to a power of two instead: more than the fit bears */

static float rounded(float x) {
  int exponent;
  if (!coarse) return pd_float_of_bfloat(pd_bfloat_of(x));
  float fraction = frexpf(x, &exponent);
  return ldexpf(fraction < 0 ? -0.5F : fraction > 0 ? 0.5F : 0, exponent);
}

static void round_rows(struct pd_matrix *a) {
  for (uint64_t k = 0; k < a->rows * a->columns; ++k) {
    float *entry = (float *)a->data + k;
    *entry = rounded(*entry);
    a->halves[k] = pd_bfloat_of(*entry);
  }
}

static polyad_status halve(polyad_context *context, struct pd_linalg_work *work,
                           struct pd_matrix *a) {
  (void)context;
  (void)work;
  ++begun;
  round_rows(a);
  return POLYAD_OK;
}

static polyad_status update_rows(polyad_context *context, int runs,
                                 const struct pd_update *updates_of) {
  struct pd_matrix *x = updates_of->x;
  uint64_t bytes = x->rows * x->columns * sizeof(float);
  assert_int_equal(runs, 1);
  if (x->halves != NULL) {
    kept = *x;
    kept.data = malloc(bytes);
    assert_non_null(kept.data);
    memcpy(kept.data, x->data, bytes);
  }
  PD_TRY(pd_cpu_linalg.update_rows(context, runs, updates_of));
  if (x->halves == NULL) return POLYAD_OK;
  ++updates;
  round_rows(x);
  return POLYAD_OK;
}

/* Gram matrix and inner products again, of the rounded rows. */
static polyad_status update_finish(polyad_context *context, int runs,
                                   const struct pd_update *updates_of) {
  PD_TRY(pd_cpu_linalg.update_finish(context, runs, updates_of));
  if (updates_of->x->halves == NULL) return POLYAD_OK;
  PD_TRY(pd_cpu_linalg.gram(context, updates_of->work, updates_of->x, updates_of->gram,
                            updates_of->peak));
  polyad_status status = pd_cpu_linalg.weighted_inner(context, updates_of->work, &kept,
                                                      updates_of->x, updates_of->lambda);
  free(kept.data);
  kept.data = NULL;
  return status;
}

static polyad_plan *plan_in(polyad_context *context, const polyad_tensor *tensor,
                            polyad_type type) {
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = "modecopy";
  options.precision = type;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

static void lend_tables(polyad_plan *plan) {
  half_linalg = *plan->device->linalg;
  half_linalg.halve = halve;
  half_linalg.update_rows = update_rows;
  half_linalg.update_finish = update_finish;
  half_device = *plan->device;
  half_device.linalg = &half_linalg;
  half_walk = *pd_walk_of(plan->kernels, PD_OPS_MTTKRP);
  half_walk.reads_halves = true;
  half_kernels = *plan->kernels;
  half_kernels.walks[0] = &half_walk;
  plan->device = &half_device;
  plan->kernels = &half_kernels;
  begun = updates = 0;
}

static polyad_plan *half_plan(polyad_context *context, const polyad_tensor *tensor) {
  polyad_plan *plan = plan_in(context, tensor, POLYAD_F32);
  lend_tables(plan);
  return plan;
}

static polyad_cp_als_options options_of(uint64_t rank, double tolerance, int half_rows) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = rank;
  options.run.max_iterations = 200;
  options.run.tolerance = tolerance;
  options.half_rows = half_rows;
  return options;
}

static polyad_tensor *read_data(polyad_context *context, const char *file) {
  polyad_tensor *tensor = NULL;
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", POLYAD_DATA, file);
  ALS_OK(context, polyad_tensor_read(context, path, NULL, &tensor));
  return tensor;
}

/* Iteration 1 is in single precision, then come those in bfloat16 for as long as the fit grows by
 * ten times the tolerance, then single precision to the end. Returns how many are in bfloat16. */
static int check_trace(const polyad_run_info *info, const polyad_cp_als_options *options) {
  int half = 0, last = info->trace_rows - 1;
  assert_true(info->trace_rows > 3);
  assert_int_equal(info->trace[0].half_rows, 0);
  for (int i = 1; i <= last; ++i) {
    double before = info->trace[i - 1].fit - (i > 1 ? info->trace[i - 2].fit : 0);
    int most = options->run.max_iterations, last_part = most / 4 > 1 ? most / 4 : 1;
    bool expected =
        most - i > last_part && (i == 1 || (info->trace[i - 1].half_rows != 0 &&
                                            before >= 10 * fmax(options->run.tolerance, 1e-5)));
    if ((info->trace[i].half_rows != 0) != expected)
      fail_msg("iteration %d: half rows %d; expected %d", i + 1, info->trace[i].half_rows,
               (int)expected);
    half += info->trace[i].half_rows;
  }
  assert_int_equal(info->trace[last].half_rows, 0);
  if (info->converged) assert_int_equal(info->trace[last - 1].half_rows, 0);
  return half;
}

/* The last iterations are of the same kind, so that the fit is the same; and every row's fit is
 * that of its model. */
static void ends_at_the_same_fit(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = read_data(context, "aminoacids.tns.gz");
  polyad_plan *plan = half_plan(context, tensor);
  polyad_run_info info[2] = {0};
  for (int half = 0; half < 2; ++half) {
    polyad_ktensor *model = NULL;
    polyad_cp_als_options options = options_of(3, 1e-6, half);
    double fit;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info[half]));
    ALS_OK(context, polyad_ktensor_fit(context, model, tensor, &fit));
    assert_true(fabs(fit - info[half].fit) <= info[half].fit_bound + 1e-6);
    assert_true(info[half].converged);
    if (half) {
      int rows = check_trace(&info[1], &options);
      assert_true(rows >= 2);
      assert_int_equal(begun, MODES);
      assert_int_equal(updates, MODES * rows);
    }
    polyad_ktensor_destroy(model);
  }
  if (!(fabs(info[0].fit - info[1].fit) <= 1e-5))
    fail_msg("fit %.9g with half rows; expected %.9g", info[1].fit, info[0].fit);
  polyad_run_info_clear(&info[0]);
  polyad_run_info_clear(&info[1]);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* The last of all iterations that are allowed is in single precision, and so is a single one. */
static void ends_before_the_last_iteration(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = read_data(context, "aminoacids.tns.gz");
  polyad_plan *plan = half_plan(context, tensor);
  for (int most = 1; most <= 4; ++most) {
    polyad_ktensor *model = NULL;
    polyad_run_info info = {0};
    polyad_cp_als_options options = options_of(3, 0, 1);
    options.run.max_iterations = most;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
    assert_int_equal(info.trace_rows, most);
    for (int i = 0; i < most; ++i)
      assert_int_equal(info.trace[i].half_rows, i > 0 && i + 1 < most);
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
  }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Rounding that makes the fit fall ends at once, and is no breakdown. */
static void a_fall_ends_it(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = read_data(context, "aminoacids.tns.gz");
  polyad_plan *plan = half_plan(context, tensor);
  polyad_run_info info[2] = {0};
  coarse = true;
  for (int half = 0; half < 2; ++half) {
    polyad_ktensor *model = NULL;
    polyad_cp_als_options options = options_of(3, 1e-7, half);
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info[half]));
    assert_true(info[half].reason != POLYAD_REASON_BREAKDOWN);
    polyad_ktensor_destroy(model);
  }
  coarse = false;
  int half = 0;
  for (int i = 0; i < info[1].trace_rows; ++i) {
    half += info[1].trace[i].half_rows;
    if (i > 0) assert_true(info[1].trace[i].fit >= info[1].trace[i - 1].fit - 1e-6);
  }
  assert_true(updates > 0 && half < 10);
  assert_true(fabs(info[0].fit - info[1].fit) <= 1e-4);
  polyad_run_info_clear(&info[0]);
  polyad_run_info_clear(&info[1]);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static int stop_at(void *iteration, const polyad_progress *progress) {
  return progress->iteration == *(const int *)iteration;
}

/* A run that was ended in any iteration goes on to the bits of one that was not. */
static void resumed_run_has_the_same_bits(void **state) {
  (void)state;
  char path[] = "/tmp/polyad-half-XXXXXX", before[64];
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  snprintf(before, sizeof before, "%s.prev", path);
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = read_data(context, "aminoacids.tns.gz");
  polyad_plan *plan = half_plan(context, tensor);
  polyad_cp_als_options options = options_of(3, 1e-5, 1);
  polyad_ktensor *whole = NULL;
  polyad_run_info info = {0};
  ALS_OK(context, polyad_cp_als(context, plan, &options, &whole, &info));
  int iterations = info.iterations, half = check_trace(&info, &options);
  assert_true(half >= 2 && iterations > half + 2);
  for (int end = 1; end < iterations; end += TEST_SANITIZED && end > 2 ? 4 : 1) {
    polyad_ktensor *model = NULL, *rest = NULL;
    unlink(path);
    unlink(before);
    options.run.checkpoint = path;
    polyad_set_progress(context, stop_at, &end);
    ALS_OK(context, polyad_cp_als(context, plan, &options, &model, &info));
    assert_int_equal(info.reason, POLYAD_REASON_CANCELLED);
    polyad_set_progress(context, NULL, NULL);
    options.run.checkpoint = NULL;
    options.run.resume = path;
    ALS_OK(context, polyad_cp_als(context, plan, &options, &rest, &info));
    assert_int_equal(info.iterations, iterations);
    assert_int_equal(check_trace(&info, &options), half);
    assert_true(als_same_model(rest, whole));
    options.half_rows = 0; /* another run */
    polyad_ktensor *none = NULL;
    assert_int_equal(polyad_cp_als(context, plan, &options, &none, NULL), POLYAD_MISMATCH);
    options.half_rows = 1;
    options.run.resume = NULL;
    polyad_ktensor_destroy(model);
    polyad_ktensor_destroy(rest);
  }
  unlink(path);
  unlink(before);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(whole);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void expect_refusal(polyad_context *context, const polyad_plan *plan,
                           const polyad_cp_als_options *options, const char *words) {
  polyad_ktensor *model = NULL;
  assert_int_equal(polyad_cp_als(context, plan, options, &model, NULL), POLYAD_UNSUPPORTED);
  if (strstr(polyad_last_error(context), words) == NULL)
    fail_msg("'%s' found; expected '%s'", polyad_last_error(context), words);
  assert_null(model);
}

static void refusals(void **state) {
  (void)state;
  static const uint64_t dims[MODES] = {9, 8, 7};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, MODES, dims, 100, 3, 0);
  polyad_plan *plan = plan_in(context, tensor, POLYAD_F32);
  polyad_plan *wide = plan_in(context, tensor, POLYAD_F64);
  polyad_cp_als_options options = options_of(4, 1e-4, 1);
  expect_refusal(context, plan, &options, "half rows need a GPU; device cpu found");
  lend_tables(wide);
  expect_refusal(context, wide, &options, "single precision");
  lend_tables(plan);
  options.rank = 2;
  expect_refusal(context, plan, &options, "a rank of at least 3");
  options.rank = 4;
  options.nonnegative = 1;
  expect_refusal(context, plan, &options, "factors of any sign");
  options.nonnegative = 0;
  half_walk.reads_halves = false;
  expect_refusal(context, plan, &options, "format modecopy has no kernels for half rows");
  half_walk.reads_halves = true;
  polyad_plan_destroy(plan);
  polyad_plan_destroy(wide);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_at_the_same_fit),
      cmocka_unit_test(ends_before_the_last_iteration),
      cmocka_unit_test(a_fall_ends_it),
      cmocka_unit_test(resumed_run_has_the_same_bits),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
