/* Bounds of rounding errors, shared by all that report a fit. Errors count as independent of each
 * other and as often up as down (Higham and Mary, SIAM J. Sci. Comput. 41 (2019), theorem 2.4): a
 * sum of n terms is then off by about sqrt(n) roundings, not n. */
#ifndef PD_ROUNDING_H
#define PD_ROUNDING_H

#include <math.h>

/** An error of more standard deviations than this has a chance of 2 exp(-7^2 / 2) = 5e-11. */
#define PD_DEVIATIONS 7.0

/** What an error of `bound` in rho may change the square root of rho by; a rho below zero counts as
 *  zero. */
static inline double pd_root_bound(double rho, double bound) {
  double root = sqrt(fmax(rho, 0));
  return fmax(sqrt(fmax(rho, 0) + bound) - root, root - sqrt(fmax(rho - bound, 0)));
}

#endif
