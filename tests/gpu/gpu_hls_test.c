/* "hls" on a GPU: both kernels, every variant, compute type and order, against the oracle; the same
 * bits every time; CP-ALS on tensor cores. */
#include "formats/storage.h"
#include "formats/tables.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "oracle/ttmc_oracle.h"
#include "unit/hls_fixture.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variants[] = {"auto", "sequential", "diagonal", "paper",
                                       "paper-sequential"};
enum { VARIANTS = sizeof variants / sizeof *variants };

static const char *const compute_names[] = {"native", "f16", "bf16", "tf32"};

/* A storage on the GPU. */
struct held {
  polyad_context *context;
  struct pd_hls *hls;
  const struct polyad_kernels *kernels;
  const struct pd_device *device;
  void *on_device;
};

/* False when the format refuses, as the atomic variants do in double. */
static bool hold(const struct mixture *mixture, polyad_type type, polyad_compute compute,
                 int threshold, const char *variant, struct held *held) {
  struct pd_request request = {.variant = variant,
                               .rank = 16,
                               .precision = type,
                               .compute = compute,
                               .parameter = {[PD_HLS_TILE_THRESHOLD] = threshold}};
  struct pd_traits traits;
  char reason[PD_REASON_BYTES] = "";
  void *storage = NULL;
  *held = (struct held){.context = gpu_context()};
  assert_int_equal(pd_device_of(held->context, &held->device), POLYAD_OK);
  request.device = held->device;
  request.threads = polyad_threads(held->context);
  polyad_tensor *tensor = mixture_tensor(held->context, mixture, type);
  assert_int_equal(pd_traits_compute(held->context, tensor, &traits), POLYAD_OK);
  bool supported = pd_hls_format.supports(&traits, &request, reason);
  if (supported) {
    assert_int_equal(
        pd_storage_build(held->context, &pd_hls_format, tensor, false, &request, &storage),
        POLYAD_OK);
    held->hls = storage;
    held->kernels = pd_kernels_find("hls", "cuda");
    assert_non_null(held->kernels);
    if (pd_storage_put(held->context, &pd_hls_format, held->device, storage, &held->on_device) !=
        POLYAD_OK)
      fail_msg("%s", polyad_last_error(held->context));
  }
  polyad_tensor_destroy(tensor);
  if (!supported) polyad_context_destroy(held->context);
  return supported;
}

static void drop(struct held *held) {
  pd_storage_release(held->context, &pd_hls_format, held->device, held->on_device);
  pd_storage_free(held->context, &pd_hls_format, held->hls);
  polyad_context_destroy(held->context);
}

/* Roundings: every factor to the compute type, once more the product with the first (chain,
 * diagonal); tensor cores and float add with at most 2^-22 a term. In half precision numbers far
 * below the largest of their column are multiples of 2^-24 of it; values and factors are below 1.5
 * here. */
static long double bound_of(const struct pd_hls *hls, long double magnitude, size_t terms) {
  static const long double units[] = {0, 0x1p-11L, 0x1p-8L, 0x1p-11L};
  long double unit = units[hls->compute], order = hls->order;
  if (hls->value == PD_HLS_F64)
    return magnitude * oracle_gamma((long double)terms + 2 * order, DBL_EPSILON / 2);
  long double compute = oracle_gamma(order + 1, unit);
  long double sums = ((long double)terms + 2 * order) * 0x1p-22L;
  long double tiny = hls->compute == POLYAD_COMPUTE_F16 ? (long double)terms * 0x1p-22L : 0;
  return magnitude * (compute + sums) + tiny;
}

