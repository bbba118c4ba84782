/* Timing kernels and roofs: what is timed is what is computed without timing. */
#include "harness.h"

#include "unit/format_fixture.h"
#include <math.h>
#include <polyad/bench.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 5, RUNS = 4, ORDER = 3 };
static const uint64_t dims[ORDER] = {30, 20, 50};

struct problem {
  polyad_context *context;
  polyad_plan *plan;
  polyad_workspace *workspace, *chain;
  float *factor[ORDER];
  float *once, *timed;
};
/* Columns of the factors: all the same for MTTKRP, one of each for the chain. */
static const uint64_t ranks[ORDER] = {3, RANK, 2};

static void begin(struct problem *problem) {
  problem->context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(problem->context, ORDER, dims, 900, false, POLYAD_F32);
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.precision = POLYAD_F32;
  assert_int_equal(polyad_plan_create(problem->context, tensor, &options, &problem->plan),
                   POLYAD_OK);
  assert_int_equal(
      polyad_workspace_create(problem->context, problem->plan, RANK, &problem->workspace),
      POLYAD_OK);
  assert_int_equal(
      polyad_ttmc_workspace_create(problem->context, problem->plan, ranks, &problem->chain),
      POLYAD_OK);
  polyad_tensor_destroy(tensor);
  for (int n = 0; n < ORDER; ++n) {
    problem->factor[n] = malloc(dims[n] * RANK * sizeof(float));
    for (uint64_t k = 0; k < dims[n] * RANK; ++k)
      problem->factor[n][k] = (float)(k % 7) - 2.5F;
  }
  problem->once = malloc(50 * 3 * RANK * sizeof(float));
  problem->timed = malloc(50 * 3 * RANK * sizeof(float));
}

static void end(struct problem *problem) {
  for (int n = 0; n < ORDER; ++n)
    free(problem->factor[n]);
  free(problem->once);
  free(problem->timed);
  polyad_workspace_destroy(problem->workspace);
  polyad_workspace_destroy(problem->chain);
  polyad_plan_destroy(problem->plan);
  context_end(problem->context);
}

/* Runs of `kernel` in every mode and back again, with warm and cold caches, into p->timed. */
static void compare_runs(struct problem *p, polyad_kernel kernel, polyad_measurement *measurement) {
  const void *const *factors = (const void *const *)p->factor;
  bool chain = kernel == POLYAD_KERNEL_TTMC;
  for (int turn = 0; turn < 4 * ORDER; ++turn) {
    int mode = turn % ORDER;
    uint64_t columns = RANK;
    if (chain)
      assert_int_equal(polyad_ttmc_columns(p->context, p->plan, ranks, mode, &columns), POLYAD_OK);
    size_t bytes = dims[mode] * columns * sizeof(float);
    double seconds = -1;
    memset(p->timed, 0xFF, bytes);
    memset(p->once, 0xFE, bytes);
    assert_int_equal((chain ? polyad_ttmc : polyad_mttkrp)(p->context, p->plan,
                                                           chain ? p->chain : p->workspace, mode,
                                                           factors, p->once),
                     POLYAD_OK);
    assert_int_equal(polyad_measurement_set_cold(measurement, turn / ORDER % 2), POLYAD_OK);
    for (int run = 0; run < RUNS; ++run) {
      assert_int_equal(polyad_measurement_run(measurement, kernel, mode, 0, &seconds), POLYAD_OK);
      assert_true(seconds > 0 && seconds < 10);
    }
    assert_int_equal(polyad_measurement_result(measurement, mode, p->timed), POLYAD_OK);
    assert_memory_equal(p->once, p->timed, bytes);
  }
}

static void timed_runs_give_the_same(void **state) {
  (void)state;
  struct problem p;
  polyad_measurement *measurement = NULL, *chain = NULL;
  begin(&p);
  const void *const *factors = (const void *const *)p.factor;
  assert_int_equal(polyad_measurement_create(p.context, p.plan, RANK, factors, &measurement),
                   POLYAD_OK);
  assert_int_equal(polyad_ttmc_measurement_create(p.context, p.plan, ranks, factors, &chain),
                   POLYAD_OK);
  compare_runs(&p, POLYAD_KERNEL_MTTKRP, measurement);
  compare_runs(&p, POLYAD_KERNEL_TTMC, chain);
  polyad_measurement_destroy(measurement);
  polyad_measurement_destroy(chain);
  end(&p);
}

