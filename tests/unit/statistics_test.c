/* Statistics of a tensor against plain counting. */
#include "context_fixture.h"

#include "core/random.h"
#include "failing_allocator.h"
#include "inputs.h"
#include "tensor/tensor.h"
#include "tensor/tensor_fibers.h"
#include "tensor/tensor_slices.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

/* A tensor with indices drawn below `range` and scaled by `step` into modes of length `dim`. */
static polyad_tensor *make(int order, uint64_t nnz, const uint64_t *dims, const uint64_t *range,
                           const uint64_t *step) {
  uint64_t *index = malloc(nnz * (uint64_t)order * 8);
  double *values = malloc(nnz * 8);
  for (uint64_t p = 0; p < nnz; ++p) {
    for (int n = 0; n < order; ++n)
      index[(uint64_t)n * nnz + p] = pd_random_u64(1, (uint64_t)n, p) % range[n] * step[n];
    values[p] = (double)(p % 7) - 2.5;
  }
  polyad_tensor_input input = input_of_columns(order, dims, nnz, POLYAD_U64, index, nnz, values);
  polyad_tensor *x;
  assert_int_equal(polyad_tensor_create(context, &input, &x), POLYAD_OK);
  free(index);
  free(values);
  return x;
}

/* Counts slices and fibers of a tensor with small index ranges in plain tables. */
static void check_counts(const polyad_tensor *x, const uint64_t *range, const uint64_t *step,
                         const polyad_tensor_statistics *statistics) {
  uint64_t cells = 1;
  for (int n = 0; n < x->order; ++n)
    cells *= range[n];
  char *seen = malloc(cells);
  for (int mode = 0; mode < x->order; ++mode) {
    uint64_t *counts = calloc(range[mode], 8), fibers = 0, slices = 0, most = 0;
    memset(seen, 0, cells);
    for (uint64_t p = 0; p < x->nnz; ++p) {
      uint64_t cell = 0;
      for (int n = 0; n < x->order; ++n)
        cell = cell * range[n] + (n == mode ? 0 : pd_tensor_index(x, n, p) / step[n]);
      fibers += seen[cell] == 0;
      seen[cell] = 1;
      ++counts[pd_tensor_index(x, mode, p) / step[mode]];
    }
    double mean, squares = 0;
    for (uint64_t i = 0; i < range[mode]; ++i) {
      slices += counts[i] != 0;
      most = counts[i] > most ? counts[i] : most;
    }
    mean = (double)x->nnz / (double)slices;
    for (uint64_t i = 0; i < range[mode]; ++i)
      if (counts[i] != 0) squares += ((double)counts[i] - mean) * ((double)counts[i] - mean);
    double deviation = sqrt(squares / (double)slices);
    assert_true(statistics->slices[mode] == slices);
    assert_true(statistics->slice_max[mode] == most);
    assert_true(statistics->fibers[mode] == fibers);
    assert_true(statistics->slice_mean[mode] == mean);
    assert_true(fabs(statistics->slice_deviation[mode] - deviation) <=
                (double)range[mode] * DBL_EPSILON * deviation);
    free(counts);
  }
  free(seen);
}

static void counts_are_exact(void **state) {
  (void)state;
  /* Short modes, longer ones, modes far longer than the tensor. */
  const uint64_t range[] = {30, 9, 40}, ones[] = {1, 1, 1}, dims[] = {33, 9, 41};
  const uint64_t steps[] = {700, UINT64_C(1) << 50, 3}, spread[] = {21000, INT64_MAX, 120};
  for (int wide = 0; wide < 2; ++wide)
    for (int threads = 1; threads <= 5; threads += 4) {
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      const uint64_t *step = wide ? steps : ones;
      polyad_tensor *x = make(3, 40000, wide ? spread : dims, range, step);
      polyad_tensor_statistics statistics;
      assert_int_equal(polyad_tensor_statistics_compute(context, x, &statistics), POLYAD_OK);
      assert_int_equal(statistics.fibers_exact, 1);
      check_counts(x, range, step, &statistics);
      polyad_tensor_destroy(x);
    }
}

/* In a mode too long for counts of each thread's own they add to the same ones (and ThreadSanitizer
 * watches). */
