/* CP-ALS with some modes nonnegative and the others of any sign, against the conditions for a least
 * distance: with V the elementwise product of the other modes' Gram matrices and M the MTTKRP, both
 * from dense sums in long double, the slope of half the squared distance in a factor A is
 * A V - M. In a mode of any sign it is zero, in a nonnegative one at least zero, and zero where A
 * is above zero (Karush, Kuhn and Tucker). */
#include "cp_als_fixture.h"

#include "core/numbers.h"
#include "core/random.h"
#include "tensor/tensor.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ORDER = 3, RANK = 3, ALL = (1 << ORDER) - 1, MOST_ROWS = 7, CELLS = 7 * 6 * 5 };

static const uint64_t dims[ORDER] = {7, 6, 5};

struct dense {
  double x[CELLS];
  long double a[ORDER][MOST_ROWS][RANK]; /* the factors */
  long double weight[RANK];
};

static void take_tensor(struct dense *d, const polyad_tensor *tensor) {
  memset(d, 0, sizeof *d);
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    uint64_t cell = 0;
    for (int n = 0; n < ORDER; ++n)
      cell = cell * dims[n] + pd_tensor_index(tensor, n, p);
    d->x[cell] = pd_tensor_value(tensor, p);
  }
}

static void take_model(struct dense *d, polyad_ktensor *model) {
  for (size_t r = 0; r < RANK; ++r) {
    d->weight[r] = pd_load(polyad_ktensor_type(model), polyad_ktensor_weights(model), r);
    for (int n = 0; n < ORDER; ++n)
      for (uint64_t i = 0; i < dims[n]; ++i)
        d->a[n][i][r] =
            pd_load(polyad_ktensor_type(model), polyad_ktensor_factor(model, n), i * RANK + r);
  }
}

/* The model's value less the tensor's, at every cell. */
static long double missed(const struct dense *d, const uint64_t *at, uint64_t cell) {
  long double sum = -(long double)d->x[cell];
  for (size_t r = 0; r < RANK; ++r) {
    long double product = d->weight[r];
    for (int n = 0; n < ORDER; ++n)
      product *= d->a[n][at[n]][r];
    sum += product;
  }
  return sum;
}

/* slope[i][r]: by how much half the squared distance grows with the entry of A, which has the
 * weights, over the norm of the component without it and that of the tensor. */
static void find_slopes(const struct dense *d, int mode, long double slope[MOST_ROWS][RANK]) {
  long double norm = 0;
  memset(slope, 0, MOST_ROWS * sizeof *slope);
  for (uint64_t cell = 0; cell < CELLS; ++cell) {
    uint64_t at[ORDER], rest = cell;
    for (int n = ORDER; n-- > 0; rest /= dims[n])
      at[n] = rest % dims[n];
    long double error = missed(d, at, cell);
    norm += (long double)d->x[cell] * d->x[cell];
    for (size_t r = 0; r < RANK; ++r) {
      long double others = 1;
      for (int n = 0; n < ORDER; ++n)
        if (n != mode) others *= d->a[n][at[n]][r];
      slope[at[mode]][r] += error * others;
    }
  }
  for (uint64_t i = 0; i < dims[mode]; ++i)
    for (size_t r = 0; r < RANK; ++r)
      slope[i][r] /= sqrtl(norm);
}

static bool in(uint32_t modes, int n) { return modes >> n & 1; }

static void check_mode(const struct dense *d, uint32_t modes, int mode, long double most) {
  long double slope[MOST_ROWS][RANK];
  find_slopes(d, mode, slope);
  for (uint64_t i = 0; i < dims[mode]; ++i)
    for (size_t r = 0; r < RANK; ++r) {
      bool bound = in(modes, mode) && d->a[mode][i][r] == 0;
      if (bound ? slope[i][r] < -most : fabsl(slope[i][r]) > most)
        fail_msg("modes %u nonnegative: slope %Lg in mode %d, row %zu, component %zu", modes,
                 slope[i][r], mode, (size_t)i, r);
    }
}

/* Every nonnegative factor is, and of the others one number or more is negative: else nothing has
 * been asked of them. */
static void check_signs(const struct dense *d, uint32_t modes, bool binds) {
  for (int n = 0; n < ORDER; ++n) {
    int negative = 0, zero = 0;
    for (uint64_t i = 0; i < dims[n]; ++i)
      for (size_t r = 0; r < RANK; ++r) {
        negative += d->a[n][i][r] < 0;
        zero += d->a[n][i][r] == 0;
      }
    if (in(modes, n) ? negative > 0 : binds && negative == 0)
      fail_msg("modes %u nonnegative: %d negative numbers in mode %d", modes, negative, n);
    if (in(modes, n) && binds && zero == 0)
      fail_msg("modes %u nonnegative: no zero in mode %d", modes, n);
  }
}

