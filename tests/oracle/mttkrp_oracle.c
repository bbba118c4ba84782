#include "oracle/mttkrp_oracle.h"
#include "oracle/real.h"
#include <stdlib.h>

/* Neumaier's compensated addition: the error of the whole sum is a few roundings. */
static void add(oracle_real *sum, oracle_real *error, oracle_real x) {
  oracle_real total = *sum + x;
  *error += oracle_abs(*sum) >= oracle_abs(x) ? (*sum - total) + x : (x - total) + *sum;
  *sum = total;
}

void oracle_mttkrp(const struct oracle_tensor *tensor, int mode, size_t rank,
                   const double *const *factors, long double *exact, long double *magnitude,
                   size_t *terms) {
  size_t rows = (size_t)tensor->dims[mode];
  oracle_real *sum = calloc(rows * rank + 1, sizeof *sum);
  oracle_real *error = calloc(rows * rank + 1, sizeof *error);
  if (sum == NULL || error == NULL) abort();
  for (size_t k = 0; k < rows * rank; ++k)
    magnitude[k] = 0;
  for (size_t i = 0; i < rows; ++i)
    terms[i] = 0;
  for (size_t p = 0; p < tensor->nnz; ++p) {
    const uint64_t *index = tensor->index + p * (size_t)tensor->order;
    size_t row = (size_t)index[mode];
    ++terms[row];
    for (size_t r = 0; r < rank; ++r) {
      oracle_real product = tensor->value[p];
      for (int n = 0; n < tensor->order; ++n)
        if (n != mode) product *= factors[n][(size_t)index[n] * rank + r];
      add(&sum[row * rank + r], &error[row * rank + r], product);
      magnitude[row * rank + r] += (long double)oracle_abs(product);
    }
  }
  for (size_t k = 0; k < rows * rank; ++k)
    exact[k] = (long double)(sum[k] + error[k]);
  free(sum);
  free(error);
}

long double oracle_gamma(long double roundings, long double unit) {
  return roundings * unit / (1 - roundings * unit);
}
