#include "oracle/gcp_oracle.h"
#include <math.h>
#include <stdlib.h>

/* f, its derivative, and the second one (a bound of it) at a cell. */
struct terms {
  long double f, first, second;
};

static struct terms at(enum oracle_loss loss, long double x, long double m) {
  long double odds = expl(-m);
  switch (loss) {
  case ORACLE_POISSON:
    return (struct terms){m - (x > 0 ? x * logl(m) : 0), 1 - x / m, x / (m * m)};
  case ORACLE_BERNOULLI_LOGIT:
    return (struct terms){logl(1 + expl(m)) - x * m, 1 / (1 + odds) - x, 0.25L};
  case ORACLE_GAUSSIAN:
    break;
  }
  return (struct terms){(x - m) * (x - m), 2 * (m - x), 2};
}

static size_t cell_of(const struct oracle_tensor *tensor, const uint64_t *index) {
  size_t cell = 0;
  for (int n = 0; n < tensor->order; ++n)
    cell = cell * (size_t)tensor->dims[n] + (size_t)index[n];
  return cell;
}

static void add(struct oracle_gcp *to, size_t k, long double exact, long double grid,
                long double nonzeros) {
  to->exact[k] += exact;
  to->grid[k] += grid;
  to->nonzeros[k] += nonzeros;
}

/* One cell: `size` is the sum of the absolute values of the model's terms. */
static void visit(const struct oracle_tensor *tensor, enum oracle_loss loss, size_t rank,
                  const double *const *factors, const size_t *index, long double x,
                  struct oracle_gcp *objective, struct oracle_gcp *gradient) {
  long double m = 0, size = 0;
  for (size_t r = 0; r < rank; ++r) {
    long double product = 1;
    for (int n = 0; n < tensor->order; ++n)
      product *= factors[n][index[n] * rank + r];
    m += product;
    size += fabsl(product);
  }
  struct terms zero = at(loss, 0, m), here = at(loss, x, m);
  long double change = fabsl(here.first - zero.first);
  /* Closed forms add squares of the terms one by one. */
  long double of_grid = loss == ORACLE_GAUSSIAN ? 4 * size * size : fabsl(zero.f) + size;
  long double slope = loss == ORACLE_GAUSSIAN ? 4 * size : fabsl(zero.first) + size;
  add(objective, 0, here.f, of_grid, fabsl(here.f - zero.f) + x * x + 2 * change * size);
  for (int n = 0; n < tensor->order; ++n)
    for (size_t r = 0; r < rank; ++r) {
      long double others = 1;
      for (int k = 0; k < tensor->order; ++k)
        if (k != n) others *= factors[k][index[k] * rank + r];
      long double moves = loss == ORACLE_POISSON ? 2 * change : change;
      add(&gradient[n], index[n] * rank + r, here.first * others, slope * fabsl(others),
          moves * fabsl(others));
    }
}

void oracle_gcp(const struct oracle_tensor *tensor, enum oracle_loss loss, size_t rank,
                const double *const *factors, struct oracle_gcp *objective,
                struct oracle_gcp *gradient) {
  size_t cells = 1, index[64] = {0};
  for (int n = 0; n < tensor->order; ++n)
    cells *= (size_t)tensor->dims[n];
  long double *dense = calloc(cells, sizeof *dense);
  if (dense == NULL || tensor->order > 64) abort();
  for (size_t p = 0; p < tensor->nnz; ++p)
    dense[cell_of(tensor, tensor->index + p * (size_t)tensor->order)] += tensor->value[p];
  objective->exact[0] = objective->grid[0] = objective->nonzeros[0] = 0;
  for (int n = 0; n < tensor->order; ++n)
    for (size_t k = 0; k < (size_t)tensor->dims[n] * rank; ++k)
      gradient[n].exact[k] = gradient[n].grid[k] = gradient[n].nonzeros[k] = 0;
  for (size_t cell = 0; cell < cells; ++cell) {
    size_t left = cell;
    for (int n = tensor->order - 1; n >= 0; --n) {
      index[n] = left % (size_t)tensor->dims[n];
      left /= (size_t)tensor->dims[n];
    }
    visit(tensor, loss, rank, factors, index, dense[cell], objective, gradient);
  }
  free(dense);
}
