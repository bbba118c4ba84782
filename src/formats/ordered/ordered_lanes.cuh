/* A part of a factor row in the registers of one lane: 16 bytes of it. LANES lanes hold a tile of
 * LANES * 16 bytes. */
#ifndef PD_ORDERED_LANES_CUH
#define PD_ORDERED_LANES_CUH

#include <stdint.h>

template <typename T> struct Row {
  static constexpr int N = 16 / (int)sizeof(T);
  T v[N];
};

/* A matrix whose rows are gathered, from the first column of one lane on. */
template <typename T> struct Table {
  const char *base;
  uint32_t stride; /* bytes */
};

/* Which columns a lane holds. ALIGNED: N neighbours, loaded as 16 bytes; else every LANES-th. */
template <typename T, int LANES, bool ALIGNED> struct Lane {
  static constexpr int N = Row<T>::N;
  int column; /* first */
  int rank;

  __device__ Lane(int lane, int tile, int rank_) : rank(rank_) {
    column = tile * LANES * N + (ALIGNED ? lane * N : lane);
  }

  __device__ static Row<T> zero() {
    Row<T> row;
#pragma unroll
    for (int i = 0; i < N; ++i)
      row.v[i] = 0;
    return row;
  }

  /* This lane's part of a row of a matrix. Lanes beyond the rank get numbers that are stored
   * nowhere: what they hold must not matter. */
  __device__ Row<T> load(const Table<T> &table, uint32_t index) const {
    const char *from = table.base + (uint64_t)index * table.stride;
    Row<T> row;
    if (ALIGNED) {
      int4 raw = __ldg(reinterpret_cast<const int4 *>(from));
      row = *reinterpret_cast<const Row<T> *>(&raw);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i)
        row.v[i] =
            column + i * LANES < rank ? __ldg(reinterpret_cast<const T *>(from) + i * LANES) : T(0);
    }
    return row;
  }

  __device__ Table<T> table(const void *matrix, uint64_t stride) const {
    return {static_cast<const char *>(matrix) + (column < rank ? column : 0) * sizeof(T),
            (uint32_t)(stride * sizeof(T))};
  }

  /* The same from an address; lanes beyond the rank get zeros. */
  __device__ Row<T> load(const T *row) const {
    if (ALIGNED && column >= rank) return zero();
    return load(Table<T>{reinterpret_cast<const char *>(row + column), 0}, 0);
  }

  __device__ void store(T *to, const Row<T> &row) const {
    if (ALIGNED) {
      if (column < rank)
        *reinterpret_cast<int4 *>(to + column) = *reinterpret_cast<const int4 *>(&row);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i)
        if (column + i * LANES < rank) to[column + i * LANES] = row.v[i];
    }
  }

  /* Loads what this kernel or the one before wrote: not through the read-only path. */
  __device__ Row<T> reload(const T *from) const {
    Row<T> row;
    if (ALIGNED) {
      if (column < rank) {
        int4 raw = *reinterpret_cast<const int4 *>(from + column);
        row = *reinterpret_cast<const Row<T> *>(&raw);
      } else {
        row = zero();
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i)
        row.v[i] = column + i * LANES < rank ? from[column + i * LANES] : T(0);
    }
    return row;
  }
};

/* The same where the gathered matrices are in bfloat16, the upper half of a float: what is summed
 * and stored is float. */
template <int LANES> struct HalfLane : Lane<float, LANES, true> {
  typedef Lane<float, LANES, true> BASE;
  using BASE::BASE;

  __device__ Row<float> load(const Table<float> &table, uint32_t index) const {
    const char *from = table.base + (uint64_t)index * table.stride;
    uint2 raw = __ldg(reinterpret_cast<const uint2 *>(from));
    Row<float> row;
    row.v[0] = __uint_as_float(raw.x << 16);
    row.v[1] = __uint_as_float(raw.x & 0xffff0000u);
    row.v[2] = __uint_as_float(raw.y << 16);
    row.v[3] = __uint_as_float(raw.y & 0xffff0000u);
    return row;
  }

  __device__ Table<float> table(const void *matrix, uint64_t stride) const {
    return {static_cast<const char *>(matrix) +
                (this->column < this->rank ? this->column : 0) * sizeof(uint16_t),
            (uint32_t)(stride * sizeof(uint16_t))};
  }
};

template <typename T> __device__ __forceinline__ void add(Row<T> &sum, const Row<T> &row) {
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    sum.v[i] += row.v[i];
}

template <typename T> __device__ __forceinline__ void multiply(Row<T> &row, const Row<T> &by) {
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    row.v[i] *= by.v[i];
}

template <typename T>
__device__ __forceinline__ void multiply_add(Row<T> &sum, const Row<T> &a, const Row<T> &b) {
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    sum.v[i] += a.v[i] * b.v[i];
}

template <typename T>
__device__ __forceinline__ void multiply_add(Row<T> &sum, T a, const Row<T> &b) {
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    sum.v[i] += a * b.v[i];
}

template <typename T> __device__ __forceinline__ T dot(const Row<T> &a, const Row<T> &b) {
  T sum = a.v[0] * b.v[0];
#pragma unroll
  for (int i = 1; i < Row<T>::N; ++i)
    sum += a.v[i] * b.v[i];
  return sum;
}

#endif
