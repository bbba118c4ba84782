/* Predictions for processes that share hosts: by the formulas of docs/scale.md from what is
 * counted, and within what a host's memory and processors allow. */
#include "als_fixture.h"
#include <math.h>
#include <polyad/scale.h>
#include <string.h>

enum { SCALE_RANK = 4, SCALE_ORDER = 3, SCALE_MOST = 8 };

struct scale_case {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_scale_options options;
  polyad_scale scale;
  polyad_team_info members[SCALE_MOST];
};

static struct scale_case scale_begin(void) {
  static const uint64_t dims[SCALE_ORDER] = {90, 40, 30};
  struct scale_case c = {.context = cpu_context(2)};
  c.tensor = als_random_tensor(c.context, SCALE_ORDER, dims, 4000, 5, 0);
  polyad_scale_options_init(&c.options);
  c.options.rank = SCALE_RANK;
  c.options.seconds_mttkrp = 3;
  c.options.seconds_other = 1;
  c.options.bytes_format = 64000;
  return c;
}

static void scale_end(struct scale_case *c) {
  polyad_tensor_destroy(c->tensor);
  context_end(c->context);
}

static double scale_seconds(struct scale_case *c, int size) {
  ALS_OK(c->context,
         polyad_scale_predict(c->context, c->tensor, &c->options, size, &c->scale, c->members));
  return c->scale.seconds;
}

/* The same sums, in another order. */
static void scale_close(double found, double wanted) {
  if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted) + 1e-280))
    fail_msg("%.17g found; expected %.17g", found, wanted);
}

/* What a process moves between processor and memory at the least, in an iteration. */
static double moved_bytes(const polyad_team_info *member) {
  return (double)member->bytes_format +
         (double)(SCALE_ORDER * SCALE_RANK * sizeof(double)) * (double)member->rows_read;
}

/* ---- one process on a host ------------------------------------------------------------------- */

/* Nothing that is said of hosts counts. */
static void a_host_for_each(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  double usual[SCALE_MOST + 1];
  for (int size = 1; size <= SCALE_MOST; ++size)
    usual[size] = scale_seconds(&c, size);
  c.options.host_latency = 10;
  c.options.host_bytes_per_second = c.options.process_bytes_per_second = 1;
  c.options.host_speedup = 1;
  for (int size = 1; size <= SCALE_MOST; ++size)
    assert_true(scale_seconds(&c, size) == usual[size]);
  scale_end(&c);
}

/* Two processes, of which each has half of the longest mode: rows of the two other modes travel,
 * twice, and an exchange begins with a short gather; sums take two messages each. */
static void messages_within_hosts_and_between(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  double messages = 2 * 2 * 2 + 2 * (3 * SCALE_ORDER + 1);
  c.options.bytes_per_second = c.options.host_bytes_per_second = 1e300;
  c.options.latency = 7;
  c.options.host_latency = 0.5;
  scale_seconds(&c, 2);
  assert_int_equal(c.scale.grid[0], 2);
  scale_close(c.scale.seconds_network, 7 * messages);
  c.options.ranks_per_host = 2;
  scale_seconds(&c, 2);
  scale_close(c.scale.seconds_network, 0.5 * messages);
  scale_end(&c);
}

/* Whether two members have the same range of a mode: their places in the grid, the last mode
 * fastest. */
static int same_range(const int *grid, int mode, int a, int b) {
  for (int n = SCALE_ORDER - 1; n > mode; --n) {
    a /= grid[n];
    b /= grid[n];
  }
  return a % grid[mode] == b % grid[mode];
}

/* Each member exchanges rows of a mode with those that have the same range of it. */
static void partners_on_a_host_are_counted(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  c.options.bytes_per_second = c.options.host_bytes_per_second = 1e300;
  c.options.latency = 0;
  c.options.host_latency = 1;
  for (int size = 4; size <= SCALE_MOST; ++size)
    for (int per_host = 2; per_host < size; ++per_host) {
      c.options.ranks_per_host = per_host;
      scale_seconds(&c, size);
      for (int k = 0; k < size; ++k) {
        double messages = 0;
        for (int n = 0; n < SCALE_ORDER; ++n)
          for (int j = 0; j < size; ++j)
            if (j != k && j / per_host == k / per_host && same_range(c.scale.grid, n, j, k))
              messages += 2;
        scale_close(c.members[k].seconds, messages);
      }
    }
  scale_end(&c);
}

