/* MTTKRP by its definition, in wider precision; shares no source with the library. */
#ifndef ORACLE_MTTKRP_H
#define ORACLE_MTTKRP_H

#include <stddef.h>
#include <stdint.h>

/* A tensor as a plain list: index[p * order + n], value[p]. Repeats count as often as they occur.
 */
struct oracle_tensor {
  int order;
  const uint64_t *dims;
  size_t nnz;
  const uint64_t *index;
  const double *value;
};

/* exact[i * rank + r] and the magnitude: the same sum of absolute values, from which a bound of
 * the rounding errors follows. terms[i]: nonzeros of row i. factors[n]: dims[n] x rank. */
void oracle_mttkrp(const struct oracle_tensor *tensor, int mode, size_t rank,
                   const double *const *factors, long double *exact, long double *magnitude,
                   size_t *terms);

/* Higham's gamma_k = k u / (1 - k u): the relative error of k roundings of unit u. */
long double oracle_gamma(long double roundings, long double unit);

#endif