struct problem {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan *plan;
  struct dense dense;
};

/* A model of these signs, half of whose nonnegative numbers are zero, with noise, which some of
 * them would follow below zero. */
static struct problem open_problem(uint32_t modes) {
  struct problem p = {.context = cpu_context(2)};
  polyad_ktensor *truth = als_random_model(p.context, ORDER, dims, RANK, 9, 0);
  for (int n = 0; n < ORDER; ++n)
    for (uint64_t k = 0; in(modes, n) && k < dims[n] * RANK; ++k) {
      double *number = (double *)polyad_ktensor_factor(truth, n) + k;
      *number = fmax(*number, 0);
    }
  p.tensor = als_tensor_of_model(p.context, truth);
  for (uint64_t q = 0; q < p.tensor->nnz; ++q)
    ((double *)p.tensor->values)[q] += 0.1 * pd_random_normal(6, 0, q);
  polyad_ktensor_destroy(truth);
  p.plan = als_plan(p.context, p.tensor, RANK, POLYAD_F64);
  take_tensor(&p.dense, p.tensor);
  return p;
}

static void close_problem(struct problem *p) {
  polyad_plan_destroy(p->plan);
  polyad_tensor_destroy(p->tensor);
  context_end(p->context);
}

static polyad_cp_als_options options_for(uint32_t modes, int iterations) {
  polyad_cp_als_options options = options_of(RANK);
  options.nonnegative_modes = modes;
  options.run.tolerance = 0;
  options.run.max_iterations = iterations;
  return options;
}

static polyad_ktensor *decompose(struct problem *p, const polyad_cp_als_options *options,
                                 polyad_run_info *info) {
  polyad_ktensor *model;
  ALS_OK(p->context, polyad_cp_als(p->context, p->plan, options, &model, info));
  als_check_model(model);
  take_model(&p->dense, model);
  return model;
}

/* ---- the conditions ------------------------------------------------------------------------- */

/* Slopes are sums of CELLS terms, each a product of ORDER + 1 numbers, relative to the tensor's
 * norm.
 */
static const long double rounding = 64 * CELLS * (long double)DBL_EPSILON;

static void the_distance_is_least(void **state) {
  (void)state;
  for (uint32_t modes = 1; modes < ALL; ++modes) {
    struct problem p = open_problem(modes);
    polyad_cp_als_options options = options_for(modes, 2000);
    polyad_run_info info = {0};
    polyad_ktensor *model = decompose(&p, &options, &info);
    const polyad_trace_row *last = &info.trace[info.trace_rows - 1];
    assert_true(info.trace_rows > 100 &&
                fabs(last->residual - last[-100].residual) <= 64 * DBL_EPSILON);
    for (int n = 0; n < ORDER; ++n)
      check_mode(&p.dense, modes, n, rounding);
    check_signs(&p.dense, modes, true);
    polyad_ktensor_destroy(model);
    polyad_run_info_clear(&info);
    close_problem(&p);
  }
}

/* The mode that was updated last has solved its own problem, whatever the iteration: a mode of any
 * sign wholly, by its normal equations, a nonnegative one in the column that its sweep has done
 * last. Columns are sorted by weight at the end; the last one of a sweep is one of them. */
static void the_last_update_solves_its_problem(void **state) {
  (void)state;
  for (uint32_t modes = 1; modes < ALL; ++modes)
    for (int iterations = 1; iterations <= 3; ++iterations) {
      struct problem p = open_problem(modes);
      polyad_cp_als_options options = options_for(modes, iterations);
      polyad_ktensor *model = decompose(&p, &options, NULL);
      int last = ORDER - 1;
      long double slope[MOST_ROWS][RANK];
      if (!in(modes, last)) {
        check_mode(&p.dense, modes, last, rounding);
      } else {
        int solved = 0;
        find_slopes(&p.dense, last, slope);
        for (size_t r = 0; r < RANK; ++r) {
          bool holds = true;
          for (uint64_t i = 0; i < dims[last]; ++i)
            holds = holds && slope[i][r] >= -rounding &&
                    (p.dense.a[last][i][r] == 0 || slope[i][r] <= rounding);
          solved += holds;
        }
        if (solved == 0) fail_msg("modes %u nonnegative: no column is solved for", modes);
      }
      check_signs(&p.dense, modes, false);
      polyad_ktensor_destroy(model);
      close_problem(&p);
    }
}

/* ---- what the set is ------------------------------------------------------------------------ */

