/* Backend: CUDA C++. A group is some lanes of a warp; a lane holds 16 bytes of a row. */
#ifndef PD_BACKEND_CUDA_H
#define PD_BACKEND_CUDA_H

#include "portable/vector_struct.h"

#define PD_INDEX ((pd_u64)blockIdx.x * blockDim.x + threadIdx.x)
#define PD_JOB(type) const __grid_constant__ struct type

template <typename T> PD_FUNCTION T sum_lanes(T x, int lanes) {
  unsigned mask =
      lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
  for (int step = lanes / 2; step > 0; step /= 2)
    x += __shfl_xor_sync(mask, x, step);
  return x;
}

template <typename V> PD_FUNCTION void store_streaming(void *to, const V &x) {
  __stcs(static_cast<int4 *>(to), *reinterpret_cast<const int4 *>(&x));
}
template <typename V> PD_FUNCTION V load_read_only(const void *from) {
  int4 raw = __ldg(static_cast<const int4 *>(from));
  return *reinterpret_cast<const V *>(&raw);
}

PD_WORD_OPERATIONS
PD_STRUCT_OPERATIONS(float, f32)
PD_STRUCT_OPERATIONS(double, f64)

#endif
