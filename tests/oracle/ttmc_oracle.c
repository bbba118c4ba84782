#include "oracle/ttmc_oracle.h"
#include "oracle/real.h"
#include <stdlib.h>

void oracle_ttmc(const struct oracle_tensor *tensor, int mode, const uint64_t *ranks,
                 const double *const *factors, long double *exact, long double *magnitude,
                 size_t *terms) {
  size_t rows = (size_t)tensor->dims[mode], columns = 1;
  for (int n = 0; n < tensor->order; ++n)
    if (n != mode) columns *= (size_t)ranks[n];
  oracle_real *sum = calloc(rows * columns + 1, sizeof *sum);
  if (sum == NULL) abort();
  for (size_t k = 0; k < rows * columns; ++k)
    magnitude[k] = 0;
  for (size_t i = 0; i < rows; ++i)
    terms[i] = 0;
  for (size_t p = 0; p < tensor->nnz; ++p) {
    const uint64_t *index = tensor->index + p * (size_t)tensor->order;
    size_t row = (size_t)index[mode];
    ++terms[row];
    for (size_t c = 0; c < columns; ++c) {
      oracle_real product = tensor->value[p];
      size_t rest = c;
      for (int n = tensor->order - 1; n >= 0; --n) {
        if (n == mode) continue;
        product *= factors[n][(size_t)index[n] * (size_t)ranks[n] + rest % (size_t)ranks[n]];
        rest /= (size_t)ranks[n];
      }
      sum[row * columns + c] += product;
      magnitude[row * columns + c] += (long double)oracle_abs(product);
    }
  }
  for (size_t k = 0; k < rows * columns; ++k)
    exact[k] = (long double)sum[k];
  free(sum);
}
