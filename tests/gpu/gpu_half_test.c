/* Rows in bfloat16 on a GPU: MTTKRP of them has the bits of MTTKRP of the same numbers in float, an
 * update rounds what it has found, and CP-ALS with them ends at the fit of a run without. */
#include "core/half.h"
#include "formats/format.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "linalg/linalg.h"
#include "unit/als_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, true},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, true},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"fibers", 3, {30, 40, 300}, 50000, SHAPE_FIBERS, false},
    {"long and empty", 3, {70000, 30, 66000}, 2000, SHAPE_UNIFORM, false},
    {"four modes", 4, {25, 24, 110, 170}, 50000, SHAPE_FIBERS, true},
    {"five modes", 5, {12, 11, 2, 10, 9}, 9000, SHAPE_HEAVY, false},
    {"eight modes", 8, {30, 20, 4, 20, 3, 2, 3, 200}, 7000, SHAPE_UNIFORM, true},
};
enum { CASES = sizeof cases / sizeof *cases };
static const size_t ranks[] = {3, 4, 15, 16, 32, 33, 64, 130, 200};
enum { RANKS = sizeof ranks / sizeof *ranks };

struct factors {
  struct pd_matrix of[POLYAD_MAX_ORDER], out;
  const struct pd_matrix *list[POLYAD_MAX_ORDER];
  uint16_t *halves[POLYAD_MAX_ORDER];
  struct pd_linalg_work *work;
};

/* The problem's factors on the device, rounded, with copies in bfloat16. */
static void make_factors(polyad_context *context, const polyad_plan *plan,
                         const struct problem *problem, struct factors *factors) {
  const struct pd_device *device = plan->device;
  uint64_t longest = 1;
  *factors = (struct factors){.work = NULL};
  ALS_OK(context, device->linalg->work_create(context, device, problem->rank, &factors->work));
  for (int n = 0; n < plan->order; ++n) {
    struct pd_matrix *of = &factors->of[n];
    void *halves;
    size_t count = (size_t)plan->dims[n] * problem->rank;
    float *host = problem_in_type(problem->factor[n], count, POLYAD_F32);
    if (plan->dims[n] > longest) longest = plan->dims[n];
    ALS_OK(context,
           pd_factor_create(context, device, POLYAD_F32, plan->dims[n], problem->rank, of));
    ALS_OK(context, pd_matrix_from_host(context, of, host));
    ALS_OK(context,
           device->functions->allocate(context, device, of->rows * of->stride * 2, &halves));
    ALS_OK(context,
           device->functions->fill_zero(context, device, halves, of->rows * of->stride * 2));
    of->halves = factors->halves[n] = halves;
    ALS_OK(context, device->linalg->halve(context, factors->work, of));
    /* What is read back is what the host would have made of it. */
    float *back = malloc(count * sizeof *back);
    assert_non_null(back);
    ALS_OK(context, pd_matrix_to_host(context, of, back));
    for (size_t k = 0; k < count; ++k)
      assert_true(back[k] == pd_float_of_bfloat(pd_bfloat_of(host[k])));
    free(back);
    free(host);
    factors->list[n] = of;
  }
  ALS_OK(context,
         pd_factor_create(context, device, POLYAD_F32, longest, problem->rank, &factors->out));
}

static void free_factors(polyad_context *context, const polyad_plan *plan,
                         struct factors *factors) {
  for (int n = 0; n < plan->order; ++n) {
    plan->device->functions->release(context, plan->device, factors->halves[n]);
    pd_matrix_destroy(context, &factors->of[n]);
  }
  pd_matrix_destroy(context, &factors->out);
  plan->device->linalg->work_destroy(context, factors->work);
}

static float *product(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                      struct factors *factors, int mode) {
  struct pd_matrix out = factors->out;
  out.rows = plan->dims[mode];
  const struct pd_call call = {
      .op = PD_MTTKRP, .mode = mode, .factors = factors->list, .out = &out};
  float *host = malloc((size_t)(out.rows * out.columns + 1) * sizeof *host);
  assert_non_null(host);
  ALS_OK(context, pd_plan_run(context, plan, workspace, &call));
  ALS_OK(context, pd_matrix_to_host(context, &out, host));
  return host;
}

static void compare_bits(const char *format, const struct mttkrp_case *from, size_t rank) {
  polyad_context *context = gpu_context();
  struct problem problem;
  struct factors factors;
  polyad_plan_options options;
  polyad_workspace *workspace = NULL;
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = rank;
  options.precision = POLYAD_F32;
  problem_make(from, rank, 5, &problem);
  polyad_plan *plan = gpu_plan(context, &problem, &options);
  ALS_OK(context, polyad_workspace_create(context, plan, rank, &workspace));
  make_factors(context, plan, &problem, &factors);
  for (int mode = 0; mode < plan->order; ++mode) {
    float *half = product(context, plan, workspace, &factors, mode);
    for (int n = 0; n < plan->order; ++n)
      factors.of[n].halves = NULL;
    float *full = product(context, plan, workspace, &factors, mode);
    for (int n = 0; n < plan->order; ++n)
      factors.of[n].halves = factors.halves[n];
    size_t count = (size_t)plan->dims[mode] * rank;
    for (size_t k = 0; k < count; ++k)
      if (!(half[k] == full[k])) /* also where one is NaN */
        fail_msg("%s, %s, rank %zu, mode %d, entry %zu: %.9g, in float %.9g", format, from->name,
                 rank, mode, k, (double)half[k], (double)full[k]);
    free(half);
    free(full);
  }
  free_factors(context, plan, &factors);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  problem_free(&problem);
  polyad_context_destroy(context);
}

