/* PDNR and PQNR on a device with memory of its own, against the CPU's: every order, long, short and
 * empty rows, ranks on both sides of what blocks divide by, both precisions; the same bits every
 * time; what is refused, and what fails on the way. The device is a GPU where NEWTON_DEVICE names
 * it, else a fake one, whose blocks are threads of the system. That a run's log-likelihood is that
 * of its model is checked around every run (tests/invariant.c). */
#include "core/random.h"
#include "device/row_list.h"
#include "linalg/newton_rows.h"
#include "plan/plan.h"

#include "harness.h"
#include "unit/als_fixture.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef NEWTON_DEVICE
#include "gpu/gpu_context.h"
#else
#include "unit/fake_device.h"
#include "unit/host_newton.h"
#endif

/* ---- plans ------------------------------------------------------------------------------------
 */

static polyad_context *there_context(void) {
#ifdef NEWTON_DEVICE
  return gpu_context();
#else
  return cpu_context(1);
#endif
}

#ifdef NEWTON_DEVICE
/* Formats that describe their rows, with and without an order beside the nonzeros, and such whose
 * nonzeros have to be sorted first. */
static const char *const formats[] = {"auto", "coo", "alto", "modecopy", "blco", "hicoo"};
#else
static const char *const formats[] = {"coo", "csf"};
#endif
enum { FORMATS = sizeof formats / sizeof *formats };

static polyad_status plan_there(polyad_context *context, const polyad_tensor *tensor,
                                const char *format, uint64_t rank, polyad_type type,
                                polyad_plan **plan) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = rank;
  options.precision = type;
  options.format = format;
  polyad_status status = polyad_plan_create(context, tensor, &options, plan);
#ifdef NEWTON_DEVICE
  if (status != POLYAD_UNSUPPORTED || strcmp(format, "auto") == 0) return status;
  options.format = "auto"; /* the format does not take the tensor, or not on a GPU */
  return polyad_plan_create(context, tensor, &options, plan);
#else
  /* The storage stays the host's, whose kernels read it. */
  if (status == POLYAD_OK) (*plan)->device = fake_device();
  return status;
#endif
}

/* ---- tensors ----------------------------------------------------------------------------------
 */

struct sizes {
  int order;
  uint64_t dims[5], nnz, rank;
};

/* Counts. A third of them is of row 1 of the last mode; every fifth row of each mode that has more
 * than four is empty; some cells come more than once. */
static polyad_tensor *tensor_of(polyad_context *context, const struct sizes *sizes) {
  int32_t *index = malloc(sizes->nnz * (uint64_t)sizes->order * sizeof *index);
  double *value = malloc(sizes->nnz * sizeof *value);
  assert_true(index != NULL && value != NULL);
  for (uint64_t p = 0; p < sizes->nnz; ++p) {
    for (int n = 0; n < sizes->order; ++n) {
      uint64_t i = pd_random_u64(17, (uint64_t)n, p) % sizes->dims[n];
      if (n == sizes->order - 1 && p % 3 == 0) i = 1 % sizes->dims[n];
      if (sizes->dims[n] > 4 && i % 5 == 2) i -= 1;
      index[p * (uint64_t)sizes->order + (uint64_t)n] = (int32_t)i;
    }
    value[p] = 1 + (double)(pd_random_u64(17, 99, p) % 6);
  }
  polyad_tensor *tensor = als_tensor(context, sizes->order, sizes->dims, sizes->nnz, index, value);
  free(index);
  free(value);
  return tensor;
}

/* ---- runs -------------------------------------------------------------------------------------
 */

static polyad_cp_apr_options options_of(const struct sizes *sizes, polyad_apr_method method,
                                        int iterations) {
  polyad_cp_apr_options options;
  polyad_cp_apr_options_init(&options);
  options.rank = sizes->rank;
  options.method = method;
  options.run.max_iterations = iterations;
  return options;
}

/* How far apart numbers of two runs may be that round differently. Half of the digits of each
 * component stand where a row's Hessian has a condition of their number. L-BFGS enlarges errors
 * further in the iterations that it has not converged in: by how much tells a run of the CPU's
 * whose first model has other last digits (`moved`). A sum over a row is as far off as `sums` of
 * these: some dozens in what all rows add up to, the longest row's nonzeros at worst in the largest
 * violation, which is one row's. */
