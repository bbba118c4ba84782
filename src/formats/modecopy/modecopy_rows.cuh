/* A part of a factor row in the registers of one lane: 16 bytes of it. LANES lanes hold a tile of
 * LANES * 16 bytes. */
#ifndef PD_MODECOPY_ROWS_CUH
#define PD_MODECOPY_ROWS_CUH

#include <stdint.h>

template <typename T> struct Row {
  static constexpr int N = 16 / (int)sizeof(T);
  T v[N];
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

  __device__ Row<T> load(const T *from) const {
    Row<T> row;
    if (ALIGNED) {
      if (column < rank) {
        int4 raw = __ldg(reinterpret_cast<const int4 *>(from + column));
        row = *reinterpret_cast<const Row<T> *>(&raw);
      } else {
        row = zero();
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i)
        row.v[i] = column + i * LANES < rank ? __ldg(from + column + i * LANES) : T(0);
    }
    return row;
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

template <typename T> __device__ __forceinline__ void add(Row<T> &sum, const Row<T> &row) {
#pragma unroll
  for (int i = 0; i < Row<T>::N; ++i)
    sum.v[i] += row.v[i];
}

#endif
