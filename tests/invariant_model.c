/* Entries and norms of Kruskal and Tucker tensors by their definitions. */
#include "invariant_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct invariant_model invariant_kruskal(polyad_ktensor *model, int exponent) {
  return (struct invariant_model){.kruskal = model, .exponent = exponent};
}

struct invariant_model invariant_tucker(polyad_ttensor *model, int exponent) {
  size_t numbers = 2 * (size_t)polyad_ttensor_core_size(model);
  return (struct invariant_model){
      .tucker = model, .exponent = exponent, .scratch = malloc(numbers * sizeof(long double))};
}

void invariant_clear(struct invariant_model *model) { free(model->scratch); }

static int order_of(const struct invariant_model *m) {
  return m->kruskal != NULL ? polyad_ktensor_order(m->kruskal) : polyad_ttensor_order(m->tucker);
}

static polyad_type type_of(const struct invariant_model *m) {
  return m->kruskal != NULL ? polyad_ktensor_type(m->kruskal) : polyad_ttensor_type(m->tucker);
}

static uint64_t rows_of(const struct invariant_model *m, int n) {
  return (m->kruskal != NULL ? polyad_ktensor_dims(m->kruskal) : polyad_ttensor_dims(m->tucker))[n];
}

static uint64_t rank_of(const struct invariant_model *m, int n) {
  return m->kruskal != NULL ? polyad_ktensor_rank(m->kruskal) : polyad_ttensor_ranks(m->tucker)[n];
}

static const void *factor_of(const struct invariant_model *m, int n) {
  return m->kruskal != NULL ? polyad_ktensor_factor(m->kruskal, n)
                            : polyad_ttensor_factor(m->tucker, n);
}

static long double number(const struct invariant_model *m, const void *array, uint64_t place) {
  return type_of(m) == POLYAD_F32 ? (long double)((const float *)array)[place]
                                  : (long double)((const double *)array)[place];
}

static long double weight(const struct invariant_model *m, uint64_t r) {
  return ldexpl(number(m, polyad_ktensor_weights(m->kruskal), r), -m->exponent);
}

/* Element (r, s) of the Gram matrix of mode n. */
static long double gram(const struct invariant_model *m, int n, uint64_t r, uint64_t s) {
  const void *factor = factor_of(m, n);
  uint64_t rank = rank_of(m, n);
  long double sum = 0;
  for (uint64_t i = 0; i < rows_of(m, n); ++i)
    sum += number(m, factor, i * rank + r) * number(m, factor, i * rank + s);
  return sum;
}

uint64_t invariant_work(const struct invariant_model *m) {
  return m->kruskal != NULL ? polyad_ktensor_rank(m->kruskal) : polyad_ttensor_core_size(m->tucker);
}

static uint64_t core_scaled(const struct invariant_model *m, long double *to) {
  uint64_t size = polyad_ttensor_core_size(m->tucker);
  for (uint64_t k = 0; k < size; ++k)
    to[k] = ldexpl(number(m, polyad_ttensor_core(m->tucker), k), -m->exponent);
  return size;
}

/* Takes off one mode after the other, the first first: what is left is a core of the others. */
static long double tucker_entry(const struct invariant_model *m, const uint64_t *coordinate) {
  long double *from = m->scratch;
  uint64_t size = core_scaled(m, from);
  for (int n = 0; n < order_of(m); ++n) {
    uint64_t rank = rank_of(m, n);
    size /= rank;
    for (uint64_t k = 0; k < size; ++k) {
      long double sum = 0;
      for (uint64_t r = 0; r < rank; ++r)
        sum += from[r * size + k] * number(m, factor_of(m, n), coordinate[n] * rank + r);
      from[k] = sum;
    }
  }
  return from[0];
}

long double invariant_entry(const struct invariant_model *m, const uint64_t *coordinate) {
  if (m->tucker != NULL) return tucker_entry(m, coordinate);
  long double sum = 0;
  for (uint64_t r = 0; r < rank_of(m, 0); ++r) {
    long double product = weight(m, r);
    for (int n = 0; n < order_of(m); ++n)
      product *= number(m, factor_of(m, n), coordinate[n] * rank_of(m, n) + r);
    sum += product;
  }
  return sum;
}

/* <G, G x_1 A_1' A_1 x_2 ...>. */
static long double tucker_norm_squared(const struct invariant_model *m) {
  uint64_t size = core_scaled(m, m->scratch), inner = size;
  long double *from = m->scratch, *to = from + size, total = 0;
  for (int n = 0; n < order_of(m); ++n) {
    uint64_t rank = rank_of(m, n);
    inner /= rank;
    memset(to, 0, (size_t)size * sizeof *to);
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s < rank; ++s) {
        long double g = gram(m, n, r, s);
        for (uint64_t k = 0; k < size / rank; ++k) {
          uint64_t at = k / inner * inner * rank + k % inner;
          to[at + r * inner] += g * from[at + s * inner];
        }
      }
    long double *swap = from;
    from = to;
    to = swap;
  }
  for (uint64_t k = 0; k < size; ++k)
    total += from[k] * ldexpl(number(m, polyad_ttensor_core(m->tucker), k), -m->exponent);
  return total;
}

long double invariant_norm_squared(const struct invariant_model *m) {
  if (m->tucker != NULL) return tucker_norm_squared(m);
  long double total = 0;
  for (uint64_t r = 0; r < rank_of(m, 0); ++r)
    for (uint64_t s = 0; s < rank_of(m, 0); ++s) {
      long double product = weight(m, r) * weight(m, s);
      for (int n = 0; n < order_of(m) && product != 0; ++n)
        product *= gram(m, n, r, s);
      total += product;
    }
  return total;
}

long double invariant_magnitude(const struct invariant_model *m) {
  long double sum = 0;
  if (m->tucker != NULL) {
    uint64_t size = core_scaled(m, m->scratch);
    for (uint64_t k = 0; k < size; ++k)
      sum += m->scratch[k] * m->scratch[k];
    for (int n = 0; n < order_of(m); ++n) {
      long double square = 0;
      for (uint64_t r = 0; r < rank_of(m, n); ++r)
        square += gram(m, n, r, r);
      sum *= square;
    }
    return sqrtl(sum);
  }
  for (uint64_t r = 0; r < rank_of(m, 0); ++r) {
    long double product = fabsl(weight(m, r));
    for (int n = 0; n < order_of(m); ++n)
      product *= sqrtl(gram(m, n, r, r));
    sum += product;
  }
  return sum;
}

long double invariant_mass(const struct invariant_model *m) {
  long double total = 0;
  for (uint64_t r = 0; r < rank_of(m, 0); ++r) {
    long double product = weight(m, r);
    for (int n = 0; n < order_of(m); ++n) {
      long double sum = 0;
      for (uint64_t i = 0; i < rows_of(m, n); ++i)
        sum += number(m, factor_of(m, n), i * rank_of(m, n) + r);
      product *= sum;
    }
    total += product;
  }
  return total;
}