static double apart(double cpu, double moved, double scale, double rank, double sums,
                    polyad_type type) {
  double unit = type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
  return rank * sqrt(unit) * scale + sums * fabs(cpu - moved);
}

static void compare_traces(const struct sizes *sizes, const polyad_cp_apr_options *options,
                           polyad_type type, const polyad_run_info *cpu,
                           const polyad_run_info *moved, const polyad_run_info *there,
                           const char *format) {
  assert_int_equal(cpu->trace_rows, there->trace_rows);
  assert_int_equal(cpu->trace_rows, moved->trace_rows);
  for (int i = 0; i < cpu->trace_rows; ++i) {
    const polyad_trace_row *a = &cpu->trace[i], *m = &moved->trace[i], *b = &there->trace[i];
    double scale = fmax(fabs(a->log_likelihood), (double)sizes->nnz);
    double rank = (double)sizes->rank, violation = fmax(1, a->kkt_violation);
    double longest = fmax(64, (double)sizes->nnz / 3);
    double likelihood = apart(a->log_likelihood, m->log_likelihood, scale, rank, 64, type);
    double kkt = apart(a->kkt_violation, m->kkt_violation, violation, rank, longest, type);
    double inner = (double)a->inner_iterations;
    if (!(fabs(a->log_likelihood - b->log_likelihood) <= likelihood) ||
        !(fabs(a->kkt_violation - b->kkt_violation) <= kkt) ||
        !(fabs(inner - (double)b->inner_iterations) <= 0.02 * inner))
      fail_msg(
          "order %d, rank %d, method %d, %s, %s, iteration %d: log-likelihood %.15g, violation "
          "%.12g, %d inner iterations; on the CPU %.15g, %.12g, %d; within %.3g, %.3g",
          sizes->order, (int)sizes->rank, (int)options->method, format,
          type == POLYAD_F32 ? "f32" : "f64", i + 1, b->log_likelihood, b->kkt_violation,
          (int)b->inner_iterations, a->log_likelihood, a->kkt_violation, (int)a->inner_iterations,
          likelihood, kkt);
  }
}

/* A first model; `moved`: some entries are off by a unit in the last place. */
static polyad_ktensor *first_model(polyad_context *context, const struct sizes *sizes,
                                   polyad_type type, bool moved) {
  double unit = type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
  polyad_ktensor *model = als_random_model(context, sizes->order, sizes->dims, sizes->rank, 23, 1);
  for (int n = 0; n < sizes->order; ++n) {
    double *factor = polyad_ktensor_factor(model, n);
    for (uint64_t k = 0; k < sizes->dims[n] * sizes->rank && moved; ++k)
      factor[k] *= 1 + unit * ((double)(pd_random_u64(29, (uint64_t)n, k) % 3) - 1);
  }
  return model;
}

static void run(polyad_context *context, const polyad_plan *plan, const struct sizes *sizes,
                polyad_cp_apr_options options, bool moved, polyad_ktensor **model,
                polyad_run_info *info) {
  polyad_ktensor *initial = first_model(context, sizes, polyad_plan_type(plan), moved);
  options.init = POLYAD_INIT_MODEL;
  options.initial = initial;
  ALS_OK(context, polyad_cp_apr(context, plan, &options, model, info));
  polyad_ktensor_destroy(initial);
}

static void check_empty_rows(polyad_ktensor *model, polyad_type type) {
  uint64_t rank = polyad_ktensor_rank(model);
  for (int n = 0; n < polyad_ktensor_order(model); ++n) {
    const void *factor = polyad_ktensor_factor(model, n);
    if (polyad_ktensor_dims(model)[n] <= 4) continue;
    for (uint64_t k = 2 * rank; k < 3 * rank; ++k)
      assert_true((type == POLYAD_F32 ? (double)((const float *)factor)[k]
                                      : ((const double *)factor)[k]) == 0);
  }
}

