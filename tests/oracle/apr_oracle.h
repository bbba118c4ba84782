/* CP-APR on dense tensors in wide precision, straight from the papers: E. C. Chi and T. G. Kolda
 * (2012), algorithms 1 to 3 (MU), and S. Hansen, T. Plantenga and T. G. Kolda (2015), algorithms 1
 * to 4 (PDNR, PQNR). Shares no source with the library. */
#ifndef ORACLE_APR_H
#define ORACLE_APR_H

#include <stdbool.h>
#include <stddef.h>

enum { ORACLE_APR_MODES = 8, ORACLE_APR_PAIRS = 3 };

struct oracle_apr_options {
  char method; /* 'm' multiplicative, 'n' damped Newton, 'q' quasi-Newton */
  int inner;
  long double tolerance, epsilon, kappa, kappa_tolerance, active, damping;
  bool inexact;
};

struct oracle_apr {
  struct oracle_apr_options options;
  int order;
  size_t dims[ORACLE_APR_MODES], rank, cells;
  const double *x; /* cells, the last mode's index fastest */
  long double *lambda, *factor[ORACLE_APR_MODES], *phi[ORACLE_APR_MODES];
  int iteration;
  long double row_tolerance;
  /* Of the last outer iteration. */
  long double kkt, log_likelihood;
  unsigned long inner;
  bool converged;
};

/* Defaults of the Tensor Toolbox. */
struct oracle_apr_options oracle_apr_defaults(char method);
/* Copies the first model (factors: dims x rank) and scales its columns to 1-norm one. */
void oracle_apr_start(struct oracle_apr *apr, struct oracle_apr_options options, int order,
                      const size_t *dims, size_t rank, const double *x,
                      const double *const *factors);
void oracle_apr_iterate(struct oracle_apr *apr);
void oracle_apr_end(struct oracle_apr *apr);

#endif
