/* Cholesky factorisation of small symmetric matrices. */
#ifndef PD_CHOLESKY_H
#define PD_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

/** Factors v (rank x rank) into lower, row by row, with the reciprocals of its diagonal; false when
 *  v is not finite, or a pivot is no more than `limit` times its diagonal entry. A pivot that is
 *  rounding error beside its diagonal entry tells nothing: see pd_cholesky_rounding().
 *  *least_ratio falls to the least pivot over diagonal entry. */
bool pd_cholesky(size_t rank, const double *v, double limit, double *lower,
                 double *inverse_diagonal, double *least_ratio);
/** The least limit that makes sense: that of rounding in double. */
double pd_cholesky_rounding(size_t rank);

#endif