static void compare(const struct sizes *sizes, polyad_apr_method method, polyad_type type,
                    const char *format, int iterations) {
  polyad_context *host = cpu_context(1), *context = there_context();
  polyad_cp_apr_options options = options_of(sizes, method, iterations);
  polyad_tensor *tensor = tensor_of(host, sizes);
  polyad_plan *at_host = als_plan(host, tensor, sizes->rank, type), *there = NULL;
  polyad_ktensor *model[4] = {NULL};
  polyad_run_info info[3] = {0};
  ALS_OK(context, plan_there(context, tensor, format, sizes->rank, type, &there));
  run(host, at_host, sizes, options, false, &model[0], &info[0]);
  run(host, at_host, sizes, options, true, &model[1], &info[1]);
  run(context, there, sizes, options, false, &model[2], &info[2]);
  run(context, there, sizes, options, false, &model[3], NULL);
  compare_traces(sizes, &options, type, &info[0], &info[1], &info[2], format);
  check_empty_rows(model[2], type);
  assert_true(als_same_model(model[2], model[3]));
  for (int k = 0; k < 4; ++k)
    polyad_ktensor_destroy(model[k]);
  for (int k = 0; k < 3; ++k)
    polyad_run_info_clear(&info[k]);
  polyad_plan_destroy(at_host);
  polyad_plan_destroy(there);
  polyad_tensor_destroy(tensor);
  context_end(context);
  context_end(host);
}

static const polyad_apr_method methods[] = {POLYAD_APR_PDNR, POLYAD_APR_PQNR};

static void compare_shapes(const struct sizes *shapes, int count, int iterations) {
  for (int k = 0; k < count; ++k)
    for (int m = 0; m < 2; ++m) {
      compare(&shapes[k], methods[m], POLYAD_F64, formats[k % FORMATS], iterations);
      compare(&shapes[k], methods[m], POLYAD_F32, formats[(k + 1 + m) % FORMATS], iterations);
    }
}

/* Small ones, also for sanitizers. */
static void test_few(void **state) {
  static const struct sizes shapes[] = {
      {3, {6, 5, 4}, 60, 2},
      {2, {9, 30}, 150, 5},
      {4, {5, 4, 3, 6}, 120, 3},
  };
  (void)state;
#ifndef NEWTON_DEVICE
  for (int threads = 1; threads <= 5; threads += 2) { /* rows longer and shorter than a batch */
    host_newton_block(threads, threads == 3 ? 7 : 64);
    compare_shapes(shapes, sizeof shapes / sizeof *shapes, 2);
  }
#else
  compare_shapes(shapes, sizeof shapes / sizeof *shapes, 2);
#endif
}

static void test_shapes(void **state) {
  static const struct sizes shapes[] = {
      {1, {50}, 30, 3},
      {2, {40, 60}, 900, 7},
      {3, {30, 40, 20}, 3000, 16},
      {3, {1, 1, 7}, 12, 2},
      {3, {40, 30, 20}, 6000, 33},
      {4, {20, 9, 8, 17}, 2500, 17},
      {5, {12, 7, 2, 10, 9}, 2000, 1},
      {3, {60, 50, 3}, 6000, 8},
      {5, {6, 5, 4, 3, 7}, 700, 12},
  };
  (void)state;
#ifndef NEWTON_DEVICE
  host_newton_block(1, 100);
#endif
  compare_shapes(shapes, sizeof shapes / sizeof *shapes, 3);
}

/* A run that goes on from a checkpoint has the bits of one that was never stopped. */
static void test_resumed(void **state) {
  (void)state;
  static const struct sizes sizes = {3, {30, 40, 20}, 2000, 6};
  for (int m = 0; m < 2; ++m) {
    char path[64], previous[80];
    polyad_context *context = there_context();
    polyad_cp_apr_options options = options_of(&sizes, methods[m], 4);
    polyad_tensor *tensor = tensor_of(context, &sizes);
    polyad_plan *plan = NULL;
    polyad_ktensor *whole = NULL, *half = NULL, *rest = NULL;
    snprintf(path, sizeof path, "newton_device.%ld", (long)getpid());
    snprintf(previous, sizeof previous, "%s.prev", path);
    ALS_OK(context, plan_there(context, tensor, formats[0], sizes.rank, POLYAD_F64, &plan));
    ALS_OK(context, polyad_cp_apr(context, plan, &options, &whole, NULL));
    options.run.checkpoint = path;
    options.run.checkpoint_every = 1;
    options.run.max_iterations = 2;
    ALS_OK(context, polyad_cp_apr(context, plan, &options, &half, NULL));
    options.run.resume = path;
    options.run.max_iterations = 4;
    ALS_OK(context, polyad_cp_apr(context, plan, &options, &rest, NULL));
    assert_false(als_same_model(whole, half));
    assert_true(als_same_model(whole, rest));
    polyad_ktensor_destroy(whole);
    polyad_ktensor_destroy(half);
    polyad_ktensor_destroy(rest);
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
    context_end(context);
    (void)unlink(previous);
    assert_int_equal(unlink(path), 0);
  }
}