/* ---- what a host shares ---------------------------------------------------------------------- */

/* What is sent within a host is written and read by the sender, and once more by the reader. */
static void rows_are_copied_within_a_host(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  double sums = 8 * (SCALE_ORDER * (SCALE_RANK * SCALE_RANK + SCALE_RANK + 1) + 2);
  c.options.host_latency = 0;
  c.options.ranks_per_host = 2;
  c.options.host_bytes_per_second = 3e4;
  for (int slow = 0; slow < 2; ++slow) {
    double rate = slow ? 1e3 : 1.5e4; /* a process alone reaches less than its half */
    c.options.process_bytes_per_second = slow ? rate : 0;
    scale_seconds(&c, 2);
    for (int k = 0; k < 2; ++k)
      scale_close(c.members[k].seconds, 4 * ((double)c.members[k].bytes_sent + sums) / rate);
  }
  scale_end(&c);
}

/* Two hosts have the network of one each: bytes of both processes of a host follow each other. */
static void a_network_is_shared(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  c.options.latency = c.options.host_latency = 0;
  c.options.bytes_per_second = 1;
  c.options.host_bytes_per_second = 1e300;
  for (int per_host = 1; per_host <= 4; per_host *= 2) {
    c.options.ranks_per_host = per_host;
    scale_seconds(&c, 8);
    uint64_t longest = 0, shortest = UINT64_MAX;
    for (int k = 0; k < 8; ++k) {
      uint64_t of_host = 0;
      for (int i = 0; i < per_host; ++i)
        of_host += c.members[k / per_host * per_host + i].bytes_sent;
      if (of_host > longest) longest = of_host;
      if (of_host < shortest) shortest = of_host;
      assert_true(c.members[k].seconds == c.members[k / per_host * per_host].seconds);
    }
    double sums = 8 * 8 * 8 * (SCALE_ORDER * (SCALE_RANK * SCALE_RANK + SCALE_RANK + 1) + 2);
    assert_true(c.scale.seconds_network > 0);
    assert_true(c.scale.seconds_network <= 2 * (double)longest + sums);
  }
  c.options.ranks_per_host = 8; /* nothing goes over the network */
  scale_seconds(&c, 8);
  assert_true(c.scale.seconds_network < 1e-290);
  scale_end(&c);
}

/* No host is faster than its memory and its processors. */
static void no_host_beats_its_memory(void **state) {
  (void)state;
  static const double rates[] = {1e3, 3e4, 1e6, 1e12}, speedups[] = {0, 1, 2.5, 8};
  struct scale_case c = scale_begin();
  for (int r = 0; r < 4; ++r)
    for (int s = 0; s < 4; ++s) {
      double before = 0;
      c.options.host_bytes_per_second = rates[r];
      c.options.host_speedup = speedups[s];
      for (int per_host = 1; per_host <= SCALE_MOST; ++per_host) {
        c.options.ranks_per_host = per_host;
        scale_seconds(&c, SCALE_MOST);
        double moved[SCALE_MOST] = {0}, limit = 0;
        for (int k = 0; k < SCALE_MOST; ++k)
          moved[k / per_host] += moved_bytes(&c.members[k]);
        for (int host = 0; host < SCALE_MOST && per_host > 1; ++host)
          limit = fmax(limit, moved[host] / rates[r]);
        assert_true(c.scale.seconds_compute >= limit * (1 - 1e-12));
        assert_true(c.scale.seconds_compute >= before); /* the more share a host, the longer */
        before = c.scale.seconds_compute;
      }
      /* All on one host: at the most so many times as fast as one process. */
      if (speedups[s] > 0) assert_true(before >= 4 / speedups[s] * (1 - 1e-12));
    }
  scale_end(&c);
}

