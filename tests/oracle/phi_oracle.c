#include "oracle/phi_oracle.h"
#include "oracle/real.h"
#include <stdlib.h>

void oracle_phi(const struct oracle_tensor *tensor, int mode, size_t rank,
                const double *const *factors, double epsilon, long double *exact, size_t *terms) {
  size_t rows = (size_t)tensor->dims[mode];
  oracle_real *pi = calloc(rank + 1, sizeof *pi), *sum = calloc(rows * rank + 1, sizeof *sum);
  if (pi == NULL || sum == NULL) abort();
  for (size_t i = 0; i < rows; ++i)
    terms[i] = 0;
  for (size_t p = 0; p < tensor->nnz; ++p) {
    const uint64_t *index = tensor->index + p * (size_t)tensor->order;
    size_t row = (size_t)index[mode];
    oracle_real model = 0;
    ++terms[row];
    for (size_t r = 0; r < rank; ++r) {
      pi[r] = 1;
      for (int n = 0; n < tensor->order; ++n)
        if (n != mode) pi[r] *= factors[n][(size_t)index[n] * rank + r];
      model += factors[mode][row * rank + r] * pi[r];
    }
    if (model < epsilon) model = epsilon;
    for (size_t r = 0; r < rank; ++r)
      sum[row * rank + r] += tensor->value[p] / model * pi[r];
  }
  for (size_t k = 0; k < rows * rank; ++k)
    exact[k] = (long double)sum[k];
  free(sum);
  free(pi);
}
