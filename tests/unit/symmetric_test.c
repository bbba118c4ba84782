/* Eigenpairs of dense symmetric matrices: residuals and inner products in wider precision, for
 * sizes below and above what is reduced at once, for few and for all, and at the ends of the range.
 */
#include "harness.h"

#include "core/random.h"
#include "linalg/lapack.h"
#include "linalg/symmetric.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 421 };

static polyad_context *context;

static double *numbers(size_t count) {
  double *made = calloc(count, sizeof *made);
  assert_non_null(made);
  return made;
}

/* A full symmetric matrix with eigenvalues of both signs and one of multiplicity two or more. */
static double *matrix(uint64_t rows, double scale) {
  double *a = numbers(rows * rows);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j <= i; ++j) {
      double x = i / 3 == j / 3 ? pd_random_uniform(3, i / 3, 0) : 0;
      if (i % 7 == j % 5) x += pd_random_uniform(4, i, j) - 0.5;
      a[i * rows + j] = a[j * rows + i] = scale * x;
    }
  return a;
}

static long double product(uint64_t rows, const double *a, const double *vectors, uint64_t count,
                           uint64_t i, uint64_t r) {
  long double sum = 0;
  for (uint64_t j = 0; j < rows; ++j)
    sum += (long double)a[i * rows + j] * vectors[j * count + r];
  return sum;
}

static void check_pairs(uint64_t rows, uint64_t count, double scale) {
  struct pd_stage stage = pd_stage_begin(context, "a test");
  double *a = matrix(rows, scale), *copy = numbers(rows * rows), *values = numbers(rows);
  double *vectors = numbers(rows * count), norm = 0;
  memcpy(copy, a, rows * rows * sizeof *a);
  for (uint64_t k = 0; k < rows * rows; ++k)
    norm = fmax(norm, fabs(a[k]) * (double)rows);
  if (pd_symmetric_leading(&stage, rows, copy, count, values, vectors) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  long double limit = 32 * DBL_EPSILON * (long double)rows;
  for (uint64_t r = 0; r < count; ++r) {
    assert_true(r == 0 || values[r] <= values[r - 1]);
    for (uint64_t i = 0; i < rows; ++i) {
      long double missed =
          product(rows, a, vectors, count, i, r) - (long double)values[r] * vectors[i * count + r];
      if (!(fabsl(missed) <= limit * norm))
        fail_msg("%llu rows, pair %llu: residual %.3Lg of %.3g", (unsigned long long)rows,
                 (unsigned long long)r, missed, norm);
    }
    for (uint64_t s = 0; s <= r; ++s) {
      long double inner = 0;
      for (uint64_t i = 0; i < rows; ++i)
        inner += (long double)vectors[i * count + r] * vectors[i * count + s];
      assert_true(fabsl(inner - (r == s)) <= limit);
    }
  }
  free(a);
  free(copy);
  free(values);
  free(vectors);
}

static void pairs_are_eigenpairs(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 2, 3, 31, 128, 129, 160, 161, 193, MOST};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    check_pairs(sizes[k], 1, 1);
    check_pairs(sizes[k], sizes[k] / 3 + 1, 1);
    if (sizes[k] < MOST) check_pairs(sizes[k], sizes[k], 1);
  }
}

static void entries_may_be_tiny_or_huge(void **state) {
  (void)state;
  check_pairs(170, 20, 0x1p-900);
  check_pairs(170, 20, 0x1p900);
}

/* No eigenvalue is larger than the first: the trace is the sum of all. */
static void values_are_the_largest(void **state) {
  (void)state;
  enum { ROWS = 190 };
  struct pd_stage stage = pd_stage_begin(context, "a test");
  double *a = matrix(ROWS, 1), *few = numbers(ROWS), *all = numbers(ROWS), trace = 0, sum = 0;
  double *copy = numbers((size_t)ROWS * ROWS), *vectors = numbers((size_t)ROWS * ROWS);
  memcpy(copy, a, ROWS * ROWS * sizeof *a);
  for (int i = 0; i < ROWS; ++i)
    trace += a[i * ROWS + i];
  assert_int_equal(pd_symmetric_leading(&stage, ROWS, copy, ROWS, all, vectors), POLYAD_OK);
  assert_int_equal(pd_symmetric_leading(&stage, ROWS, a, 9, few, vectors), POLYAD_OK);
  for (int r = 0; r < ROWS; ++r)
    sum += all[r];
  assert_true(fabs(sum - trace) <= 64 * ROWS * DBL_EPSILON * ROWS);
  for (int r = 0; r < 9; ++r)
    assert_true(fabs(few[r] - all[r]) <= 64 * ROWS * DBL_EPSILON * ROWS);
  free(a);
  free(few);
  free(all);
  free(copy);
  free(vectors);
}

