#include "linalg/cholesky.h"
#include "core/numbers.h"
#include <float.h>
#include <math.h>
#include <string.h>

double pd_cholesky_rounding(size_t rank) { return (double)rank * DBL_EPSILON; }

bool pd_cholesky(size_t rank, const double *v, double limit, double *lower,
                 double *inverse_diagonal, double *least_ratio) {
  if (!pd_all_finite(POLYAD_F64, rank * rank, v)) return false;
  memset(lower, 0, rank * rank * sizeof(double));
  for (size_t r = 0; r < rank; ++r) {
    double *row = lower + r * rank, square = v[r * rank + r];
    for (size_t s = 0; s < r; ++s) {
      const double *other = lower + s * rank;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (size_t k = 0; k < s; ++k)
        sum += row[k] * other[k];
      row[s] = (v[r * rank + s] - sum) * inverse_diagonal[s];
      square -= row[s] * row[s];
    }
    if (!(square > 0)) return false; /* 0 / 0 of a row of zeros; a diagonal below zero */
    double ratio = square / v[r * rank + r];
    if (!(ratio > limit)) return false;
    if (ratio < *least_ratio) *least_ratio = ratio;
    row[r] = sqrt(square);
    inverse_diagonal[r] = 1.0 / row[r];
  }
  return true;
}