static void bad_calls_are_refused(void **state) {
  (void)state;
  struct problem p;
  polyad_measurement *measurement = NULL, *chain = NULL;
  double seconds, work;
  begin(&p);
  const void *const *factors = (const void *const *)p.factor;
  static const uint64_t none[ORDER] = {3, 0, 2}, huge[ORDER] = {3, 1 << 20, 1 << 20};
  assert_int_equal(polyad_ttmc_measurement_create(p.context, p.plan, none, factors, &chain),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ttmc_measurement_create(p.context, p.plan, NULL, factors, &chain),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ttmc_measurement_create(p.context, p.plan, ranks, NULL, &chain),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_set_memory_limit(p.context, 1 << 20), POLYAD_OK);
  assert_int_not_equal(polyad_ttmc_measurement_create(p.context, p.plan, huge, factors, &chain),
                       POLYAD_OK);
  assert_null(chain);
  assert_int_equal(polyad_set_memory_limit(p.context, UINT64_MAX), POLYAD_OK);
  assert_int_equal(polyad_ttmc_measurement_create(p.context, p.plan, ranks, factors, &chain),
                   POLYAD_OK);
  assert_int_equal(polyad_measurement_create(p.context, p.plan, RANK, factors, &measurement),
                   POLYAD_OK);
  assert_int_equal(polyad_measurement_run(chain, POLYAD_KERNEL_MTTKRP, 0, 0, &seconds),
                   POLYAD_MISMATCH);
  assert_int_equal(polyad_measurement_run(measurement, POLYAD_KERNEL_TTMC, 0, 0, &seconds),
                   POLYAD_MISMATCH);
  assert_int_equal(polyad_measurement_run(chain, POLYAD_KERNEL_TTMC, ORDER, 0, &seconds),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_measurement_run(chain, (polyad_kernel)9, 0, 0, &seconds),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_measurement_set_cold(NULL, 1), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_roof_measure(p.context, POLYAD_ROOF_COPY, POLYAD_F64, 0, 1, 1, &seconds, &work),
      POLYAD_INVALID_ARGUMENT);
  assert_int_equal(
      polyad_roof_measure(p.context, (polyad_roof)9, POLYAD_F64, 1, 1, 1, &seconds, &work),
      POLYAD_INVALID_ARGUMENT);
  polyad_measurement_destroy(measurement);
  polyad_measurement_destroy(chain);
  end(&p);
}

/* Tables of fewer rows than threads and of many, ranks that are no multiple of anything. */
static void measure_every_roof(void) {
  static const uint64_t widths[] = {1, 7, 100}, sizes[] = {1, 5000, 300000};
  polyad_context *context = cpu_context(3);
  for (int what = POLYAD_ROOF_COPY; what <= POLYAD_ROOF_FLOPS; ++what)
    for (int k = 0; k < (what == POLYAD_ROOF_FLOPS ? 1 : 3); ++k)
      for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
        double seconds[1], work = 0;
        if (polyad_roof_measure(context, (polyad_roof)what, (polyad_type)type, widths[k], sizes[k],
                                1, seconds, &work) != POLYAD_OK)
          fail_msg("%s", polyad_last_error(context));
        assert_true(seconds[0] > 0 && work > 0 && isfinite(work));
      }
  context_end(context);
}

static void every_roof_is_measured(void **state) {
  (void)state;
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa) {
    if (!pd_isa_available((enum pd_isa)isa)) continue;
    pd_isa_force((enum pd_isa)isa);
    measure_every_roof();
  }
  pd_isa_force(PD_ISA_COUNT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(timed_runs_give_the_same),
      cmocka_unit_test(bad_calls_are_refused),
      cmocka_unit_test(every_roof_is_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