static void compare(const struct held *held, const struct hls_problem *problem, bool chain,
                    const char *variant) {
  const struct pd_hls *hls = held->hls;
  for (int mode = 0; mode < hls->order; ++mode) {
    size_t columns = hls_problem_columns(problem, mode, chain), rows = (size_t)hls->dims[mode];
    long double *exact = malloc((rows * columns + 1) * sizeof *exact);
    long double *magnitude = malloc((rows * columns + 1) * sizeof *magnitude);
    size_t *terms = malloc((rows + 1) * sizeof *terms);
    double *out = malloc((rows * columns + 1) * sizeof *out);
    const double *const *factors = (const double *const *)problem->factor;
    if (chain)
      oracle_ttmc(&problem->tensor, mode, problem->ranks, factors, exact, magnitude, terms);
    else
      oracle_mttkrp(&problem->tensor, mode, columns, factors, exact, magnitude, terms);
    hls_problem_run(held->context, held->kernels, hls, held->on_device, problem, mode, chain, out);
    for (size_t k = 0; k < rows * columns; ++k) {
      long double bound = bound_of(hls, magnitude[k], terms[k / columns]);
      if (!(fabsl((long double)out[k] - exact[k]) <= bound))
        fail_msg("%s/%s %s %s, order %d, threshold %d, rank %llu, mode %d, row %zu column %zu: %g, "
                 "expected %Lg within %Lg",
                 chain ? "chain" : "mttkrp", variant, compute_names[hls->compute],
                 hls->type == POLYAD_F32 ? "f32" : "f64", hls->order, hls->threshold,
                 (unsigned long long)problem->ranks[0], mode, k / columns, k % columns, out[k],
                 exact[k], bound);
    }
    free(exact);
    free(magnitude);
    free(terms);
    free(out);
  }
}

static void run_both(const struct mixture *mixture, polyad_type type, polyad_compute compute,
                     int threshold, const char *variant, uint64_t rank, bool unequal) {
  struct held held;
  struct hls_problem problem;
  if (!hold(mixture, type, compute, threshold, variant, &held)) return;
  hls_problem_make(held.context, held.hls, rank, false, &problem);
  compare(&held, &problem, false, variant);
  if (mixture->order == 3 && !unequal) compare(&held, &problem, true, variant);
  hls_problem_free(&problem);
  if (unequal) {
    hls_problem_make(held.context, held.hls, rank, true, &problem);
    compare(&held, &problem, true, variant);
    hls_problem_free(&problem);
  }
  drop(&held);
}

/* All dense, mixed, all sparse; every order, compute type and variant; unequal ranks. */
static void test_every_order(void **state) {
  (void)state;
  static const int thresholds[] = {1, 78, PD_HLS_ALL_SPARSE};
  static const uint64_t ranks[] = {8, 16, 17, 33, 1};
  for (int m = 0; m < mixture_count; ++m)
    for (int t = 0; t < 3; ++t)
      for (int compute = 0; compute < 4; ++compute) {
        int turn = m + t + compute;
        run_both(&mixtures[m], turn % 2 ? POLYAD_F32 : POLYAD_F64, (polyad_compute)compute,
                 thresholds[t], variants[(m + 2 * t + compute) % VARIANTS], ranks[turn % 5], true);
      }
}

/* Every rank, variant and compute type; dims that are no multiples of 16. */
static void test_every_rank(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 8, 16, 17, 32, 64};
  for (int r = 0; r < 6; ++r)
    for (int v = 0; v < VARIANTS; ++v)
      for (int compute = 0; compute < 4; ++compute)
        run_both(&mixtures[ranks[r] > 32 ? 2 : 1], (r + v) % 2 ? POLYAD_F64 : POLYAD_F32,
                 (polyad_compute)compute, 78, variants[v], ranks[r], false);
}

/* So many tiles that a block sums several, from factors packed before: what other tests' tensors
 * are too small for. */
static void test_many_tiles(void **state) {
  (void)state;
  static const struct mixture of_mttkrp = {3, {700, 600, 500}, 8000, 90, 20000};
  static const struct mixture of_chain = {3, {300, 200, 160}, 1100, 90, 20000};
  for (int compute = POLYAD_COMPUTE_F16; compute <= POLYAD_COMPUTE_TF32; ++compute)
    for (int chain = 0; chain < 2; ++chain) {
      struct held held;
      struct hls_problem problem;
      assert_true(hold(chain ? &of_chain : &of_mttkrp, POLYAD_F32, (polyad_compute)compute, 78,
                       "auto", &held));
      assert_true(held.hls->tiles > (chain ? 700 : 6000));
      hls_problem_make(held.context, held.hls, 16, false, &problem);
      compare(&held, &problem, chain, "auto");
      hls_problem_free(&problem);
      drop(&held);
    }
}

/* Two small tensors: what compute-sanitizer has the time for. */
static void test_few(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; ++v)
    for (int compute = 0; compute < 4; ++compute) {
      run_both(&mixtures[1], v % 2 ? POLYAD_F64 : POLYAD_F32, (polyad_compute)compute, 78,
               variants[v], 17, false);
      run_both(&mixtures[3], POLYAD_F32, (polyad_compute)compute, 78, variants[v], 8, true);
    }
}