/* ---- a tridiagonal matrix, in parts -----------------------------------------------------------
 */

enum { LINE = 400 };

/* Spread eigenvalues; pairs that agree in all digits but the last (Wilkinson's); all the same but
 * a few; a graded matrix. */
static void tridiagonal(int kind, double *diagonal, double *beside) {
  for (uint64_t i = 0; i < LINE; ++i) {
    double x = pd_random_uniform(9, 0, i), falling = 1e4 / (double)((i + 1) * (i + 1));
    diagonal[i] = kind == 0   ? 100 * x
                  : kind == 1 ? fabs((double)i - LINE / 2)
                  : kind == 2 ? (i < 30 ? 5 + x : 1)
                              : falling;
    beside[i] = kind == 0   ? pd_random_uniform(9, 1, i)
                : kind == 1 ? 1
                : kind == 2 ? 0
                            : falling / 4;
  }
  beside[LINE - 1] = 0;
}

/* Residuals and inner products, to LAPACK's 30 n roundings. */
static void check_tridiagonal(const double *diagonal, const double *beside, size_t count,
                              const double *values, const double *vectors) {
  long double norm = 0, limit = 30 * 0x1p-53L * LINE;
  for (int i = 0; i < LINE; ++i)
    norm = fmaxl(norm, fabsl((long double)diagonal[i]) + 2 * fabsl((long double)beside[i]));
  for (size_t a = 0; a < count; ++a) {
    const double *x = vectors + a * LINE;
    assert_true(a == 0 || values[a] >= values[a - 1]);
    for (int i = 0; i < LINE; ++i) {
      long double image = (long double)diagonal[i] * x[i];
      if (i > 0) image += (long double)beside[i - 1] * x[i - 1];
      if (i + 1 < LINE) image += (long double)beside[i] * x[i + 1];
      assert_true(fabsl(image - (long double)values[a] * x[i]) <= limit * norm);
    }
    for (size_t b = 0; b <= a; ++b) {
      long double inner = 0;
      for (int i = 0; i < LINE; ++i)
        inner += (long double)x[i] * vectors[b * LINE + (size_t)i];
      assert_true(fabsl(inner - (a == b)) <= limit);
    }
  }
}

static void parts_are_cut_at_gaps(void **state) {
  (void)state;
  static const size_t counts[] = {1, 33, 170, LINE}, at_once[] = {16, 37, LINE};
  double diagonal[LINE], beside[LINE], values[LINE], work[21 * LINE], alone[LINE];
  int integers[12 * LINE];
  double *vectors = numbers(LINE * LINE);
  for (int kind = 0; kind < 4; ++kind)
    for (size_t c = 0; c < 4; ++c) {
      tridiagonal(kind, diagonal, beside);
      for (size_t k = 3; k-- > 0;) { /* the whole in one call first */
        struct pd_stage stage = pd_stage_begin(context, "a test");
        if (pd_eigen_tridiagonal(&stage, LINE, counts[c], at_once[k], diagonal, beside, values,
                                 vectors, work, integers) != POLYAD_OK)
          fail_msg("%s", polyad_last_error(context));
        check_tridiagonal(diagonal, beside, counts[c], values, vectors);
        if (at_once[k] == LINE) memcpy(alone, values, sizeof alone);
        for (size_t r = 0; r < counts[c]; ++r)
          assert_true(fabs(values[r] - alone[r]) <= 30 * 0x1p-53 * LINE * 1e4);
      }
    }
  free(vectors);
}

/* Counts what the stage is asked, all of it told at once, and ends the work at question `last`. */
struct questions {
  struct pd_stage stage;
  int asked, last;
};

