/* Random Kruskal tensors, and their values cell by cell. */
#ifndef UNIT_KTENSOR_FIXTURE_H
#define UNIT_KTENSOR_FIXTURE_H

#include "context_fixture.h"

#include "core/random.h"
#include "failing_allocator.h"
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

static inline polyad_ktensor *model(int order, const uint64_t *dims, uint64_t rank,
                                    polyad_type type) {
  polyad_ktensor *m;
  assert_int_equal(polyad_ktensor_create(context, order, dims, rank, type, &m), POLYAD_OK);
  return m;
}

static inline double get(const void *numbers, polyad_type type, uint64_t e) {
  return type == POLYAD_F32 ? (double)((const float *)numbers)[e] : ((const double *)numbers)[e];
}

static inline void set(void *numbers, polyad_type type, uint64_t e, double value) {
  if (type == POLYAD_F32)
    ((float *)numbers)[e] = (float)value;
  else
    ((double *)numbers)[e] = value;
}

/* Entries uniform in [-0.5, 0.5), weights in [0, 2). */
static inline polyad_ktensor *random_model(int order, const uint64_t *dims, uint64_t rank,
                                           polyad_type type, uint64_t seed) {
  polyad_ktensor *m = model(order, dims, rank, type);
  for (uint64_t r = 0; r < rank; ++r)
    set(m->weights, type, r, 2 * pd_random_uniform(seed, 99, r));
  for (int n = 0; n < order; ++n)
    for (uint64_t e = 0; e < dims[n] * rank; ++e)
      set(m->factor[n], type, e, pd_random_uniform(seed, (uint64_t)n, e) - 0.5);
  return m;
}

static inline long double exact_value(const polyad_ktensor *m, const uint64_t *coordinate) {
  long double sum = 0;
  for (uint64_t r = 0; r < m->rank; ++r) {
    long double product = (long double)get(m->weights, m->type, r);
    for (int n = 0; n < m->order; ++n)
      product *= (long double)get(m->factor[n], m->type, coordinate[n] * m->rank + r);
    sum += product;
  }
  return sum;
}

static inline uint64_t cells_of(const polyad_ktensor *m) {
  uint64_t cells = 1;
  for (int n = 0; n < m->order; ++n)
    cells *= m->dims[n];
  return cells;
}

static inline void cell_coordinate(const polyad_ktensor *m, uint64_t cell, uint64_t *coordinate) {
  for (int n = m->order - 1; n >= 0; --n) {
    coordinate[n] = cell % m->dims[n];
    cell /= m->dims[n];
  }
}

#endif