#ifdef NEWTON_DEVICE
/* Blocks whose memory is the device's, rows of many batches, and many short rows. */
static void test_large(void **state) {
  static const struct sizes shapes[] = {
      {3, {30, 20, 25}, 4000, 64},
      {3, {20, 15, 10}, 1500, 130},
      {3, {3, 900, 800}, 60000, 16},
      {3, {7000, 30, 6600}, 20000, 10},
  };
  (void)state;
  compare_shapes(shapes, sizeof shapes / sizeof *shapes, 2);
}
#else

static const struct sizes small = {3, {6, 5, 4}, 60, 3};

/* ---- a storage that describes its rows ------------------------------------------------------- */

enum { MOST_NONZEROS = 60, SHIFT = 3 };

/* The nonzeros of a tensor once, and for every mode their order by rows, from the last row to the
 * first; indices lie above some other bits. */
static struct {
  const polyad_tensor *tensor;
  bool apart; /* nonzeros of a row of mode 1 do not stand together */
  int asked;  /* modes that were described */
  uint32_t plane[3][MOST_NONZEROS], order[3][MOST_NONZEROS];
  double value[MOST_NONZEROS];
} listed;

static void list_tensor(const polyad_tensor *tensor, bool apart) {
  uint64_t nnz = polyad_tensor_nnz(tensor);
  assert_true(nnz <= MOST_NONZEROS && polyad_tensor_index_bytes(tensor, 0) == 4);
  listed.tensor = tensor;
  listed.apart = apart;
  listed.asked = 0;
  memcpy(listed.value, polyad_tensor_values(tensor), nnz * sizeof(double));
  for (int n = 0; n < 3; ++n) {
    const uint32_t *index = polyad_tensor_indices(tensor, n);
    uint32_t count = 0;
    for (uint64_t p = 0; p < nnz; ++p)
      listed.plane[n][p] = index[p] << SHIFT | 5;
    for (uint64_t i = polyad_tensor_dims(tensor)[n]; i-- > 0;)
      for (uint32_t p = 0; p < nnz; ++p)
        if (index[p] == i) listed.order[n][count++] = p;
  }
}

static struct pd_row_plane listed_plane(int mode) {
  return (struct pd_row_plane){listed.plane[mode], SHIFT, UINT32_MAX >> SHIFT};
}

static bool listed_rows(const void *scratch, int mode, struct pd_row_list *list) {
  assert_non_null(scratch);
  if (listed.apart && mode == 1) return false;
  ++listed.asked;
  *list = (struct pd_row_list){.nnz = polyad_tensor_nnz(listed.tensor),
                               .row = listed_plane(mode),
                               .order = listed.order[mode],
                               .values = listed.value};
  for (int n = 0; n < 3; ++n) {
    if (n == mode) continue;
    list->column_mode[list->columns] = n;
    list->column[list->columns++] = listed_plane(n);
  }
  return true;
}

static uint64_t listed_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)storage, (void)ranks, (void)threads;
  return 0;
}

static polyad_status listed_fill(polyad_context *context, const void *storage,
                                 const uint64_t *ranks, void *scratch) {
  (void)context, (void)storage, (void)ranks, (void)scratch;
  return POLYAD_OK;
}

static const struct pd_walk listed_walk = {.ops = PD_OPS_TTMC,
                                           .scratch_bytes = sizeof(struct pd_scratch),
                                           .workspace_bytes = listed_bytes,
                                           .fill = listed_fill,
                                           .rows = listed_rows};

/* Rows come from the storage where all modes have them, and are the same ones that are sorted
 * otherwise: the same iterates, but for the order of sums. */
