/* The machine's rates, measured in a busy moment: a share of the bound above what can be makes them
 * be measured again, and is no number when it stays. */
#include "harness.h"

#include "../../cli/bench.h"
#include <math.h>

static double rates[8]; /* that the machine shows, one measurement after the other */
static int measured;

polyad_status __wrap_polyad_roof_measure(polyad_context *context, polyad_roof what,
                                         polyad_type type, uint64_t rank, uint64_t bytes, int runs,
                                         double *seconds, double *work);

polyad_status __wrap_polyad_roof_measure(polyad_context *context, polyad_roof what,
                                         polyad_type type, uint64_t rank, uint64_t bytes, int runs,
                                         double *seconds, double *work) {
  (void)context, (void)what, (void)type, (void)rank, (void)bytes;
  for (int k = 0; k < runs; ++k)
    seconds[k] = 1;
  *work = rates[measured++];
  return POLYAD_OK;
}

polyad_type cli_precision(const struct cli_session *session) {
  (void)session;
  return POLYAD_F64;
}

/* A thousand bytes have to be copied. */
static double thousand_bytes(void *user) { return 1000 / bench_copy(user, 1000); }

static void a_share_beyond_the_roof_is_no_number(void **state) {
  (void)state;
  assert_true(bench_share(1, 2) == 0.5);
  assert_true(bench_share(1.1, 1) == 1.1); /* caches give a little */
  assert_true(isnan(bench_share(118.48, 1)));
  assert_true(isnan(bench_share(0, 1)));
}

static void a_roof_of_a_busy_moment_is_measured_again(void **state) {
  (void)state;
  struct bench bench = {.rank = 1};
  measured = 0;
  rates[0] = 10; /* 100 s are needed, and 2 s were */
  rates[1] = 1000;
  assert_true(bench_bound(&bench, 2, thousand_bytes, &bench) == 1);
  assert_int_equal(measured, 2);
  assert_true(bench_bound(&bench, 2, thousand_bytes, &bench) == 1); /* the better rate stays */
  assert_int_equal(measured, 2);
}

static void a_worse_second_measurement_does_not_count(void **state) {
  (void)state;
  struct bench bench = {.rank = 1};
  measured = 0;
  rates[0] = 10;
  rates[1] = 5;
  assert_true(bench_bound(&bench, 2, thousand_bytes, &bench) == 100);
  assert_true(isnan(bench_share(100, 2)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_share_beyond_the_roof_is_no_number),
      cmocka_unit_test(a_roof_of_a_busy_moment_is_measured_again),
      cmocka_unit_test(a_worse_second_measurement_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
