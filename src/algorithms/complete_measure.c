/* How well the factors of a completion describe its observations. Sums go over chunks of fixed
 * size, whose results are added in order: the same bits for every number of threads. */
#include "algorithms/complete_state.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 12, COLUMNS = 64 };

double pd_complete_multiply(const struct pd_complete *c, int mode, uint64_t p, double *product) {
  const struct pd_observed_rows *rows = &c->seen->rows[mode];
  size_t rank = c->rank;
  double biases = 0;
  bool first = true;
  if (c->order == 1)
    for (size_t r = 0; r < rank; ++r)
      product[r] = 1;
  for (int n = 0; n < c->order; ++n) {
    if (n == mode) continue;
    const double *row = pd_complete_row(c, n, rows->index[n][p]);
    if (first)
      memcpy(product, row, rank * sizeof *product);
    else
      for (size_t r = 0; r < rank; ++r)
        product[r] *= row[r];
    first = false;
    if (c->columns > rank) biases += row[rank];
  }
  return biases;
}

/* The model at a cell, without the mean. */
static double complete_measure_value_at(const struct pd_complete *c,
                                        const struct pd_observations *o, uint64_t q) {
  const double *row[POLYAD_MAX_ORDER] = {NULL};
  double sum = 0;
  for (int n = 0; n < c->order; ++n)
    row[n] = pd_complete_row(c, n, o->cell[n][q]);
  for (size_t first = 0; first < c->rank; first += COLUMNS) {
    size_t count = c->rank - first < COLUMNS ? c->rank - first : COLUMNS;
    double product[COLUMNS], part = 0;
    memcpy(product, row[0] + first, count * sizeof *product);
    for (int n = 1; n < c->order; ++n)
      for (size_t r = 0; r < count; ++r)
        product[r] *= row[n][first + r];
#pragma omp simd reduction(+ : part)
    for (size_t r = 0; r < count; ++r)
      part += product[r];
    sum += part;
  }
  for (int n = 0; n < c->order && pd_complete_has_biases(c); ++n)
    sum += row[n][c->rank];
  return sum;
}

static uint64_t chunks_of(uint64_t count) { return (count + CHUNK - 1) / CHUNK; }

static double complete_measure_add_up(const double *partial, uint64_t count) {
  double sum = 0;
  for (uint64_t k = 0; k < count; ++k)
    sum += partial[k];
  return sum;
}

double pd_complete_loss(const struct pd_complete *c, const struct pd_observations *o, double *e) {
  uint64_t chunks = chunks_of(o->count);
#pragma omp parallel for num_threads(c->threads) schedule(static)
  for (uint64_t k = 0; k < chunks; ++k) {
    uint64_t end = (k + 1) * CHUNK < o->count ? (k + 1) * CHUNK : o->count;
    double sum = 0;
    for (uint64_t q = k * CHUNK; q < end; ++q) {
      double error = o->value[q] - complete_measure_value_at(c, o, q);
      if (e != NULL) e[q] = error;
      sum += pd_complete_weight(o, q) * (error * error);
    }
    c->partial[k] = sum;
  }
  return complete_measure_add_up(c->partial, chunks);
}

/* The ridges' term of one mode. */
static double penalty_of(const struct pd_complete *c, int mode) {
  uint64_t dim = c->seen->dims[mode], chunks = chunks_of(dim);
#pragma omp parallel for num_threads(c->threads) schedule(static)
  for (uint64_t k = 0; k < chunks; ++k) {
    uint64_t end = (k + 1) * CHUNK < dim ? (k + 1) * CHUNK : dim;
    double sum = 0;
    for (uint64_t i = k * CHUNK; i < end; ++i) {
      const double *row = pd_complete_row(c, mode, i);
      uint64_t count = pd_observed_count(&c->seen->rows[mode], i);
      double square = 0;
      for (size_t r = 0; r < c->rank; ++r)
        square += row[r] * row[r];
      sum += pd_complete_ridge(c, false, count) * square;
      if (pd_complete_has_biases(c))
        sum += pd_complete_ridge(c, true, count) * (row[c->rank] * row[c->rank]);
    }
    c->partial[k] = sum;
  }
  return complete_measure_add_up(c->partial, chunks);
}

uint64_t pd_complete_partials(const struct pd_complete *c) {
  uint64_t most = c->seen->count;
  if (c->held != NULL && c->held->count > most) most = c->held->count;
  for (int n = 0; n < c->order; ++n)
    if (c->seen->dims[n] > most) most = c->seen->dims[n];
  return chunks_of(most);
}

polyad_status pd_complete_measure(struct pd_complete *c) {
  struct pd_complete_score now = {.validation = NAN};
  now.loss = pd_complete_loss(c, c->seen, c->residual);
  c->residual_stands = c->residual != NULL;
  now.objective = now.loss;
  for (int n = 0; n < c->order; ++n)
    now.objective += penalty_of(c, n);
  if (c->held != NULL) now.validation = sqrt(pd_complete_loss(c, c->held, NULL) / c->held->weights);
  c->now = now;
  if (isfinite(now.objective)) return POLYAD_OK;
  return pd_fail(c->context, POLYAD_NUMERICAL,
                 "iteration %d gives numbers that are not finite; use a larger ridge",
                 c->run.iteration + 1);
}
