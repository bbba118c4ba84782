/* Plain words about models that are singular, degenerate or larger than the data supports. */
#include "algorithms/als_state.h"
#include <math.h>
#include <stdio.h>

/* Product over modes of the cosines of two components' columns (which have 2-norm one). */
static double cosine(const polyad_ktensor *model, uint64_t r, uint64_t s) {
  double product = 1;
  for (int n = 0; n < model->order; ++n) {
    double sum = 0;
    for (uint64_t i = 0; i < model->dims[n]; ++i) {
      uint64_t row = i * model->rank;
      sum += model->type == POLYAD_F64 ? ((const double *)model->factor[n])[row + r] *
                                             ((const double *)model->factor[n])[row + s]
                                       : (double)((const float *)model->factor[n])[row + r] *
                                             (double)((const float *)model->factor[n])[row + s];
    }
    product *= sum;
  }
  return product;
}

static double weight(const polyad_ktensor *model, uint64_t r) {
  return model->type == POLYAD_F64 ? ((const double *)model->weights)[r]
                                   : ((const float *)model->weights)[r];
}

static uint64_t zero_components(const polyad_ktensor *model) {
  uint64_t count = 0;
  for (uint64_t r = 0; r < model->rank; ++r)
    count += weight(model, r) == 0;
  return count;
}

enum { PAIRS_LOOKED_AT = 64 }; /* components compared with each other: the heaviest */

/* Whether two heavy components nearly cancel: the sign of a model whose best fit does not
 * exist (Kolda and Bader 2009, section 3.3). */
static bool find_cancelling(const polyad_ktensor *model, uint64_t *first, uint64_t *second,
                            double *how) {
  uint64_t rank = model->rank < PAIRS_LOOKED_AT ? model->rank : PAIRS_LOOKED_AT;
  *how = 0;
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = r + 1; s < rank; ++s) {
      double c = cosine(model, r, s);
      if (c < *how) {
        *how = c;
        *first = r;
        *second = s;
      }
    }
  return *how < -0.95;
}

void pd_als_diagnose(const struct pd_als *als, const polyad_ktensor *model, char *text,
                     size_t size) {
  uint64_t first = 0, second = 0, zero = zero_components(model);
  double how;
  size_t at = 0;
  text[0] = '\0';
  if (zero > 0)
    at += (size_t)snprintf(text + at, size - at,
                           "%llu of %llu components are zero: the data supports a lower rank. ",
                           (unsigned long long)zero, (unsigned long long)model->rank);
  if (als->fallbacks > 0 && at < size)
    at += (size_t)snprintf(
        text + at, size - at,
        "%llu normal equations were singular (rank %.0f of %llu in the last) and were solved in "
        "the least-norm sense: components are collinear or the rank is too large. ",
        (unsigned long long)als->fallbacks, als->kept, (unsigned long long)model->rank);
  uint64_t heavy = model->rank;
  if (heavy > 1 && at < size && model->dims[0] > 0 && find_cancelling(model, &first, &second, &how))
    snprintf(text + at, size - at,
             "Components %llu and %llu nearly cancel (cosine %.4f): the model is degenerate and "
             "its weights may grow without bound; try a lower rank, nonnegative factors or a "
             "ridge. ",
             (unsigned long long)first + 1, (unsigned long long)second + 1, how);
}
