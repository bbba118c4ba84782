#include "oracle/gcp_oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct oracle_terms poisson(long double x, long double m) {
  return (struct oracle_terms){m - (x > 0 ? x * logl(m) : 0), 1 - x / m, x / (m * m)};
}

static struct oracle_terms bernoulli_logit(long double x, long double m) {
  return (struct oracle_terms){logl(1 + expl(m)) - x * m, 1 / (1 + expl(-m)) - x, 0.25L};
}

static struct oracle_terms gaussian(long double x, long double m) {
  return (struct oracle_terms){(x - m) * (x - m), 2 * (m - x), 2};
}

static const struct oracle_loss losses[] = {{"poisson", ORACLE_COUNTS, 0, poisson},
                                            {"bernoulli-logit", ORACLE_ONES, 0, bernoulli_logit},
                                            {"gaussian", ORACLE_ANY, 1, gaussian}};

const struct oracle_loss *oracle_loss_find(const char *name) {
  for (size_t k = 0; k < sizeof losses / sizeof *losses; ++k)
    if (strcmp(losses[k].name, name) == 0) return &losses[k];
  return NULL;
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
static void visit(const struct oracle_tensor *tensor, const struct oracle_loss *loss, size_t rank,
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
  struct oracle_terms zero = loss->at(0, m), here = loss->at(x, m);
  long double change = fabsl(here.first - zero.first);
  /* Closed forms add squares of the terms one by one. */
  long double of_grid = loss->squares ? 4 * size * size : fabsl(zero.f) + size;
  long double slope = loss->squares ? 4 * size : fabsl(zero.first) + size;
  add(objective, 0, here.f, of_grid, fabsl(here.f - zero.f) + x * x + 2 * change * size);
  for (int n = 0; n < tensor->order; ++n)
    for (size_t r = 0; r < rank; ++r) {
      long double others = 1;
      for (int k = 0; k < tensor->order; ++k)
        if (k != n) others *= factors[k][index[k] * rank + r];
      long double moves = loss->values == ORACLE_COUNTS ? 2 * change : change;
      add(&gradient[n], index[n] * rank + r, here.first * others, slope * fabsl(others),
          moves * fabsl(others));
    }
}

void oracle_gcp(const struct oracle_tensor *tensor, const struct oracle_loss *loss, size_t rank,
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