static void all_modes_and_none_are_as_ever(void **state) {
  (void)state;
  for (int all = 0; all < 2; ++all) {
    struct problem p = open_problem(ALL);
    polyad_cp_als_options options = options_for(all ? ALL : 0, 20), plain = options_for(0, 20);
    plain.nonnegative = all;
    polyad_ktensor *model = decompose(&p, &options, NULL), *expected = decompose(&p, &plain, NULL);
    assert_true(als_same_model(model, expected));
    plain.nonnegative_modes = 2; /* beside all */
    polyad_ktensor *third = plain.nonnegative ? decompose(&p, &plain, NULL) : NULL;
    assert_true(third == NULL || als_same_model(third, expected));
    polyad_ktensor_destroy(third);
    polyad_ktensor_destroy(model);
    polyad_ktensor_destroy(expected);
    close_problem(&p);
  }
}

static void modes_that_the_tensor_lacks(void **state) {
  (void)state;
  struct problem p = open_problem(ALL);
  for (int n = ORDER; n < 32; ++n) {
    polyad_cp_als_options options = options_for(UINT32_C(1) << n | 1, 3);
    polyad_ktensor *model = NULL;
    char words[80];
    snprintf(words, sizeof words, "nonnegative factors of mode %d found; expected modes 0 to 2", n);
    assert_int_equal(polyad_cp_als(p.context, p.plan, &options, &model, NULL),
                     POLYAD_INVALID_ARGUMENT);
    assert_null(model);
    assert_string_equal(polyad_last_error(p.context), words);
  }
  close_problem(&p);
}

/* ---- every run of them ---------------------------------------------------------------------- */

/* Each update lowers the distance or keeps it, in either precision, with a new chance for what was
 * clipped to zero and without. What is left is the rounding of factors and of the fit. */
static void the_fit_never_falls(void **state) {
  (void)state;
  for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision)
    for (uint32_t modes = 1; modes < ALL; ++modes) {
      struct setting s = set_up(2, (polyad_type)precision);
      polyad_cp_als_options options = options_of(8);
      polyad_run_info info = {0};
      options.nonnegative_modes = modes;
      options.run.tolerance = 0;
      options.run.max_iterations = 12;
      polyad_ktensor *model = run(&s, &options, &info);
      double unit = precision == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
      assert_int_equal(info.iterations, 12);
      for (int i = 1; i < info.trace_rows; ++i)
        assert_true(info.trace[i].residual <= info.trace[i - 1].residual + 64 * unit);
      polyad_ktensor_destroy(model);
      polyad_run_info_clear(&info);
      tear_down(&s);
    }
}

static uint64_t negative_numbers(polyad_ktensor *model, int n) {
  uint64_t count = 0;
  for (uint64_t k = 0; k < polyad_ktensor_dims(model)[n] * polyad_ktensor_rank(model); ++k)
    count += pd_load(polyad_ktensor_type(model), polyad_ktensor_factor(model, n), k) < 0;
  return count;
}

/* First factors: what is negative in a nonnegative mode becomes zero in the caller's, and loses its
 * sign in singular vectors; other modes keep theirs. */
static void first_factors_keep_other_signs(void **state) {
  (void)state;
  enum { SOME = 1 << 1 };
  struct problem p = open_problem(0);
  polyad_ktensor *initial = als_random_model(p.context, ORDER, dims, RANK, 5, 0);
  polyad_cp_als_options options = options_for(SOME, 0);
  options.initial = initial;
  for (int hosvd = 0; hosvd < 2; ++hosvd) {
    options.init = hosvd ? POLYAD_INIT_HOSVD : POLYAD_INIT_MODEL;
    polyad_ktensor *model = decompose(&p, &options, NULL);
    assert_true(negative_numbers(model, 0) > 0 && negative_numbers(model, 2) > 0);
    assert_true(negative_numbers(model, 1) == 0);
    polyad_ktensor_destroy(model);
  }
  polyad_ktensor_destroy(initial);
  close_problem(&p);
}

/* Of several starts that share their products each is as it is alone. */
static void starts_side_by_side(void **state) {
  (void)state;
  struct problem p = open_problem(5);
  polyad_cp_als_options options = options_for(5, 300);
  polyad_run_info info = {0}, alone = {0};
  options.run.starts = 4;
  polyad_ktensor_destroy(decompose(&p, &options, &info));
  check_signs(&p.dense, 5, false);
  options.run.starts = 1;
  for (int start = 0; start < 4; ++start) {
    options.run.first_start = start;
    polyad_ktensor_destroy(decompose(&p, &options, &alone));
    assert_true(fabs(info.starts[start].objective - alone.fit) <= 1e-9);
  }
  polyad_run_info_clear(&info);
  polyad_run_info_clear(&alone);
  close_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_distance_is_least),
      cmocka_unit_test(the_last_update_solves_its_problem),
      cmocka_unit_test(all_modes_and_none_are_as_ever),
      cmocka_unit_test(modes_that_the_tensor_lacks),
      cmocka_unit_test(the_fit_never_falls),
      cmocka_unit_test(first_factors_keep_other_signs),
      cmocka_unit_test(starts_side_by_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
