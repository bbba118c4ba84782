/* Backend: HIP. As CUDA, but a wavefront needs no mask, and may have 32 or 64 lanes. */
#ifndef PD_BACKEND_HIP_H
#define PD_BACKEND_HIP_H

#include <hip/hip_runtime.h>

#include "portable/vector_struct.h"

#define PD_INDEX ((pd_u64)blockIdx.x * blockDim.x + threadIdx.x)
#define PD_JOB(type) const struct type

template <typename T> PD_FUNCTION T sum_lanes(T x, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2)
    x += __shfl_xor(x, step, lanes);
  return x;
}

template <typename V> PD_FUNCTION void store_streaming(void *to, const V &x) {
  *static_cast<V *>(to) = x;
}
template <typename V> PD_FUNCTION V load_read_only(const void *from) {
  return *static_cast<const V *>(from);
}

PD_WORD_OPERATIONS
PD_STRUCT_OPERATIONS(float, f32)
PD_STRUCT_OPERATIONS(double, f64)

#endif
