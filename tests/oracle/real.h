/* The type in which oracles add up: long double, or binary128 in programs that are compiled with
 * ORACLE_BINARY128. Answers are handed out as long double: rounding them once more takes less than
 * a thousandth of any bound that they are compared within. */
#ifndef ORACLE_REAL_H
#define ORACLE_REAL_H

#include <float.h>

#if defined ORACLE_BINARY128 && LDBL_MANT_DIG < 113
__extension__ typedef __float128 oracle_real;
#else
typedef long double oracle_real;
#endif

static inline oracle_real oracle_abs(oracle_real x) { return x < 0 ? -x : x; }

#endif
