/* STREAM: every loop in both editions gives what the host computes, for sizes that are no multiple
 * of a vector, any number of threads, and both types. */
#include "core/isa.h"
#include "device/cpu/cpu_portable.h"
#include "harness.h"
#include <polyad/bench.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

static polyad_context *make_context(const char *device, int threads) {
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  return context;
}

static void check_all(polyad_context *context, uint64_t count, polyad_type type) {
  polyad_stream *stream = NULL;
  if (polyad_stream_create(context, count, type, &stream) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  double width = type == POLYAD_F64 ? 8 : 4;
  uint64_t padded = (count + PD_STREAM_UNIT - 1) / PD_STREAM_UNIT * PD_STREAM_UNIT;
  for (int loop = 0; loop < 4; ++loop)
    for (int portable = 0; portable < 2; ++portable) {
      double error = 1, seconds = -1;
      assert_true(polyad_stream_has(stream, portable));
      if (polyad_stream_check(stream, (polyad_stream_loop)loop, portable, &error) != POLYAD_OK)
        fail_msg("%s", polyad_last_error(context));
      assert_true(error == 0); /* small integers: no rounding */
      assert_int_equal(polyad_stream_run(stream, (polyad_stream_loop)loop, portable, &seconds), 0);
      assert_true(seconds >= 0);
      assert_true(polyad_stream_bytes(stream, (polyad_stream_loop)loop) ==
                  (double)padded * width * (loop < 2 ? 2 : 3));
    }
  polyad_stream_destroy(stream);
}

static void test_cpu(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 4096, 4097, 300001};
  for (int c = 0; c < 4; ++c)
    for (int threads = 1; threads <= 3; ++threads) {
      polyad_context *context = make_context("cpu", threads);
      check_all(context, counts[c], POLYAD_F64);
      check_all(context, counts[c], POLYAD_F32);
      polyad_context_destroy(context);
    }
}

/* Every instruction set that this machine has. */
static void test_instruction_sets(void **state) {
  (void)state;
  struct pd_stream_job job = {POLYAD_STREAM_TRIAD, POLYAD_F64, PD_STREAM_UNIT, NULL, NULL, NULL, 2};
  for (int k = 0; k < PD_ISA_COUNT; ++k) {
    if (!pd_isa_available((enum pd_isa)k)) continue;
    pd_isa_force((enum pd_isa)k);
    const struct pd_portable_cpu *kernels = pd_portable_cpu_current();
    if (kernels == NULL) fail_msg("%s", pd_portable_cpu_why_not());
    double *arrays[3];
    for (int n = 0; n < 3; ++n) {
      arrays[n] = aligned_alloc(64, PD_STREAM_UNIT * sizeof(double));
      assert_non_null(arrays[n]);
      for (int i = 0; i < PD_STREAM_UNIT; ++i)
        arrays[n][i] = n * 1000 + i;
    }
    job.a = arrays[0], job.b = arrays[1], job.c = arrays[2];
    kernels->stream(&job, 2);
    for (int i = 0; i < PD_STREAM_UNIT; ++i)
      assert_true(arrays[0][i] == (1000 + i) + 2.0 * (2000 + i));
    for (int n = 0; n < 3; ++n)
      free(arrays[n]);
  }
  pd_isa_force(PD_ISA_COUNT);
}

static void test_wrong_arguments(void **state) {
  (void)state;
  polyad_context *context = make_context("cpu", 1);
  polyad_stream *stream = NULL;
  double seconds;
  assert_int_equal(polyad_stream_create(NULL, 1, POLYAD_F64, &stream), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_stream_create(context, 0, POLYAD_F64, &stream), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_stream_create(context, 1, POLYAD_F64, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_not_equal(polyad_stream_create(context, UINT64_MAX, POLYAD_F64, &stream), POLYAD_OK);
  assert_null(stream);
  assert_int_equal(polyad_set_memory_limit(context, 1 << 20), POLYAD_OK);
  assert_int_equal(polyad_stream_create(context, 1 << 20, POLYAD_F64, &stream),
                   POLYAD_MEMORY_LIMIT);
  assert_null(stream);
  assert_int_equal(polyad_stream_create(context, 1, POLYAD_F64, &stream), POLYAD_OK);
  assert_int_equal(polyad_stream_run(stream, (polyad_stream_loop)4, 0, &seconds),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_stream_run(stream, POLYAD_STREAM_ADD, 0, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_stream_run(NULL, POLYAD_STREAM_ADD, 0, &seconds),
                   POLYAD_INVALID_ARGUMENT);
  polyad_stream_destroy(stream);
  polyad_stream_destroy(NULL);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cpu),
      cmocka_unit_test(test_instruction_sets),
      cmocka_unit_test(test_wrong_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