static void test_same_bits(void **state) {
  (void)state;
  for (int m = 0; m < 4; m += 3)
    for (int compute = 0; compute < 4; ++compute)
      for (int chain = 0; chain < 2; ++chain) {
        struct held held;
        struct hls_problem problem;
        assert_true(hold(&mixtures[m], POLYAD_F32, (polyad_compute)compute, 78, "auto", &held));
        hls_problem_make(held.context, held.hls, 16, false, &problem);
        for (int mode = 0; mode < held.hls->order; ++mode) {
          size_t count = (size_t)held.hls->dims[mode] * hls_problem_columns(&problem, mode, chain);
          double *first = malloc(count * sizeof *first), *again = malloc(count * sizeof *again);
          for (int run = 0; run < 8; ++run) {
            hls_problem_run(held.context, held.kernels, held.hls, held.on_device, &problem, mode,
                            chain, run == 0 ? first : again);
            if (run > 0) assert_memory_equal(first, again, count * sizeof *first);
          }
          free(first);
          free(again);
        }
        hls_problem_free(&problem);
        drop(&held);
      }
}

/* Factors and values that half precision cannot hold as they are. */
static void test_ranges(void **state) {
  (void)state;
  struct held held;
  struct hls_problem problem;
  assert_true(hold(&mixtures[0], POLYAD_F64, POLYAD_COMPUTE_F16, 78, "auto", &held));
  hls_problem_make(held.context, held.hls, 16, false, &problem);
  size_t columns = 16, rows = (size_t)held.hls->dims[0];
  double *plain = malloc(rows * columns * sizeof *plain), *scaled = malloc(rows * columns * 8);
  hls_problem_run(held.context, held.kernels, held.hls, held.on_device, &problem, 0, false, plain);
  for (int n = 1; n < 3; ++n)
    for (size_t k = 0; k < (size_t)held.hls->dims[n] * columns; ++k)
      problem.factor[n][k] *= n == 1 ? 0x1p40 : 0x1p-60;
  hls_problem_run(held.context, held.kernels, held.hls, held.on_device, &problem, 0, false, scaled);
  for (size_t k = 0; k < rows * columns; ++k)
    assert_true(scaled[k] == plain[k] * 0x1p-20);
  free(plain);
  free(scaled);
  hls_problem_free(&problem);
  drop(&held);
}

/* CP-ALS in every compute type ends within 1e-3 of the fit in double. */
static void test_cp_als(void **state) {
  (void)state;
  static const char *const files[] = {"aminoacids.tns.gz", "nycflights13.tns.gz",
                                      "uber-apr-may.tns.gz", "chicago-crime-2022.tns.gz"};
  for (int f = 0; f < 4; ++f) {
    double fits[4];
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", POLYAD_DATA, files[f]);
    for (int compute = 0; compute < 4; ++compute) {
      polyad_context *context = gpu_context();
      polyad_tensor *tensor = NULL;
      polyad_plan *plan = NULL;
      polyad_ktensor *model = NULL;
      polyad_run_info info = {0};
      polyad_plan_options options;
      polyad_cp_als_options als;
      polyad_plan_options_init(&options);
      options.format = "hls:tile-threshold=8"; /* so that tensor cores have some of the work */
      options.rank = 8;
      options.compute = (polyad_compute)compute;
      polyad_cp_als_options_init(&als);
      als.rank = 8;
      als.run.max_iterations = 20;
      if (polyad_tensor_read(context, path, NULL, &tensor) != POLYAD_OK ||
          polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK ||
          polyad_cp_als(context, plan, &als, &model, &info) != POLYAD_OK)
        fail_msg("%s", polyad_last_error(context));
      fits[compute] = info.fit;
      polyad_run_info_clear(&info);
      polyad_ktensor_destroy(model);
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      polyad_context_destroy(context);
    }
    fprintf(stderr, "%s: fit %.6f in double, %.6f f16, %.6f bf16, %.6f tf32\n", files[f], fits[0],
            fits[1], fits[2], fits[3]);
    for (int compute = 1; compute < 4; ++compute)
      assert_true(fabs(fits[compute] - fits[0]) <= 1e-3);
  }
}

GPU_TESTS(cmocka_unit_test(test_every_rank), cmocka_unit_test(test_every_order),
          cmocka_unit_test(test_same_bits), cmocka_unit_test(test_ranges),
          cmocka_unit_test(test_cp_als), cmocka_unit_test(test_many_tiles),
          cmocka_unit_test(test_few))
