/* Indices from keys on a GPU: by shifts and masks of runs of bits, each lane of a group another
 * nonzero. What a group decoded lies in shared memory, where all its lanes read it. */
#ifndef PD_ALTO_DECODE_CUH
#define PD_ALTO_DECODE_CUH

#include "formats/alto/alto_launch.h"
#include "formats/ordered/ordered_lanes.cuh"

__device__ __forceinline__ uint64_t alto_word(const void *array, int bytes, uint64_t p) {
  if (bytes == 4) return __ldg(static_cast<const uint32_t *>(array) + p);
  return __ldg(static_cast<const unsigned long long *>(array) + p);
}

/* Index of one mode of nonzero p with key (low, high). Indices are below 2^32. */
__device__ __forceinline__ uint32_t alto_index(const struct pd_gpu_alto &a,
                                               const struct pd_gpu_alto_mode &mode, uint64_t p,
                                               uint64_t low, uint64_t high) {
  if (mode.index != nullptr) return __ldg(mode.index + p);
  uint32_t index = 0;
  for (int r = mode.first; r < mode.last; ++r) {
    uint32_t run = a.run[r], count = run >> 24;
    uint32_t bits = (uint32_t)(((run & 1) != 0 ? high : low) >> (run >> 8 & 63));
    uint32_t mask = count >= 32 ? 0xffffffffu : (1u << count) - 1u;
    index |= (bits & mask) << (run >> 16 & 31);
  }
  return index;
}

/* A block's decoded nonzeros: one per thread. */
template <typename T> struct Decoded {
  uint32_t index[PD_ALTO_INPUTS_MAX + 1][PD_ALTO_GPU_THREADS]; /* the output mode's is the last */
  T value[PD_ALTO_GPU_THREADS];
};

/* Decodes the nonzero at place q (below nnz). `output`: the output mode's index too. */
template <typename T>
__device__ __forceinline__ void alto_decode(const struct pd_gpu_alto &a, Decoded<T> &to, uint64_t q,
                                            bool output) {
  uint64_t p = a.order == nullptr ? q : __ldg(a.order + q);
  uint64_t low = a.low == nullptr ? 0 : alto_word(a.low, a.low_bytes, p);
  uint64_t high = a.high == nullptr ? 0 : alto_word(a.high, a.high_bytes, p);
  for (int k = 0; k < a.inputs; ++k)
    to.index[k][threadIdx.x] = alto_index(a, a.input[k], p, low, high);
  if (output) to.index[PD_ALTO_INPUTS_MAX][threadIdx.x] = alto_index(a, a.output, p, low, high);
  if (a.weighed != nullptr)
    to.value[threadIdx.x] = static_cast<const T *>(a.weighed)[q];
  else
    to.value[threadIdx.x] = __ldg(static_cast<const T *>(a.values) + p);
}

/* Behind the last nonzero: a value of zero and rows that exist. */
template <typename T>
__device__ __forceinline__ void alto_decode_none(const struct pd_gpu_alto &a, Decoded<T> &to) {
  for (int k = 0; k < a.inputs; ++k)
    to.index[k][threadIdx.x] = 0;
  to.index[PD_ALTO_INPUTS_MAX][threadIdx.x] = 0;
  to.value[threadIdx.x] = T(0);
}

/* Four nonzeros as Products wants them; `first` is the thread that decoded the first. */
template <typename T> struct AltoSource {
  const struct pd_gpu_alto &a;
  const Decoded<T> &from;
  int first;
  __device__ int inputs() const { return a.inputs; }
  __device__ const T *factor(int k) const { return static_cast<const T *>(a.input[k].factor); }
  __device__ uint64_t stride(int k) const { return a.input[k].stride; }
  __device__ void index(int k, uint32_t index[4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      index[j] = from.index[k][first + j];
  }
};

#endif
