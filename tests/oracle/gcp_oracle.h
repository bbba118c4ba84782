/* Losses of generalized CP over all cells, by their definitions, in wider precision; shares no
 * source with the library. */
#ifndef ORACLE_GCP_H
#define ORACLE_GCP_H

#include "oracle/mttkrp_oracle.h"

/* f, its derivative in m, and the second one (a bound of it) at a cell. */
struct oracle_terms {
  long double f, first, second;
};

/* The values that a loss is made for: any, counts (with models that are above 0), 1 where there is
 * a nonzero. */
enum oracle_values { ORACLE_ANY, ORACLE_COUNTS, ORACLE_ONES };

struct oracle_loss {
  const char *name;
  enum oracle_values values;
  int squares; /* the sum over the grid is one of squares of the model's terms, one by one */
  struct oracle_terms (*at)(long double x, long double m);
};

/* NULL where there is none of that name. */
const struct oracle_loss *oracle_loss_find(const char *name);

/* Sums over all cells, of which `grid` and `nonzeros` are what bounds of rounding errors follow
 * from: sums of absolute values of the terms f(0, m), and of f(x, m) - f(0, m), and of how much
 * they move when products of the factors' entries are rounded. Caller's arrays, zeroed here. */
struct oracle_gcp {
  long double *exact, *grid, *nonzeros;
};

/* Visits every cell. `objective` has one number in each array, gradient[n] has dims[n] x rank.
 * Repeats of a coordinate are one nonzero whose value is their sum. */
void oracle_gcp(const struct oracle_tensor *tensor, const struct oracle_loss *loss, size_t rank,
                const double *const *factors, struct oracle_gcp *objective,
                struct oracle_gcp *gradient);

#endif