static void indices_are_counted(void **state) {
  (void)state;
  const uint64_t dims[] = {600000, 600000}, range[] = {600000, 3}, step[] = {1, 200000};
  for (int threads = 1; threads <= 16; threads += 15) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    polyad_tensor *x = make(2, 300000, dims, range, step);
    assert_true(x->nnz > 200000);
    for (int mode = 0; mode < 2; ++mode) {
      uint64_t *counts = malloc(dims[mode] * 8), *plain = calloc(dims[mode], 8);
      memset(counts, 0xff, dims[mode] * 8);
      assert_int_equal(pd_tensor_count_indices(context, x, mode, counts), POLYAD_OK);
      for (uint64_t p = 0; p < x->nnz; ++p)
        ++plain[pd_tensor_index(x, mode, p)];
      assert_memory_equal(counts, plain, dims[mode] * 8);
      free(counts);
      free(plain);
    }
    polyad_tensor_destroy(x);
  }
}

static void values_are_summed_up(void **state) {
  (void)state;
  const uint64_t dims[] = {5}, one[] = {1};
  polyad_tensor *x = make(1, 4, dims, dims, one);
  polyad_tensor_statistics statistics;
  assert_int_equal(polyad_tensor_statistics_compute(context, x, &statistics), POLYAD_OK);
  double sum = 0, least = INFINITY, most = -INFINITY;
  for (uint64_t p = 0; p < x->nnz; ++p) {
    double value = pd_tensor_value(x, p);
    sum += value;
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  assert_true(statistics.value_sum == sum);
  assert_true(statistics.value_min == least);
  assert_true(statistics.value_max == most);
  assert_true(statistics.norm == polyad_tensor_norm(x));
  assert_true(statistics.density == (double)x->nnz / 5);
  assert_int_equal(statistics.key_bits, 3);
  assert_int_equal(statistics.fibers[0], 1);
  assert_true(statistics.slices[0] == x->nnz);
  polyad_tensor_destroy(x);
}

static void empty_tensor_has_no_slices(void **state) {
  (void)state;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 2;
  input.dims = (uint64_t[]){3, INT64_MAX};
  polyad_tensor *x;
  assert_int_equal(polyad_tensor_create(context, &input, &x), POLYAD_OK);
  polyad_tensor_statistics statistics;
  assert_int_equal(polyad_tensor_statistics_compute(context, x, &statistics), POLYAD_OK);
  assert_true(statistics.density == 0 && statistics.value_sum == 0 && statistics.value_min == 0);
  assert_int_equal(statistics.slices[1], 0);
  assert_int_equal(statistics.fibers[0], 0);
  assert_int_equal(statistics.key_bits, 65);
  polyad_tensor_destroy(x);
  assert_int_equal(polyad_tensor_statistics_compute(context, NULL, &statistics),
                   POLYAD_INVALID_ARGUMENT);
}

/* Five standard errors of 0.8%; few and many distinct fibers. */
static void estimates_are_close(void **state) {
  (void)state;
  const uint64_t range[] = {300, 200, 100}, few[] = {3, 300, 300}, ones[] = {1, 1, 1};
  for (int c = 0; c < 2; ++c) {
    const uint64_t *dims = c == 0 ? range : few;
    polyad_tensor *x = make(3, 300000, dims, dims, ones);
    uint64_t exact[POLYAD_MAX_ORDER], estimated[POLYAD_MAX_ORDER], first[POLYAD_MAX_ORDER] = {0};
    int is_exact;
    assert_int_equal(pd_tensor_count_fibers(context, x, exact, &is_exact), POLYAD_OK);
    for (int threads = 1; threads <= 4; ++threads) {
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      assert_int_equal(pd_tensor_estimate_fibers(context, x, estimated), POLYAD_OK);
      if (threads == 1) memcpy(first, estimated, sizeof first);
      for (int n = 0; n < 3; ++n) {
        double error = fabs((double)estimated[n] / (double)exact[n] - 1);
        assert_true(error <= 5 * 1.04 / 128);
        assert_true(estimated[n] == first[n]);
      }
    }
    polyad_tensor_destroy(x);
  }
}

/* Above 2^22 nonzeros fibers are estimated, but along the last mode counted. */
static void large_tensors_are_estimated(void **state) {
  (void)state;
  const uint64_t dims[] = {3000, 3000}, ones[] = {1, 1};
  polyad_tensor *x = make(2, UINT64_C(7000000), dims, dims, ones);
  assert_true(polyad_tensor_nnz(x) > PD_FIBERS_EXACT_NNZ);
  polyad_tensor_statistics statistics;
  assert_int_equal(polyad_tensor_statistics_compute(context, x, &statistics), POLYAD_OK);
  assert_int_equal(statistics.fibers_exact, 0);
  assert_int_equal(statistics.fibers[1], 3000);
  assert_true(fabs((double)statistics.fibers[0] / 3000 - 1) <= 5 * 1.04 / 128);
  polyad_tensor_destroy(x);
}

/* The sample is within five standard errors of the count, for every number of threads; along modes
 * with few fibers it is the estimate itself, or the count where not too many are possible; and it
 * is the count along the last mode then, and along all modes where few are possible. */
static void samples_are_close(void **state) {
  (void)state;
  const uint64_t many[] = {700, 900, 1100}, few[] = {30, 900, 1100}, ones[] = {1, 1, 1};
  const uint64_t longer[] = {1 << 20, 1 << 20, 1 << 20}, medium[] = {2000, 2000, 2000};
  const uint64_t short_[] = {300, 400, 500};
  const struct {
    const uint64_t *dims, *range;
  } cases[] = {{longer, many}, {longer, few}, {many, many}, {medium, few}, {short_, short_}};
  for (int k = 0; k < 5; ++k) {
    polyad_tensor *x = make(3, 900000, cases[k].dims, cases[k].range, ones);
    uint64_t exact[POLYAD_MAX_ORDER], sampled[POLYAD_MAX_ORDER], estimated[POLYAD_MAX_ORDER];
    int is_exact;
    assert_int_equal(pd_tensor_count_fibers(context, x, exact, &is_exact), POLYAD_OK);
    assert_int_equal(is_exact, 1);
    assert_int_equal(pd_tensor_estimate_fibers(context, x, estimated), POLYAD_OK);
    for (int threads = 1; threads <= 3; ++threads) {
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      assert_int_equal(pd_tensor_sample_fibers(context, x, NULL, sampled), POLYAD_OK);
      for (int n = 0; n < 3; ++n) {
        double error = hypot(1.04 / 128, sqrt(15.0 / (double)exact[n]));
        assert_true(fabs((double)sampled[n] / (double)exact[n] - 1) <= 5 * error);
        if (k == 1 && exact[n] < PD_FIBERS_SAMPLED_LEAST) assert_true(sampled[n] == estimated[n]);
        if (k == 2 && n == 2) assert_true(sampled[n] == exact[n]);
        if (k == 3 && exact[n] < PD_FIBERS_SAMPLED_LEAST) assert_true(sampled[n] == exact[n]);
        if (k == 4) assert_true(sampled[n] == exact[n]);
      }
    }
    polyad_tensor_destroy(x);
  }
}

static polyad_status compute(polyad_context *failing, void *data) {
  polyad_tensor_statistics statistics;
  polyad_status status = polyad_tensor_statistics_compute(failing, data, &statistics);
  uint64_t fibers[POLYAD_MAX_ORDER];
  return status != POLYAD_OK ? status : pd_tensor_estimate_fibers(failing, data, fibers);
}

static void allocations_may_fail(void **state) {
  (void)state;
  const uint64_t dims[] = {UINT64_C(1) << 40, 5}, range[] = {50, 5};
  const uint64_t step[] = {UINT64_C(1) << 33, 1};
  polyad_tensor *x = make(2, 100, dims, range, step);
  assert_true(sweep_failures(compute, x, 2) >= 6);
  polyad_tensor_destroy(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(counts_are_exact),
      TEST(indices_are_counted),
      TEST(values_are_summed_up),
      TEST(empty_tensor_has_no_slices),
      TEST(estimates_are_close),
      TEST(samples_are_close),
      TEST(large_tensors_are_estimated),
      TEST(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
