/* What the backends of the C++ dialects for GPUs share: vectors of 16 bytes as structs. */
#ifndef PD_VECTOR_STRUCT_H
#define PD_VECTOR_STRUCT_H

#include <stdint.h>

typedef uint32_t pd_u32;
typedef uint64_t pd_u64;

#define PD_KERNEL extern "C" __global__ void __launch_bounds__(256, 2)
#define PD_ITEM
#define PD_FUNCTION static __device__ __forceinline__
#define PD_GLOBAL
#define PD_LOCAL
#define PD_LOCAL_ARRAY __shared__
#define PD_RESTRICT __restrict__
#define PD_BARRIER() __syncthreads()
#define PD_UNROLL _Pragma("unroll")
#define PD_PREFETCH(address) ((void)(address))

#define PD_GROUPS (256 / PD_LANES)
#define PD_TILE0_LANES 4
#define PD_TILE0_VECTORS 1
#define PD_TILE1_LANES 8
#define PD_TILE1_VECTORS 1
#define PD_TILE2_LANES 16
#define PD_TILE2_VECTORS 1
#define PD_REUSE_ROWS 1
#define PD_WIDE_SUMS 0 /* segments are short */

#define PD_VECTOR_BYTES 16
#define PD_WIDTH_f32 4
#define PD_WIDTH_f64 2

template <typename T> struct alignas(16) pd_vector {
  enum { WIDTH = 16 / sizeof(T) };
  T entry[WIDTH];
};

template <typename T>
PD_FUNCTION pd_vector<T> operator*(const pd_vector<T> &x, const pd_vector<T> &y) {
  pd_vector<T> z;
  PD_UNROLL
  for (int k = 0; k < pd_vector<T>::WIDTH; ++k)
    z.entry[k] = x.entry[k] * y.entry[k];
  return z;
}
template <typename T>
PD_FUNCTION pd_vector<T> operator+(const pd_vector<T> &x, const pd_vector<T> &y) {
  pd_vector<T> z;
  PD_UNROLL
  for (int k = 0; k < pd_vector<T>::WIDTH; ++k)
    z.entry[k] = x.entry[k] + y.entry[k];
  return z;
}
template <typename T> PD_FUNCTION pd_vector<T> &operator+=(pd_vector<T> &x, const pd_vector<T> &y) {
  return x = x + y;
}
template <typename T> PD_FUNCTION pd_vector<T> &operator*=(pd_vector<T> &x, const pd_vector<T> &y) {
  return x = x * y;
}

typedef pd_vector<float> vec_f32;
typedef pd_vector<double> vec_f64;
typedef vec_f32 wide_f32;
typedef vec_f64 wide_f64;

#define PD_STRUCT_OPERATIONS(REAL, S)                                                              \
  PD_FUNCTION wide_##S widen_##S(vec_##S x) { return x; }                                          \
  PD_FUNCTION vec_##S narrow_##S(wide_##S x) { return x; }                                         \
  PD_FUNCTION vec_##S load_##S(const REAL *from) { return load_read_only<vec_##S>(from); }         \
  PD_FUNCTION void store_##S(REAL *to, vec_##S x) { *reinterpret_cast<vec_##S *>(to) = x; }        \
  PD_FUNCTION void store_once_##S(REAL *to, vec_##S x) { store_streaming(to, x); }                 \
  PD_FUNCTION vec_##S splat_##S(REAL x) {                                                          \
    vec_##S y;                                                                                     \
    PD_UNROLL                                                                                      \
    for (int k = 0; k < PD_WIDTH_##S; ++k)                                                         \
      y.entry[k] = x;                                                                              \
    return y;                                                                                      \
  }                                                                                                \
  PD_FUNCTION REAL entry_##S(const vec_##S &x, int k) { return x.entry[k]; }                       \
  PD_FUNCTION vec_##S load_part_##S(const REAL *from, pd_u32 count) {                              \
    vec_##S x;                                                                                     \
    PD_UNROLL                                                                                      \
    for (pd_u32 k = 0; k < PD_WIDTH_##S; ++k)                                                      \
      x.entry[k] = k < count ? from[k] : REAL(0);                                                  \
    return x;                                                                                      \
  }                                                                                                \
  PD_FUNCTION void store_part_##S(REAL *to, const vec_##S &x, pd_u32 count) {                      \
    PD_UNROLL                                                                                      \
    for (pd_u32 k = 0; k < PD_WIDTH_##S; ++k)                                                      \
      if (k < count) to[k] = x.entry[k];                                                           \
  }                                                                                                \
  PD_FUNCTION REAL sum_entries_##S(const vec_##S &x) {                                             \
    REAL sum = x.entry[0];                                                                         \
    PD_UNROLL                                                                                      \
    for (int k = 1; k < PD_WIDTH_##S; ++k)                                                         \
      sum += x.entry[k];                                                                           \
    return sum;                                                                                    \
  }                                                                                                \
  PD_FUNCTION REAL sum_lanes_##S(REAL x, int lanes) { return sum_lanes(x, lanes); }                \
  PD_FUNCTION void add_part_##S(REAL *to, const vec_##S &x, pd_u32 count) {                        \
    PD_UNROLL                                                                                      \
    for (pd_u32 k = 0; k < PD_WIDTH_##S; ++k)                                                      \
      if (k < count) (void)atomicAdd(to + k, x.entry[k]);                                          \
  }                                                                                                \
  PD_FUNCTION void load_step_##S(const REAL *from, REAL *value) {                                  \
    PD_UNROLL                                                                                      \
    for (int part = 0; part < 4 / PD_WIDTH_##S; ++part) {                                          \
      vec_##S x = load_##S(from + part * PD_WIDTH_##S);                                            \
      PD_UNROLL                                                                                    \
      for (int k = 0; k < PD_WIDTH_##S; ++k)                                                       \
        value[part * PD_WIDTH_##S + k] = x.entry[k];                                               \
    }                                                                                              \
  }

#define PD_WORD_OPERATIONS                                                                         \
  PD_FUNCTION void load_words(const pd_u32 *from, pd_u32 *word) {                                  \
    pd_vector<pd_u32> x = load_read_only<pd_vector<pd_u32>>(from);                                 \
    PD_UNROLL                                                                                      \
    for (int k = 0; k < 4; ++k)                                                                    \
      word[k] = x.entry[k];                                                                        \
  }

#endif