static void slower_hosts_take_longer(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  c.options.ranks_per_host = 4;
  for (int size = 2; size <= SCALE_MOST; ++size) {
    double before = 0;
    for (double rate = 1e9; rate > 1; rate /= 10) {
      c.options.host_bytes_per_second = rate;
      assert_true(scale_seconds(&c, size) >= before);
      before = c.scale.seconds;
    }
    before = 0;
    for (double speedup = 5; speedup >= 1; speedup /= 1.3) {
      c.options.host_speedup = speedup;
      assert_true(scale_seconds(&c, size) >= before);
      before = c.scale.seconds;
    }
    c.options.host_speedup = 0;
  }
  scale_end(&c);
}

/* ---- this machine, and what cannot be -------------------------------------------------------- */

static void this_machine_is_measured(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  ALS_OK(c.context, polyad_set_threads(c.context, 1));
  ALS_OK(c.context, polyad_scale_measure_host(c.context, c.tensor, &c.options));
  assert_true(isfinite(c.options.host_bytes_per_second) && isfinite(c.options.host_speedup));
  assert_true(c.options.process_bytes_per_second > 0 && c.options.host_speedup >= 1);
  assert_true(c.options.host_bytes_per_second >= c.options.process_bytes_per_second);
  assert_int_equal(polyad_threads(c.context), 1);
  assert_int_equal(polyad_scale_measure_host(c.context, NULL, &c.options), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_scale_measure_host(c.context, c.tensor, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_scale_measure_host(NULL, c.tensor, &c.options), POLYAD_INVALID_ARGUMENT);
  ALS_OK(c.context, polyad_set_memory_limit(c.context, 1 << 20));
  assert_int_equal(polyad_scale_measure_host(c.context, c.tensor, &c.options), POLYAD_MEMORY_LIMIT);
  assert_non_null(strstr(polyad_last_error(c.context), "memory"));
  scale_end(&c);
}

/* An option is refused, with words that say which. */
static void refused(struct scale_case *c, const polyad_scale_options *options, const char *says) {
  assert_int_equal(polyad_scale_predict(c->context, c->tensor, options, 4, &c->scale, NULL),
                   POLYAD_INVALID_ARGUMENT);
  if (strstr(polyad_last_error(c->context), says) == NULL)
    fail_msg("'%s' found; expected '%s' in it", polyad_last_error(c->context), says);
}

static void hosts_that_cannot_be(void **state) {
  (void)state;
  struct scale_case c = scale_begin();
  polyad_scale_options options = c.options;
  static const double wrong[] = {-1, NAN};
  for (int count = -1; count < 1; ++count) {
    options.ranks_per_host = count;
    refused(&c, &options, "processes on a host; expected at least 1");
  }
  for (int k = 0; k < 2; ++k) {
    double *numbers[] = {&options.host_latency, &options.host_bytes_per_second,
                         &options.process_bytes_per_second, &options.host_speedup};
    for (int n = 0; n < 4; ++n) {
      options = c.options;
      *numbers[n] = wrong[k];
      refused(&c, &options, "within a host");
    }
  }
  options = c.options;
  options.ranks_per_host = 2;
  refused(&c, &options, "polyad_scale_measure_host()");
  options.seconds_mttkrp = options.seconds_other = 0; /* no times are asked for */
  ALS_OK(c.context, polyad_scale_predict(c.context, c.tensor, &options, 4, &c.scale, NULL));
  assert_true(c.scale.seconds == 0 && c.scale.bytes_sent > 0);
  c.options.ranks_per_host = 0x7fffffff;
  c.options.host_bytes_per_second = 1e9;
  assert_true(isfinite(scale_seconds(&c, 4)));
  scale_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_host_for_each),
      cmocka_unit_test(messages_within_hosts_and_between),
      cmocka_unit_test(partners_on_a_host_are_counted),
      cmocka_unit_test(rows_are_copied_within_a_host),
      cmocka_unit_test(a_network_is_shared),
      cmocka_unit_test(no_host_beats_its_memory),
      cmocka_unit_test(slower_hosts_take_longer),
      cmocka_unit_test(this_machine_is_measured),
      cmocka_unit_test(hosts_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
