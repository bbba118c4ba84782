/* The objective of completion and its gradient, on dense arrays in long double, straight from the
 * definition. Shares no source with the library. */
#ifndef ORACLE_COMPLETE_H
#define ORACLE_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

enum { ORACLE_COMPLETE_MODES = 8 };

/** A tensor, and a model of it with `rank` components and, with biases, a mean and a bias for every
 *  index of every mode. */
struct oracle_complete {
  int order;
  size_t dims[ORACLE_COMPLETE_MODES], rank, cells;
  const double *x;      /* cells, the last mode's index fastest */
  const double *weight; /* cells; 0: unknown */
  double ridge, bias_ridge, mean;
  bool by_count; /* a row's ridge is multiplied by its number of known cells */
  bool biases;
  long double *factor[ORACLE_COMPLETE_MODES]; /* dims x rank */
  long double *bias[ORACLE_COMPLETE_MODES];   /* dims; with biases */
};

/** Ridge of one row's components. */
long double oracle_complete_ridge(const struct oracle_complete *c, int mode, size_t row);
long double oracle_complete_objective(const struct oracle_complete *c);
/** Its derivative by factor[mode][row * rank + r], or, with r = rank, by bias[mode][row]. */
long double oracle_complete_slope(const struct oracle_complete *c, int mode, size_t row, size_t r);

#endif
