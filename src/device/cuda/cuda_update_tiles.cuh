/* Rows of a factor of up to 32 columns on their way through a warp: products by the tensor cores,
 * and slots of shared memory that hold sixteen rows, filled while the warp works on others.
 *
 * A slot's places are permuted by rows in pieces of 16 bytes, so that neither the lanes that read
 * their columns of a row each nor those that read a column each of four rows meet in a bank. */
#ifndef PD_CUDA_UPDATE_TILES_CUH
#define PD_CUDA_UPDATE_TILES_CUH

#include "device/cuda/cuda_linalg_launch.h"
#include <cuda_pipeline_primitives.h>

/** Columns of a tile, rows that a warp takes at once, and columns that a slot has room for. */
enum { TILE = 8, ROWS = 16, SLOT_COLUMNS = 32 };
/** Bytes that come into a slot by one copy, where rows lie for it. */
enum { PIECE = 16 };

/** c += a b for a of 16 x 8, b of 8 x 8. With lane = 4 g + q, a lane's entries are (g, q),
 *  (g + 8, q), (g, q + 4) and (g + 8, q + 4) of a, (q, g) and (q + 4, g) of b, and (g, 2 q),
 *  (g, 2 q + 1), (g + 8, 2 q) and (g + 8, 2 q + 1) of c. */
__device__ static inline void multiply_add(double (&c)[4], const double (&a)[4],
                                           const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int k = 0; k < 2; ++k)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
          : "d"(a[2 * k + half]), "d"(b[k]));
#else
  int lane = (int)threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll
  for (int k = 0; k < 8; ++k)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double left = __shfl_sync(0xffffffffu, a[k / 4 * 2 + half], row + k % 4);
      c[2 * half] += left * __shfl_sync(0xffffffffu, b[k / 4], column + k % 4);
      c[2 * half + 1] += left * __shfl_sync(0xffffffffu, b[k / 4], column + 4 + k % 4);
    }
#endif
}

/** Where a slot keeps an entry. */
template <typename T> __device__ static inline int slot_place(int row, int column) {
  constexpr int WIDTH = PIECE / (int)sizeof(T);
  int piece = column / WIDTH;
  if (sizeof(T) == sizeof(float))
    piece ^= row % 4 * 2 ^ row % 2;
  else
    piece ^= piece / 8 ^ row % 4 * 2;
  return row * SLOT_COLUMNS + piece * WIDTH + column % WIDTH;
}

/** Copies of `count` entries, one after another in both places, under way; entries that are not
 *  there become zeros. */
template <typename T, int COUNT>
__device__ static inline void fetch_piece(T *to, const T *from, bool there) {
  __pipeline_memcpy_async(to, from, COUNT * sizeof(T), there ? 0 : COUNT * sizeof(T));
}

/** Sixteen rows on their way from a matrix to a slot, in pieces where it is aligned. Rows whose bit
 *  in `used` is not set become zeros, as do rows and columns beyond the matrix's last. */
template <typename T, int TILES>
__device__ static inline void fetch_slot(T *slot, const pd_gpu_matrix &from, int aligned,
                                         uint64_t first, uint32_t used) {
  constexpr int WIDTH = PIECE / (int)sizeof(T), PIECES = TILES * TILE / WIDTH;
  const T *data = static_cast<const T *>(from.data);
  int lane = (int)threadIdx.x % 32;
  if (aligned) {
#pragma unroll
    for (int e = 0; e < ROWS * PIECES / 32; ++e) {
      int row = (e * 32 + lane) / PIECES, column = (e * 32 + lane) % PIECES * WIDTH;
      bool there = first + row < from.rows && (used >> row & 1) != 0;
      const T *line = data + (there ? (first + row) * from.stride + column : 0);
      fetch_piece<T, WIDTH>(slot + slot_place<T>(row, column), line, there);
    }
  } else {
#pragma unroll 1
    for (int e = lane; e < ROWS * TILES * TILE; e += 32) {
      int row = e / (TILES * TILE), column = e % (TILES * TILE);
      bool there = first + row < from.rows && (used >> row & 1) != 0 && column < from.rank;
      const T *line = data + (there ? (first + row) * from.stride + column : 0);
      fetch_piece<T, 1>(slot + slot_place<T>(row, column), line, there);
    }
  }
}

/** The slot's rows, to where they are of a matrix. */
template <typename T, int TILES>
__device__ static inline void store_slot(const pd_gpu_matrix &to, int aligned, uint64_t first,
                                         const T *slot) {
  constexpr int WIDTH = PIECE / (int)sizeof(T), PIECES = TILES * TILE / WIDTH;
  T *data = static_cast<T *>(to.data);
  int lane = (int)threadIdx.x % 32;
  if (aligned) {
#pragma unroll
    for (int e = 0; e < ROWS * PIECES / 32; ++e) {
      int row = (e * 32 + lane) / PIECES, column = (e * 32 + lane) % PIECES * WIDTH;
      if (first + row >= to.rows) continue;
      *reinterpret_cast<uint4 *>(data + (first + row) * to.stride + column) =
          *reinterpret_cast<const uint4 *>(slot + slot_place<T>(row, column));
    }
  } else {
#pragma unroll 1
    for (int e = lane; e < ROWS * TILES * TILE; e += 32) {
      int row = e / (TILES * TILE), column = e % (TILES * TILE);
      if (first + row < to.rows && column < to.rank)
        data[(first + row) * to.stride + column] = slot[slot_place<T>(row, column)];
    }
  }
}

/** What divides a lane's columns into equal vectors of at most a piece. */
template <typename T, int COLUMNS> struct Vector;
template <> struct Vector<float, 2> { using type = float2; };
template <> struct Vector<float, 4> { using type = float4; };
template <> struct Vector<float, 6> { using type = float2; };
template <> struct Vector<float, 8> { using type = float4; };
template <> struct Vector<double, 2> { using type = double2; };
template <> struct Vector<double, 4> { using type = double2; };
template <> struct Vector<double, 6> { using type = double2; };
template <> struct Vector<double, 8> { using type = double2; };

/** COLUMNS entries of a slot's row, from column `first`, a multiple of COLUMNS, on. */
template <typename T, int COLUMNS>
__device__ static inline void slot_read(const T *slot, int row, int first, T (&to)[COLUMNS]) {
  using V = typename Vector<T, COLUMNS>::type;
  constexpr int STEP = sizeof(V) / sizeof(T);
#pragma unroll
  for (int k = 0; k < COLUMNS; k += STEP) {
    V part = *reinterpret_cast<const V *>(slot + slot_place<T>(row, first + k));
    const T *entry = reinterpret_cast<const T *>(&part);
#pragma unroll
    for (int e = 0; e < STEP; ++e)
      to[k + e] = entry[e];
  }
}

template <typename T, int COLUMNS>
__device__ static inline void slot_write(T *slot, int row, int first, const T (&from)[COLUMNS]) {
  using V = typename Vector<T, COLUMNS>::type;
  constexpr int STEP = sizeof(V) / sizeof(T);
#pragma unroll
  for (int k = 0; k < COLUMNS; k += STEP) {
    V part;
    T *entry = reinterpret_cast<T *>(&part);
#pragma unroll
    for (int e = 0; e < STEP; ++e)
      entry[e] = from[k + e];
    *reinterpret_cast<V *>(slot + slot_place<T>(row, first + k)) = part;
  }
}

#endif
