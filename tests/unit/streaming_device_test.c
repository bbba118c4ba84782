/* Tensors that stream to a device with memory of its own, against plans in memory on the CPU: with
 * chunks that end within slices, from the host's memory and from disk, for every order, both
 * precisions and several ranks; limits of the device's memory, which are told and kept; and what
 * fails on the way. The device is a GPU where STREAM_DEVICE names it, else a fake one. */
#include "unit/streaming_fixture.h"

#include "plan/plan_create.h"
#include "plan/stream.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef STREAM_DEVICE
#include "gpu/gpu_context.h"
#else
#include "unit/fake_device.h"
#endif

/* ---- the device -------------------------------------------------------------------------------
 */

static polyad_context *there_context(void) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  OK(context, polyad_set_threads(context, 2));
#ifdef STREAM_DEVICE
  OK(context, polyad_set_device(context, STREAM_DEVICE));
#else
  OK(context, polyad_set_device(context, "cpu"));
#endif
  return context;
}

static const struct pd_device *there(polyad_context *context) {
#ifdef STREAM_DEVICE
  const struct pd_device *device = NULL;
  OK(context, pd_device_of(context, &device));
  return device;
#else
  (void)context;
  return fake_device();
#endif
}

static uint64_t bytes_there(polyad_context *context) {
  uint64_t used, peak;
  there(context)->functions->memory_used(there(context), &used, &peak);
  return used;
}

/* ---- tensors and plans ------------------------------------------------------------------------
 */

/* A tensor with its file. */
static polyad_tensor *write_tensor(polyad_context *context, const char *path, int order,
                                   uint64_t nnz) {
  polyad_tensor *tensor = tensor_of(context, order, nnz, 1);
  OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  return tensor;
}

static polyad_status try_stream(polyad_context *context, const char *path,
                                const polyad_plan_options *options, uint64_t chunk, bool keeps,
                                polyad_plan **plan) {
  struct pd_request request = {.variant = "auto",
                               .rank = options->rank,
                               .precision = options->precision,
                               .threads = polyad_threads(context),
                               .kernel = options->kernel,
                               .compute = POLYAD_COMPUTE_NATIVE,
                               .device = there(context)};
  const polyad_stream_options stream = {.spill_directory = ".", .chunk_nonzeros = chunk};
  *plan = NULL;
  polyad_status status = pd_stream_plan_create(context, path, &stream, &request, keeps, plan);
  if (status != POLYAD_OK) assert_null(*plan);
  return status;
}