static void test_bits_of_products(void **state) {
  (void)state;
  for (int c = 0; c < CASES; ++c)
    for (int r = 0; r < RANKS; ++r) {
      compare_bits("modecopy", &cases[c], ranks[r]);
      if (cases[c].order >= 3 && r % 3 == 1) compare_bits("twotree", &cases[c], ranks[r]);
    }
}

/* Every entry of four strong components and eight weak ones. */
static polyad_tensor *noisy_tensor(polyad_context *context, const uint64_t dims[3]) {
  enum { STRONG = 4, ALL = 12 };
  polyad_ktensor *model = als_random_model(context, 3, dims, ALL, 21, 0);
  for (int n = 0; n < 3; ++n) {
    double *factor = polyad_ktensor_factor(model, n);
    for (uint64_t k = 0; k < dims[n] * ALL; ++k)
      if (k % ALL >= STRONG) factor[k] *= 0.4;
  }
  polyad_tensor *tensor = als_tensor_of_model(context, model);
  polyad_ktensor_destroy(model);
  return tensor;
}

static int stop_at(void *iteration, const polyad_progress *progress) {
  return progress->iteration == *(const int *)iteration;
}

/* Without and with half rows; and ended within their time, where the fit is that of the model too.
 */
static void compare_runs(const char *format, uint64_t rank) {
  static const uint64_t dims[3] = {40, 30, 25};
  polyad_context *context = gpu_context();
  polyad_tensor *tensor = noisy_tensor(context, dims);
  polyad_plan *plan = gpu_plan_of(context, tensor, format, rank, POLYAD_F32);
  double fits[2] = {0};
  for (int run = 0; run < 3; ++run) {
    polyad_cp_als_options als;
    polyad_run_info info = {0};
    int end = 5, half = 0;
    polyad_cp_als_options_init(&als);
    als.rank = rank;
    als.half_rows = run > 0;
    als.run.max_iterations = run == 2 ? 50 : 500;
    als.run.tolerance = run == 2 ? 0 : 1e-7;
    polyad_set_progress(context, run == 2 ? stop_at : NULL, &end);
    (void)gpu_als_fit(context, plan, tensor, &als, &info);
    polyad_set_progress(context, NULL, NULL);
    for (int i = 0; i < info.trace_rows; ++i)
      half += info.trace[i].half_rows;
    if (run == 2)
      assert_true(half >= 1 && info.reason == POLYAD_REASON_CANCELLED);
    else
      assert_true(run == 0 ? half == 0 : half >= 2 && half < info.trace_rows - 1);
    if (run < 2) fits[run] = info.fit;
    polyad_run_info_clear(&info);
  }
  if (!(fabs(fits[0] - fits[1]) <= 1e-5))
    fail_msg("%s, rank %d: fit %.9g with half rows; expected %.9g", format, (int)rank, fits[1],
             fits[0]);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
}

static void test_runs(void **state) {
  (void)state;
  for (uint64_t rank = 3; rank <= 4; ++rank) {
    compare_runs("modecopy", rank);
    compare_runs("twotree", rank);
  }
}

/* More components than the tensor has: the paths may part, so only fits are compared with models.
 */
static void test_updates(void **state) {
  (void)state;
  static const uint64_t dims[3] = {150, 30, 25};
  static const uint64_t of[] = {7, 16, 31, 32, 33, 40, 65};
  for (size_t k = 0; k < sizeof of / sizeof *of; ++k) {
    polyad_context *context = gpu_context();
    polyad_tensor *tensor = noisy_tensor(context, dims);
    polyad_plan *plan = gpu_plan_of(context, tensor, "modecopy", of[k], POLYAD_F32);
    polyad_cp_als_options als;
    polyad_run_info info = {0};
    int end = 6;
    polyad_cp_als_options_init(&als);
    als.rank = of[k];
    als.half_rows = 1;
    als.run.tolerance = 0;
    polyad_set_progress(context, stop_at, &end);
    (void)gpu_als_fit(context, plan, tensor, &als, &info);
    polyad_set_progress(context, NULL, NULL);
    assert_true(info.trace_rows > 1 && info.trace[1].half_rows != 0);
    polyad_run_info_clear(&info);
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
    polyad_context_destroy(context);
  }
}

GPU_TESTS(cmocka_unit_test(test_bits_of_products), cmocka_unit_test(test_runs),
          cmocka_unit_test(test_updates))
