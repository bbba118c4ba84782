/* The tensor-times-matrix chain by its definition, in wider precision; shares no source with the
 * library. */
#ifndef ORACLE_TTMC_H
#define ORACLE_TTMC_H

#include "oracle/mttkrp_oracle.h"

/* exact[i * columns + c]: row i is the sum over nonzeros of the value times the product of entries
 * of the other modes' factors, one column each; c counts those columns with the last mode's
 * fastest. factors[n]: dims[n] x ranks[n]. The rest as oracle_mttkrp(). */
void oracle_ttmc(const struct oracle_tensor *tensor, int mode, const uint64_t *ranks,
                 const double *const *factors, long double *exact, long double *magnitude,
                 size_t *terms);

#endif