static polyad_plan *stream_of(polyad_context *context, const char *path, polyad_type type,
                              uint64_t rank, uint64_t chunk, bool keeps) {
  const polyad_plan_options options = options_of(type, rank, POLYAD_KERNEL_PHI);
  polyad_stream_info about;
  polyad_plan *plan;
  OK(context, try_stream(context, path, &options, chunk, keeps, &plan));
  OK(context, pd_plan_check(context, plan));
  polyad_plan_stream_info(plan, &about);
  assert_true(about.streamed && (about.spilled_bytes == 0) == keeps);
  return plan;
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static void check_kernels(int order, polyad_type type, uint64_t nnz, uint64_t chunk,
                          uint64_t rank) {
  polyad_context *host = cpu_context(2), *context = there_context();
  polyad_tensor *tensor = NULL;
  const char *path = path_of("kernels.ptn");
  struct results in_memory, streamed[2];
  tensor = write_tensor(host, path, order, nnz);
  polyad_plan *plan = memory_of(host, tensor, type, rank);
  OK(host, compute(host, plan, rank, &in_memory));
  for (int keeps = 0; keeps < 2; ++keeps) {
    polyad_plan *there = stream_of(context, path, type, rank, chunk, keeps != 0);
    assert_true(plan->tensor_hash == there->tensor_hash);
    OK(context, compute(context, there, rank, &streamed[keeps]));
    compare(plan, rank, streamed[keeps].mttkrp, in_memory.mttkrp);
    compare(plan, rank, streamed[keeps].phi, in_memory.phi);
    polyad_plan_destroy(there);
    assert_int_equal(bytes_there(context), 0);
  }
  same_bits(plan, rank, &streamed[0], &streamed[1]);
  results_free(&in_memory);
  results_free(&streamed[0]);
  results_free(&streamed[1]);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  unlink(path);
  polyad_context_destroy(host);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void kernels_agree(void **state) {
  (void)state;
  static const uint64_t chunks[] = {1, 7, 100, 1000, 1 << 20}, ranks[] = {1, 16, 33};
  for (int order = 1; order <= 5; ++order)
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; ++c) {
      uint64_t nnz = chunks[c] == 1 ? 100 : chunks[c] == 7 ? 900 : 3000;
      uint64_t rank = ranks[(c + (size_t)order) % 3];
      check_kernels(order, POLYAD_F64, nnz, chunks[c], rank);
      check_kernels(order, POLYAD_F32, nnz, chunks[c], rank);
    }
}

/* One for sanitizers. */
static void kernels_agree_once(void **state) {
  (void)state;
  check_kernels(3, POLYAD_F32, 900, 300, 16);
}

/* ---- decompositions ---------------------------------------------------------------------------
 */

static void als_agrees(void **state) {
  (void)state;
  for (int what = 0; what < 4; ++what) {
    const int nonnegative = what & 1;
    const bool keeps = (what & 2) != 0;
    polyad_context *host = cpu_context(2), *context = there_context();
    polyad_tensor *tensor = NULL;
    const char *path = path_of("als.ptn");
    polyad_ktensor *model[2];
    polyad_run_info info[2] = {0};
    tensor = write_tensor(host, path, 3, 5000);
    polyad_plan *plan[2] = {memory_of(host, tensor, POLYAD_F64, 5),
                            stream_of(context, path, POLYAD_F64, 5, 700, keeps)};
    OK(host, decompose(host, plan[0], 5, nonnegative, &model[0], &info[0]));
    OK(context, decompose(context, plan[1], 5, nonnegative, &model[1], &info[1]));
    assert_true(fabs(info[0].fit - info[1].fit) <= info[0].fit_bound + info[1].fit_bound + 1e-12);
    check_model(host, model[0], model[1], 1e-9);
    for (int k = 0; k < 2; ++k) {
      polyad_ktensor_destroy(model[k]);
      polyad_run_info_clear(&info[k]);
      polyad_plan_destroy(plan[k]);
    }
    assert_int_equal(bytes_there(context), 0);
    polyad_tensor_destroy(tensor);
    unlink(path);
    polyad_context_destroy(host);
    polyad_context_destroy(context);
  }
}

/* All cells of a model of rank 1: the fit has to come from residuals, which a device sums from a
 * few nonzeros at a time. */
static void residuals_agree(void **state) {
  (void)state;
  enum { SIDE = 20, CELLS = SIDE * SIDE * SIDE };
  static double value[CELLS];
  static uint64_t index[3][CELLS];
  const uint64_t dims[3] = {SIDE, SIDE, SIDE};
  polyad_context *host = cpu_context(2), *context = there_context();
  polyad_tensor *tensor = NULL;
  const char *path = path_of("exact.ptn");
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  for (uint64_t k = 0; k < CELLS; ++k) {
    index[0][k] = k / (SIDE * SIDE);
    index[1][k] = k / SIDE % SIDE;
    index[2][k] = k % SIDE;
    value[k] = (1 + (double)index[0][k] / 3) * (2 + (double)index[1][k] / 7) *
               (1 + (double)index[2][k] / 9);
  }
  polyad_tensor_input input = input_of_columns(3, dims, CELLS, POLYAD_U64, index, CELLS, value);
  OK(host, polyad_tensor_create(host, &input, &tensor));
  OK(host, polyad_tensor_write(host, tensor, path, POLYAD_FILE_AUTO));
  polyad_plan *plan = stream_of(context, path, POLYAD_F32, 1, 999, true);
  OK(context, decompose(context, plan, 1, 0, &model, &info));
  assert_int_equal(info.fit_from, POLYAD_FIT_RESIDUAL);
  if (!(fabs(info.fit - 1) <= info.fit_bound + 0x1p-22 && info.fit_bound < 1e-6))
    fail_msg("a fit of 1 - %g found, to %g", 1 - info.fit, info.fit_bound);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  unlink(path);
  polyad_context_destroy(host);
  polyad_context_destroy(context);
}

static void apr_agrees(void **state) {
  (void)state;
  polyad_context *host = cpu_context(2), *context = there_context();
  polyad_tensor *tensor = NULL;
  const char *path = path_of("apr.ptn");
  polyad_ktensor *model[2];
  polyad_run_info info[2] = {0};
  tensor = write_tensor(host, path, 4, 4000);
  polyad_plan *plan[2] = {memory_of(host, tensor, POLYAD_F64, 5),
                          stream_of(context, path, POLYAD_F64, 5, 333, false)};
  for (int k = 0; k < 2; ++k) {
    polyad_context *one = k == 0 ? host : context;
    polyad_cp_apr_options options;
    polyad_cp_apr_options_init(&options);
    options.rank = 5;
    options.run.max_iterations = 4;
    OK(one, polyad_cp_apr(one, plan[k], &options, &model[k], &info[k]));
  }
  assert_true(fabs(info[0].log_likelihood - info[1].log_likelihood) <=
              1e-10 * fabs(info[0].log_likelihood));
  check_model(host, model[0], model[1], 1e-9);
  for (int k = 0; k < 2; ++k) {
    polyad_ktensor_destroy(model[k]);
    polyad_run_info_clear(&info[k]);
    polyad_plan_destroy(plan[k]);
  }
  polyad_tensor_destroy(tensor);
  unlink(path);
  polyad_context_destroy(host);
  polyad_context_destroy(context);
}

/* ---- building ---------------------------------------------------------------------------------
 */

/* A plan whose chunks the device sorts, or the host: a GPU has too little room then. */
static polyad_plan *built_by(polyad_context *context, const char *path, polyad_type type,
                             bool device) {
#ifdef STREAM_DEVICE
  if (!device) OK(context, polyad_set_memory_limit(context, 60 << 20));
#else
  fake_device_builds(device);
#endif
  polyad_plan *plan = stream_of(context, path, type, 5, 700, true);
#ifndef STREAM_DEVICE
  fake_device_builds(true);
#endif
  return plan;
}

/* Chunks that the device has sorted have the bits of those that the host sorts. */
static void chunks_are_the_same(void **state) {
  (void)state;
  for (int order = 3; order < 6; ++order) {
    polyad_context *context[2] = {there_context(), there_context()};
    polyad_tensor *tensor = NULL;
    const char *path = path_of("built.ptn");
    const polyad_type type = order == 4 ? POLYAD_F32 : POLYAD_F64;
    const struct pd_stream *stream[2];
    polyad_plan *plan[2];
    tensor = write_tensor(context[0], path, order, 5000);
    for (int k = 0; k < 2; ++k) {
      plan[k] = built_by(context[k], path, type, k == 0);
      stream[k] = plan[k]->storage;
      OK(context[k], pd_plan_check(context[k], plan[k]));
      assert_true((stream[k]->built_bytes > 0) == (k == 0));
      assert_true(stream[k]->kept != NULL && stream[k]->chunks > 3);
    }
    assert_int_equal(stream[0]->lists_bytes, stream[1]->lists_bytes);
    assert_memory_equal(stream[0]->kept, stream[1]->kept, stream[0]->lists_bytes);
    for (int k = 0; k < 2; ++k)
      polyad_plan_destroy(plan[k]);
    polyad_tensor_destroy(tensor);
    unlink(path);
    for (int k = 0; k < 2; ++k)
      polyad_context_destroy(context[k]);
  }
}

/* ---- limits -----------------------------------------------------------------------------------
 */

static uint64_t peak_there(polyad_context *context) {
#ifdef STREAM_DEVICE
  uint64_t used, peak;
  there(context)->functions->memory_used(there(context), &used, &peak);
  return peak;
#else
  (void)context;
  return fake_device_peak();
#endif
}

/* The limits come in ascending order, since a GPU's peak never falls. */
static void limits_are_kept(void **state) {
  (void)state;
  static const uint64_t limits[] = {24 << 20, 32 << 20, 40 << 20};
  const uint64_t dims[3] = {3000, 2000, 900};
  const char *path = path_of("limit.ptn");
  polyad_context *context = cpu_context(2);
  polyad_generate_options generate;
  polyad_generate_options_init(&generate);
  generate.order = 3;
  memcpy(generate.dims, dims, sizeof dims);
  generate.nnz = 700000;
  OK(context, polyad_generate_to_file(context, &generate, path));
  polyad_context_destroy(context);
  for (size_t k = 0; k < sizeof limits / sizeof *limits; ++k) {
    const polyad_plan_options options = options_of(POLYAD_F64, 33, POLYAD_KERNEL_MTTKRP);
    polyad_stream_info about;
    polyad_ktensor *model;
    polyad_run_info info = {0};
    polyad_plan *plan;
    context = there_context();
    OK(context, polyad_set_memory_limit(context, limits[k]));
    (void)peak_there(context);
    OK(context, try_stream(context, path, &options, 0, true, &plan));
    polyad_plan_stream_info(plan, &about);
    assert_true(about.chunks > 1 && about.spilled_bytes > 0);
    assert_true(about.memory_bytes <= limits[k] && plan->device_bytes <= limits[k]);
    OK(context, decompose(context, plan, 33, 0, &model, &info));
    uint64_t most = peak_there(context);
    uint64_t least = plan->device_bytes;
#ifndef STREAM_DEVICE
    /* Dense algebra, a run's and a workspace's, has memory of the host. */
    least -= 2 * pd_cpu_linalg.work_bytes(33, polyad_threads(context));
#endif
    least -= least / 10;
    if (most > plan->device_bytes || most < least)
      fail_msg("%llu bytes of the device found; %llu were said", (unsigned long long)most,
               (unsigned long long)plan->device_bytes);
    assert_true(polyad_memory_peak(context) <= about.memory_bytes + about.memory_bytes / 10);
    polyad_ktensor_destroy(model);
    polyad_run_info_clear(&info);
    polyad_plan_destroy(plan);
    assert_int_equal(bytes_there(context), 0);
    polyad_context_destroy(context);
  }
  /* Too little for the factors. */
  const polyad_plan_options options = options_of(POLYAD_F64, 4000, POLYAD_KERNEL_MTTKRP);
  polyad_plan *plan;
  context = there_context();
  OK(context, polyad_set_memory_limit(context, 24 << 20));
  assert_int_equal(try_stream(context, path, &options, 0, true, &plan), POLYAD_MEMORY_LIMIT);
  assert_non_null(strstr(polyad_last_error(context), "smallest chunks"));
  polyad_context_destroy(context);
  unlink(path);
}

/* ---- failures ---------------------------------------------------------------------------------
 */

static void failing_reads_are_told(void **state) {
  (void)state;
  polyad_context *context = there_context();
  polyad_tensor *tensor = NULL;
  const char *path = path_of("reads.ptn");
  struct results results, again;
  tensor = write_tensor(context, path, 3, 3000);
  polyad_plan *plan = stream_of(context, path, POLYAD_F64, 16, 200, false);
  struct pd_spill *spill = &((struct pd_stream *)plan->storage)->spill;
  int file = spill->file;
  OK(context, compute(context, plan, 16, &results));
  spill->file = -1;
  assert_int_equal(compute(context, plan, 16, &again), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(context), "spill file"));
  spill->file = file;
  results_free(&again);
  OK(context, compute(context, plan, 16, &again));
  same_bits(plan, 16, &results, &again);
  results_free(&results);
  results_free(&again);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  unlink(path);
  polyad_context_destroy(context);
}