static int count_question(void *user, const polyad_progress *progress) {
  struct questions *q = user;
  (void)progress;
  q->stage.told = -INFINITY;
  return ++q->asked == q->last;
}

static void parts_can_be_cancelled(void **state) {
  (void)state;
  enum { WANTED = 200, AT_ONCE = 20 };
  double diagonal[LINE], beside[LINE], values[LINE], work[21 * LINE];
  int integers[12 * LINE];
  double *vectors = numbers((size_t)LINE * WANTED);
  tridiagonal(0, diagonal, beside);
  for (int last = 0; last < 3; ++last) {
    struct questions q = {.stage = pd_stage_begin(context, "a test"), .last = 2 * last};
    q.stage.told = -INFINITY;
    polyad_set_progress(context, count_question, &q);
    polyad_status status = pd_eigen_tridiagonal(&q.stage, LINE, WANTED, AT_ONCE, diagonal, beside,
                                                values, vectors, work, integers);
    assert_int_equal(status, last == 0 ? POLYAD_OK : POLYAD_CANCELLED);
    assert_true(last == 0 ? q.asked >= WANTED / AT_ONCE : q.asked == q.last);
    polyad_clear_cancel(context);
  }
  polyad_set_progress(context, NULL, NULL);
  free(vectors);
}

/* A diagonal matrix whose eigenvalues fall slowly: no pair is exact after a few products. */
static polyad_status slow_product(void *user, const double *x, double *y) {
  uint64_t rows = *(const uint64_t *)user;
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t c = 0; c < PD_SYMMETRIC_BLOCK; ++c)
      y[i * PD_SYMMETRIC_BLOCK + c] =
          x[i * PD_SYMMETRIC_BLOCK + c] / (1 + (double)i / (double)rows);
  return POLYAD_OK;
}

/* What a search that was ended early says of its pairs is what they are. */
static void check_residual(int products) {
  enum { WANTED = 5 };
  uint64_t rows = 700;
  struct pd_stage stage = pd_stage_begin(context, "a test");
  struct pd_symmetric_operator a = {&rows, rows, slow_product};
  struct pd_symmetric_search search = {
      .wanted = WANTED, .tolerance = 1e-14, .most_products = products};
  double *vectors = numbers(rows * WANTED), values[WANTED], largest = 0;
  assert_int_equal(pd_symmetric_krylov(&stage, &a, &search, values, vectors), POLYAD_OK);
  assert_int_equal(search.products, products);
  for (int r = 0; r < WANTED; ++r) {
    double square = 0;
    for (uint64_t i = 0; i < rows; ++i) {
      double missed =
          vectors[i * WANTED + (uint64_t)r] * (1 / (1 + (double)i / (double)rows) - values[r]);
      square += missed * missed;
    }
    largest = fmax(largest, sqrt(square) / values[0]);
  }
  assert_true(largest > 1e-6);
  assert_true(fabs(search.residual - largest) <= 1e-9 * largest + 64 * DBL_EPSILON * (double)rows);
  free(vectors);
}

static void residuals_are_told(void **state) {
  (void)state;
  for (int products = 3; products <= 9; ++products)
    check_residual(products);
}

static void cancelling_ends_it(void **state) {
  (void)state;
  enum { ROWS = 300 };
  struct pd_stage stage = pd_stage_begin(context, "a test");
  double *a = matrix(ROWS, 1), *values = numbers(ROWS), *vectors = numbers(ROWS);
  polyad_cancel(context);
  assert_int_equal(pd_symmetric_leading(&stage, ROWS, a, 1, values, vectors), POLYAD_CANCELLED);
  polyad_clear_cancel(context);
  free(a);
  free(values);
  free(vectors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_are_eigenpairs),   cmocka_unit_test(entries_may_be_tiny_or_huge),
      cmocka_unit_test(values_are_the_largest), cmocka_unit_test(residuals_are_told),
      cmocka_unit_test(cancelling_ends_it),     cmocka_unit_test(parts_are_cut_at_gaps),
      cmocka_unit_test(parts_can_be_cancelled),
  };
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  polyad_context_destroy(context);
  return failed;
}
