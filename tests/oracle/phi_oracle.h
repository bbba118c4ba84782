/* Phi of CP-APR by its definition, in wider precision; shares no source with the library. */
#ifndef ORACLE_PHI_H
#define ORACLE_PHI_H

#include "oracle/mttkrp_oracle.h"

/* exact[i * rank + r]: the sum over the nonzeros of row i of value / max(<B row, Pi row>, epsilon)
 * times Pi's entry; factors[mode] is B, Pi's rows are products of the others' rows (Chi and Kolda
 * 2012, equation 4.4). Nothing is negative. Repeats of a coordinate are one nonzero: their values
 * are added; they follow each other in the list. terms[i]: nonzeros of row i. */
void oracle_phi(const struct oracle_tensor *tensor, int mode, size_t rank,
                const double *const *factors, double epsilon, long double *exact, size_t *terms);

#endif
