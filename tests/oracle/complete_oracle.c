#include "complete_oracle.h"

static void split_cell(const struct oracle_complete *c, size_t cell, size_t *index) {
  for (int n = c->order; n-- > 0; cell /= c->dims[n])
    index[n] = cell % c->dims[n];
}

static long double product(const struct oracle_complete *c, const size_t *index, size_t r,
                           int but) {
  long double result = 1;
  for (int n = 0; n < c->order; ++n)
    if (n != but) result *= c->factor[n][index[n] * c->rank + r];
  return result;
}

static long double missed(const struct oracle_complete *c, size_t cell, const size_t *index) {
  long double rest = c->x[cell];
  for (size_t r = 0; r < c->rank; ++r)
    rest -= product(c, index, r, -1);
  if (!c->biases) return rest;
  rest -= c->mean;
  for (int n = 0; n < c->order; ++n)
    rest -= c->bias[n][index[n]];
  return rest;
}

static long double known(const struct oracle_complete *c, int mode, size_t row) {
  long double count = 0;
  for (size_t cell = 0; cell < c->cells; ++cell) {
    size_t index[ORACLE_COMPLETE_MODES] = {0};
    split_cell(c, cell, index);
    count += index[mode] == row && c->weight[cell] > 0;
  }
  return count;
}

long double oracle_complete_ridge(const struct oracle_complete *c, int mode, size_t row) {
  return c->ridge * (c->by_count ? known(c, mode, row) : 1);
}

static long double bias_ridge(const struct oracle_complete *c, int mode, size_t row) {
  return c->bias_ridge * (c->by_count ? known(c, mode, row) : 1);
}

long double oracle_complete_objective(const struct oracle_complete *c) {
  long double sum = 0;
  for (size_t cell = 0; cell < c->cells; ++cell) {
    size_t index[ORACLE_COMPLETE_MODES] = {0};
    split_cell(c, cell, index);
    long double e = missed(c, cell, index);
    sum += c->weight[cell] * e * e;
  }
  for (int n = 0; n < c->order; ++n)
    for (size_t i = 0; i < c->dims[n]; ++i) {
      for (size_t r = 0; r < c->rank; ++r) {
        long double a = c->factor[n][i * c->rank + r];
        sum += oracle_complete_ridge(c, n, i) * a * a;
      }
      if (c->biases) sum += bias_ridge(c, n, i) * c->bias[n][i] * c->bias[n][i];
    }
  return sum;
}

long double oracle_complete_slope(const struct oracle_complete *c, int mode, size_t row, size_t r) {
  bool bias = r == c->rank;
  long double sum = bias ? bias_ridge(c, mode, row) * c->bias[mode][row]
                         : oracle_complete_ridge(c, mode, row) * c->factor[mode][row * c->rank + r];
  for (size_t cell = 0; cell < c->cells; ++cell) {
    size_t index[ORACLE_COMPLETE_MODES] = {0};
    split_cell(c, cell, index);
    if (index[mode] != row) continue;
    sum -= c->weight[cell] * missed(c, cell, index) * (bias ? 1 : product(c, index, r, mode));
  }
  return 2 * sum;
}
