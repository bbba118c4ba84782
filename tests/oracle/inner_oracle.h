/* The sums that a fit is made of, by their definition and in wider precision; shares no source with
 * the library. M is the sum over r of weight[r] times the outer product of the columns factor[n][:,
 * r].
 */
#ifndef ORACLE_INNER_H
#define ORACLE_INNER_H

#include "oracle/mttkrp_oracle.h"

/* A sum, and the sum of its terms' magnitudes. */
struct oracle_sum {
  long double exact, magnitude;
};

struct oracle_fit {
  struct oracle_sum inner;   /* <X, M> */
  struct oracle_sum data;    /* ||X||^2 */
  struct oracle_sum missed;  /* of (x - m)^2 over the nonzeros */
  struct oracle_sum covered; /* of m^2 over the nonzeros */
  struct oracle_sum model;   /* ||M||^2 */
  /* What sums of (x - m)^2 and m^2 are off by where each m is off by one unit of its magnitude. */
  long double missed_slope, covered_slope;
};

/* The tensor has no repeats. `unit`: of the slopes. */
void oracle_fit_sums(const struct oracle_tensor *tensor, size_t rank, const double *weight,
                     const double *const *factors, long double unit, struct oracle_fit *fit);

#endif
