/* Timing kernels and roofs: what is timed is what is computed without timing. */
#include "harness.h"

#include "unit/format_fixture.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 5, RUNS = 4, ORDER = 3 };
static const uint64_t dims[ORDER] = {30, 20, 50};

struct problem {
  polyad_context *context;
  polyad_plan *plan;
  polyad_workspace *workspace;
  float *factor[ORDER];
  float *once, *timed;
};

static void begin(struct problem *problem) {
  problem->context = fixture_context(2);
  polyad_tensor *tensor = fixture_tensor(problem->context, ORDER, dims, 900, false, POLYAD_F32);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.precision = POLYAD_F32;
  assert_int_equal(polyad_plan_create(problem->context, tensor, &options, &problem->plan),
                   POLYAD_OK);
  assert_int_equal(
      polyad_workspace_create(problem->context, problem->plan, RANK, &problem->workspace),
      POLYAD_OK);
  polyad_tensor_destroy(tensor);
  for (int n = 0; n < ORDER; ++n) {
    problem->factor[n] = malloc(dims[n] * RANK * sizeof(float));
    for (uint64_t k = 0; k < dims[n] * RANK; ++k)
      problem->factor[n][k] = (float)(k % 7) - 2.5F;
  }
  problem->once = malloc(50 * RANK * sizeof(float));
  problem->timed = malloc(50 * RANK * sizeof(float));
}

static void end(struct problem *problem) {
  for (int n = 0; n < ORDER; ++n)
    free(problem->factor[n]);
  free(problem->once);
  free(problem->timed);
  polyad_workspace_destroy(problem->workspace);
  polyad_plan_destroy(problem->plan);
  fixture_end(problem->context);
}

static void timed_runs_give_the_same(void **state) {
  (void)state;
  struct problem p;
  begin(&p);
  for (int turn = 0; turn < 2 * ORDER; ++turn) {
    int mode = turn % ORDER, done = -1;
    double seconds[RUNS];
    size_t bytes = dims[mode] * RANK * sizeof(float);
    polyad_measure_options options;
    polyad_measure_options_init(&options);
    options.runs = RUNS;
    options.cold = turn >= ORDER;
    memset(p.timed, 0xFF, bytes);
    const void *const *factors = (const void *const *)p.factor;
    assert_int_equal(polyad_mttkrp(p.context, p.plan, p.workspace, mode, factors, p.once), 0);
    assert_int_equal(polyad_mttkrp_measure(p.context, p.plan, p.workspace, mode, factors, &options,
                                           seconds, &done, p.timed),
                     POLYAD_OK);
    assert_memory_equal(p.once, p.timed, bytes);
    assert_int_equal(done, RUNS);
    for (int k = 0; k < RUNS; ++k)
      assert_true(seconds[k] > 0 && seconds[k] < 10);
  }
  end(&p);
}

static void bad_calls_are_refused(void **state) {
  (void)state;
  struct problem p;
  begin(&p);
  double seconds[RUNS], work;
  int done;
  polyad_measure_options options;
  polyad_measure_options_init(&options);
  options.runs = 0;
  const void *const *factors = (const void *const *)p.factor;
  assert_int_equal(polyad_mttkrp_measure(p.context, p.plan, p.workspace, 0, factors, &options,
                                         seconds, &done, p.timed),
                   POLYAD_INVALID_ARGUMENT);
  options.runs = 1;
  assert_int_equal(polyad_mttkrp_measure(p.context, p.plan, p.workspace, ORDER, factors, &options,
                                         seconds, &done, p.timed),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_roof_measure(p.context, POLYAD_ROOF_COPY, POLYAD_F64, 0, 1, 1, seconds, &work),
      POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_roof_measure(p.context, (polyad_roof)9, POLYAD_F64, 1, 1, 1, seconds, &work),
      POLYAD_INVALID_ARGUMENT);
  end(&p);
}

/* Tables of fewer rows than threads and of many, ranks that are no multiple of anything. */
static void every_roof_is_measured(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 7, 100}, sizes[] = {1, 5000, 300000};
  polyad_context *context = fixture_context(3);
  for (int what = POLYAD_ROOF_COPY; what <= POLYAD_ROOF_FLOPS; ++what)
    for (int k = 0; k < (what == POLYAD_ROOF_FLOPS ? 1 : 3); ++k)
      for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
        double seconds[1], work = 0;
        if (polyad_roof_measure(context, (polyad_roof)what, (polyad_type)type, ranks[k], sizes[k],
                                1, seconds, &work) != POLYAD_OK)
          fail_msg("%s", polyad_last_error(context));
        assert_true(seconds[0] > 0 && work > 0 && isfinite(work));
      }
  fixture_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(timed_runs_give_the_same),
      cmocka_unit_test(bad_calls_are_refused),
      cmocka_unit_test(every_roof_is_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