static void test_described_rows(void **state) {
  (void)state;
  for (int m = 0; m < 2; ++m)
    for (int apart = 0; apart < 2; ++apart) {
      polyad_context *context = there_context();
      polyad_cp_apr_options options = options_of(&small, methods[m], 3);
      polyad_tensor *tensor = tensor_of(context, &small);
      polyad_plan *plan = NULL;
      polyad_ktensor *model = NULL;
      polyad_run_info info[2] = {0};
      ALS_OK(context, plan_there(context, tensor, "coo", small.rank, POLYAD_F64, &plan));
      ALS_OK(context, polyad_cp_apr(context, plan, &options, &model, &info[0]));
      polyad_ktensor_destroy(model);
      list_tensor(tensor, apart);
      struct polyad_kernels kernels = *plan->kernels;
      kernels.walks[1] = &listed_walk;
      plan->kernels = &kernels;
      ALS_OK(context, polyad_cp_apr(context, plan, &options, &model, &info[1]));
      compare_traces(&small, &options, POLYAD_F64, &info[0], &info[0], &info[1], "described");
      assert_int_equal(listed.asked, apart ? 1 : 3);
      polyad_ktensor_destroy(model);
      polyad_run_info_clear(&info[0]);
      polyad_run_info_clear(&info[1]);
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      context_end(context);
    }
}

/* ---- what fails ------------------------------------------------------------------------------ */

static void test_every_allocation_fails(void **state) {
  (void)state;
  polyad_context *context = there_context();
  polyad_cp_apr_options options = options_of(&small, POLYAD_APR_PDNR, 1);
  polyad_tensor *tensor = tensor_of(context, &small);
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  ALS_OK(context, plan_there(context, tensor, "coo", small.rank, POLYAD_F64, &plan));
  uint64_t before = fake_device_used();
  (void)fake_device_fail(0);
  ALS_OK(context, polyad_cp_apr(context, plan, &options, &model, NULL));
  polyad_ktensor_destroy(model);
  long count = fake_device_fail(0);
  assert_true(count > 10);
  for (long k = 1; k <= count; ++k) {
    (void)fake_device_fail(k);
    model = NULL;
    polyad_status status = polyad_cp_apr(context, plan, &options, &model, NULL);
    assert_true(status == POLYAD_OUT_OF_MEMORY);
    assert_null(model);
    assert_true(fake_device_used() == before);
  }
  (void)fake_device_fail(0);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void test_refusals(void **state) {
  (void)state;
  polyad_context *context = there_context();
  polyad_cp_apr_options options = options_of(&small, POLYAD_APR_PQNR, 1);
  polyad_tensor *tensor = tensor_of(context, &small);
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  ALS_OK(context, plan_there(context, tensor, "coo", small.rank, POLYAD_F64, &plan));
  fake_device_newton(NULL);
  assert_int_equal(polyad_cp_apr(context, plan, &options, &model, NULL), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "PDNR and PQNR run on the CPU and on CUDA"));
  fake_device_newton(&host_newton);
  options.rank = PD_NEWTON_RANK_MOST + 1;
  assert_int_equal(polyad_cp_apr(context, plan, &options, &model, NULL), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "at most 16384; choose the CPU, or MU"));
  options.rank = small.rank;
  const char *told = NULL; /* once there is memory for the run's first small arrays */
  for (uint64_t more = 512; told == NULL && more < 16384; more += 512) {
    ALS_OK(context, polyad_set_memory_limit(context, polyad_memory_in_use(context) + more));
    assert_int_equal(polyad_cp_apr(context, plan, &options, &model, NULL), POLYAD_MEMORY_LIMIT);
    told = strstr(polyad_last_error(context), "what solving their rows takes");
  }
  assert_non_null(told);
  ALS_OK(context, polyad_set_memory_limit(context, UINT64_MAX));
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}
#endif

int main(int count, char **arguments) {
#ifdef NEWTON_DEVICE
  int missing = gpu_missing();
  if (missing != 0) return missing;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_few),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_resumed),
#ifdef NEWTON_DEVICE
      cmocka_unit_test(test_large),
#else
      cmocka_unit_test(test_described_rows),
      cmocka_unit_test(test_every_allocation_fails),
      cmocka_unit_test(test_refusals),
#endif
  };
  if (count > 1) cmocka_set_test_filter(arguments[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
