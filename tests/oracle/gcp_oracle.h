/* Losses of generalized CP over all cells, by their definitions, in wider precision; shares no
 * source with the library. */
#ifndef ORACLE_GCP_H
#define ORACLE_GCP_H

#include "oracle/mttkrp_oracle.h"

enum oracle_loss { ORACLE_POISSON, ORACLE_BERNOULLI_LOGIT, ORACLE_GAUSSIAN };

/* Sums over all cells, of which `grid` and `nonzeros` are what bounds of rounding errors follow
 * from: sums of absolute values of the terms f(0, m), and of f(x, m) - f(0, m), and of how much
 * they move when products of the factors' entries are rounded. Caller's arrays, zeroed here. */
struct oracle_gcp {
  long double *exact, *grid, *nonzeros;
};

/* Visits every cell. `objective` has one number in each array, gradient[n] has dims[n] x rank.
 * Repeats of a coordinate are one nonzero whose value is their sum. */
void oracle_gcp(const struct oracle_tensor *tensor, enum oracle_loss loss, size_t rank,
                const double *const *factors, struct oracle_gcp *objective,
                struct oracle_gcp *gradient);

#endif
