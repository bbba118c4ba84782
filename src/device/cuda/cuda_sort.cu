/* Stable sorting on a GPU: CUB's radix sort. */
#include "device/cuda/cuda_sort_launch.h"
#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256 };

template <typename K, typename V>
static cudaError_t sort_pairs(const struct pd_gpu_sort_job *job, void *temporary, size_t *bytes,
                              int *at, cudaStream_t stream) {
  cub::DoubleBuffer<K> keys(static_cast<K *>(job->keys[0]), static_cast<K *>(job->keys[1]));
  cub::DoubleBuffer<V> values(static_cast<V *>(job->values[0]), static_cast<V *>(job->values[1]));
  cudaError_t code = cub::DeviceRadixSort::SortPairs(temporary, *bytes, keys, values, job->count, 0,
                                                     job->bits, stream);
  *at = keys.selector;
  return code == cudaSuccess && keys.selector != values.selector ? cudaErrorUnknown : code;
}

extern "C" cudaError_t pd_gpu_sort(const struct pd_gpu_sort_job *job, void *temporary,
                                   size_t *bytes, int *at, cudaStream_t stream) {
  if (job->key_bytes == 4) return sort_pairs<uint32_t, uint32_t>(job, temporary, bytes, at, stream);
  if (job->value_bytes == 4)
    return sort_pairs<uint64_t, uint32_t>(job, temporary, bytes, at, stream);
  return sort_pairs<uint64_t, uint64_t>(job, temporary, bytes, at, stream);
}

static __global__ void __launch_bounds__(THREADS) count_up(uint32_t *to, uint64_t count) {
  uint64_t p = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p < count) to[p] = (uint32_t)p;
}

extern "C" cudaError_t pd_gpu_count_up(uint32_t *to, uint64_t count, cudaStream_t stream) {
  uint64_t blocks = (count + THREADS - 1) / THREADS;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (blocks > 0) count_up<<<(unsigned)blocks, THREADS, 0, stream>>>(to, count);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    starts(const uint32_t *keys, uint64_t count, uint64_t lines, uint32_t *start) {
  uint64_t line = (uint64_t)blockIdx.x * THREADS + threadIdx.x, low = 0, high = count;
  if (line > lines) return;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (keys[middle] < line)
      low = middle + 1;
    else
      high = middle;
  }
  start[line] = (uint32_t)low;
}

extern "C" cudaError_t pd_gpu_starts(const uint32_t *keys, uint64_t count, uint64_t lines,
                                     uint32_t *start, cudaStream_t stream) {
  uint64_t blocks = lines / THREADS + 1;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  starts<<<(unsigned)blocks, THREADS, 0, stream>>>(keys, count, lines, start);
  return cudaGetLastError();
}