static void a_cancelled_context_ends(void **state) {
  (void)state;
  polyad_context *context = there_context();
  polyad_tensor *tensor = NULL;
  const polyad_plan_options options = options_of(POLYAD_F64, 5, POLYAD_KERNEL_MTTKRP);
  const char *path = path_of("cancelled.ptn");
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  polyad_plan *plan;
  tensor = write_tensor(context, path, 3, 1000);
  polyad_plan *made = stream_of(context, path, POLYAD_F64, 5, 100, false);
  polyad_cancel(context);
  assert_int_equal(try_stream(context, path, &options, 100, true, &plan), POLYAD_CANCELLED);
  polyad_cancel(context);
  OK(context, decompose(context, made, 5, 0, &model, &info));
  assert_int_equal(info.reason, POLYAD_REASON_CANCELLED);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(made);
  polyad_tensor_destroy(tensor);
  unlink(path);
  assert_int_equal(bytes_there(context), 0);
  polyad_context_destroy(context);
}

#ifndef STREAM_DEVICE
/* Every allocation on the device fails in turn; of a GPU gpu_fault does it. */
static void every_allocation_there_fails(void **state) {
  (void)state;
  polyad_context *context = there_context();
  polyad_tensor *tensor = NULL;
  const char *path = path_of("fault.ptn");
  tensor = write_tensor(context, path, 3, 1000);
  polyad_plan *plan = stream_of(context, path, POLYAD_F64, 5, 100, false);
  long failed = 0;
  for (;; ++failed) {
    polyad_ktensor *model = NULL;
    polyad_run_info info = {0};
    fake_device_fail(failed + 1);
    polyad_status status = decompose(context, plan, 5, 0, &model, &info);
    long made = fake_device_fail(0);
    polyad_ktensor_destroy(model);
    polyad_run_info_clear(&info);
    assert_int_equal(fake_device_used(), 0);
    if (status == POLYAD_OK && made <= failed) break;
    if (status != POLYAD_OK) assert_int_equal(status, POLYAD_OUT_OF_MEMORY);
  }
  assert_true(failed > 10);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  unlink(path);
  polyad_context_destroy(context);
}
#endif

int main(int argc, char **argv) {
#ifdef STREAM_DEVICE
  int missing = gpu_missing();
  if (missing != 0) return missing;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_agree),
      cmocka_unit_test(als_agrees),
      cmocka_unit_test(residuals_agree),
      cmocka_unit_test(apr_agrees),
      cmocka_unit_test(limits_are_kept),
      cmocka_unit_test(chunks_are_the_same),
      cmocka_unit_test(failing_reads_are_told),
      cmocka_unit_test(a_cancelled_context_ends),
      cmocka_unit_test(kernels_agree_once),
#ifndef STREAM_DEVICE
      cmocka_unit_test(every_allocation_there_fails),
#endif
  };
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
