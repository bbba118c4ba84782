/* The products of four nonzeros with the factor rows they name, kept in registers where an index
 * repeats. SOURCE tells index, factor and stride of input k. */
#ifndef PD_NONZEROS_PRODUCTS_CUH
#define PD_NONZEROS_PRODUCTS_CUH

#include "formats/ordered/ordered_lanes.cuh"

template <typename T> __device__ __forceinline__ void fill(const T value[4], Row<T> product[4]) {
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < Row<T>::N; ++i)
      product[j].v[i] = value[j];
}

/* INPUTS factors known at compile time. Rows of all but the last are loaded only where the index
 * differs from the nonzero before. */
template <typename T, typename LANE, int INPUTS> struct Products {
  uint32_t last[INPUTS];
  Row<T> row[INPUTS];

  __device__ void begin() {
#pragma unroll
    for (int k = 0; k < INPUTS; ++k) {
      last[k] = 0xffffffffu;
      row[k] = LANE::zero();
    }
  }

  template <typename SOURCE>
  __device__ void compute(const SOURCE &source, const LANE &part, const T value[4],
                          Row<T> product[4]) {
    Row<T> fresh[INPUTS][4];
    bool changed[INPUTS][4];
#pragma unroll
    for (int k = 0; k < INPUTS; ++k) {
      const T *factor = source.factor(k);
      uint64_t stride = source.stride(k);
      uint32_t index[4], before = last[k];
      source.index(k, index);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        changed[k][j] = k == INPUTS - 1 || index[j] != before;
        before = index[j];
        if (changed[k][j]) fresh[k][j] = part.load(factor + index[j] * stride);
      }
      last[k] = before;
    }
    fill<T>(value, product);
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int k = 0; k < INPUTS; ++k) {
        if (changed[k][j]) row[k] = fresh[k][j];
        multiply(product[j], row[k]);
      }
  }
};

/* Any number of factors: every row is loaded for every nonzero. */
template <typename T, typename LANE> struct Products<T, LANE, 0> {
  __device__ void begin() {}

  template <typename SOURCE>
  __device__ void compute(const SOURCE &source, const LANE &part, const T value[4],
                          Row<T> product[4]) {
    fill<T>(value, product);
    for (int k = 0; k < source.inputs(); ++k) {
      const T *factor = source.factor(k);
      uint64_t stride = source.stride(k);
      uint32_t index[4];
      source.index(k, index);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        Row<T> row = part.load(factor + index[j] * stride);
        multiply(product[j], row);
      }
    }
  }
};

#endif
