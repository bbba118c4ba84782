/* Operations on one row against their definitions, in long double: every sum, for every loss, with
 * products that lie one behind the other or are padded, fewer and more of them than a tile has. */
#include "harness.h"

#include "core/random.h"
#include "engine/row.h"
#include "linalg/factor_kernels.h"
#include <float.h>
#include <math.h>

enum { MOST = 3 * PD_TILE_ROWS, RANK_MOST = 33, WIDTH = 48 };

static double product[MOST * WIDTH], value[MOST], model[MOST], b[WIDTH];
static double room[PD_TILE_ROWS * WIDTH], out[WIDTH * WIDTH];

/* Positive numbers, so that no sum cancels and a bound is a multiple of what is summed. */
static struct pd_row_terms make_terms(uint64_t count, size_t rank, size_t stride) {
  memset(product, 0, sizeof product);
  memset(b, 0, sizeof b);
  for (uint64_t j = 0; j < count; ++j) {
    value[j] = 1 + floor(5 * pd_random_uniform(7, 1, j));
    for (size_t r = 0; r < rank; ++r)
      product[j * stride + r] = 0.5 + pd_random_uniform(7, 2, j * rank + r);
  }
  for (size_t r = 0; r < rank; ++r)
    b[r] = 0.5 + pd_random_uniform(7, 3, r);
  return (struct pd_row_terms){.count = count,
                               .rank = rank,
                               .stride = stride,
                               .product = product,
                               .value = value,
                               .model = model};
}

/* What nonzero j's product, or its square, is multiplied by. */
static long double weight_of(const struct pd_op *op, uint64_t j) {
  long double x = value[j], m = model[j];
  switch (op->weight) {
  case PD_ONE:
    return 1;
  case PD_VALUE:
    return x;
  case PD_GAIN_GRADIENT:
    if (op->loss.kind == PD_LOSS_POISSON) return x / fmaxl(m, op->loss.least);
    return op->loss.kind == PD_LOSS_GAUSSIAN ? 2 * x : x;
  default:
    return op->loss.kind == PD_LOSS_POISSON ? x / fmaxl(m * m, op->loss.least) : 0;
  }
}

/* A product of three factors, each rounded once or twice, is added up to `count` times. */
static void assert_near(double found, long double expected, uint64_t count) {
  long double most = ((long double)count + 8) * DBL_EPSILON * fabsl(expected);
  assert_true(fabsl(found - expected) <= most);
}

static void check_rows(const struct pd_op *op, const struct pd_row_terms *terms) {
  memset(out, 0, sizeof out);
  out[0] = 1; /* is added to */
  pd_row_run(op, terms, NULL, out);
  for (size_t r = 0; r < terms->rank; ++r) {
    long double sum = r == 0;
    for (uint64_t j = 0; j < terms->count; ++j)
      sum += weight_of(op, j) * product[j * terms->stride + r];
    assert_near(out[r], sum, terms->count);
  }
}

static void check_squares(const struct pd_op *op, const struct pd_row_terms *terms) {
  size_t padded = pd_padded(terms->rank);
  memset(out, 0, sizeof out);
  out[0] = 1;
  pd_row_run(op, terms, room, out);
  for (size_t r = 0; r < terms->rank; ++r)
    for (size_t s = r; s < terms->rank; ++s) {
      long double sum = r == 0 && s == 0;
      for (uint64_t j = 0; j < terms->count; ++j) {
        const double *p = product + j * terms->stride;
        sum += weight_of(op, j) * p[r] * p[s];
      }
      assert_near(out[r * padded + s], sum, terms->count);
    }
}

static void check_gains(const struct pd_op *op, const struct pd_row_terms *terms) {
  long double sum = 1, size = 1;
  double found = 1;
  pd_row_run(op, terms, NULL, &found);
  for (uint64_t j = 0; j < terms->count; ++j) {
    long double x = value[j], m = model[j];
    long double gain = op->loss.kind == PD_LOSS_POISSON    ? x * logl(m)
                       : op->loss.kind == PD_LOSS_GAUSSIAN ? 2 * x * m
                                                           : x * m;
    sum += gain;
    size += fabsl(gain);
  }
  assert_true(fabsl(found - sum) <= ((long double)terms->count + 8) * DBL_EPSILON * size);
}

static void check_all(const struct pd_row_terms *terms) {
  pd_row_models(terms, b, model);
  for (uint64_t j = 0; j < terms->count; ++j) {
    long double m = 0;
    for (size_t r = 0; r < terms->rank; ++r)
      m += (long double)product[j * terms->stride + r] * b[r];
    assert_near(model[j], m, terms->rank);
  }
  check_rows(&PD_MTTKRP, terms);
  check_squares(&PD_SQUARES, terms);
  check_squares(&PD_VALUE_SQUARES, terms);
  for (int kind = PD_LOSS_POISSON; kind <= PD_LOSS_GAUSSIAN; ++kind)
    for (int least = 0; least < 2; ++least) { /* 1e9 is more than any model here */
      const struct pd_loss loss = {kind, least == 0 ? 1e-10 : 1e9};
      check_rows(&PD_GRADIENT(loss), terms);
      check_squares(&PD_CURVATURE(loss), terms);
      check_gains(&PD_GAIN_SUM(loss), terms);
    }
}

static void sums_are_those_of_their_definitions(void **state) {
  static const uint64_t counts[] = {0, 1, 5, PD_TILE_ROWS, PD_TILE_ROWS + 1, MOST};
  static const size_t ranks[] = {1, 2, 7, 16, 17, RANK_MOST};
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k)
      for (int padded = 0; padded < 2; ++padded) {
        size_t stride = padded ? pd_padded(ranks[k]) : ranks[k];
        const struct pd_row_terms terms = make_terms(counts[c], ranks[k], stride);
        check_all(&terms);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_those_of_their_definitions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
