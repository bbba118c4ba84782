/* What does not depend on the type or on how nonzeros are stored. */
#include "formats/ordered/ordered_launch.h"

extern "C" int pd_gpu_lanes(int rank, int value_bytes, int aligned) {
  int columns = 16 / value_bytes, needed = (rank + columns - 1) / columns;
  if (!aligned) return needed <= 8 ? 8 : 32;
  return needed <= 4 ? 4 : needed <= 8 ? 8 : needed <= 16 ? 16 : 32;
}

extern "C" uint64_t pd_gpu_sum_blocks(uint64_t nnz, int lanes, int segment) {
  uint64_t block = (uint64_t)(PD_BLOCK_THREADS / lanes) * (uint64_t)segment;
  return (nnz + block - 1) / block;
}

/* A thread per 16 bytes of the table. */
template <typename T>
static __global__ void __launch_bounds__(256) pair_table(const pd_gpu_pair pair) {
  constexpr int N = 16 / (int)sizeof(T);
  uint64_t at = (uint64_t)blockIdx.x * 256 + threadIdx.x, parts = (uint64_t)pair.columns / N;
  uint64_t row = at / parts, column = at % parts * N;
  uint64_t high = row >> pair.bits, low = row & ((UINT64_C(1) << pair.bits) - 1);
  if (high >= pair.high_rows || low >= pair.low_rows) return;
  int4 raw[2], product;
  raw[0] = __ldg(reinterpret_cast<const int4 *>(static_cast<const T *>(pair.high) +
                                                high * pair.high_stride + column));
  raw[1] = __ldg(reinterpret_cast<const int4 *>(static_cast<const T *>(pair.low) +
                                                low * pair.low_stride + column));
#pragma unroll
  for (int k = 0; k < N; ++k)
    reinterpret_cast<T *>(&product)[k] =
        reinterpret_cast<const T *>(&raw[0])[k] * reinterpret_cast<const T *>(&raw[1])[k];
  *reinterpret_cast<int4 *>(static_cast<T *>(pair.to) + row * pair.stride + column) = product;
}

extern "C" cudaError_t pd_gpu_pair_table(const struct pd_gpu_pair *pair, cudaStream_t stream) {
  uint64_t in_row = (uint64_t)pair->columns / (pair->wide ? 2 : 4);
  uint64_t parts = (pair->high_rows << pair->bits) * in_row;
  unsigned blocks = (unsigned)((parts + 255) / 256);
  if (blocks == 0) return cudaSuccess;
  if (pair->wide)
    pair_table<double><<<blocks, 256, 0, stream>>>(*pair);
  else
    pair_table<float><<<blocks, 256, 0, stream>>>(*pair);
  return cudaGetLastError();
}

/* A warp looks after 32 rows: one word of bits. */
static __global__ void __launch_bounds__(256)
    zero_unused(const uint32_t *used, uint64_t rows, char *out, uint64_t row_bytes) {
  uint64_t word = (uint64_t)blockIdx.x * 8 + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (word * 32 >= rows) return;
  for (uint32_t left = ~used[word]; left != 0; left &= left - 1) {
    uint64_t row = word * 32 + (uint64_t)(__ffs((int)left) - 1);
    if (row >= rows) return;
    for (uint64_t b = (uint64_t)lane * 4; b < row_bytes; b += 128)
      *reinterpret_cast<uint32_t *>(out + row * row_bytes + b) = 0;
  }
}

extern "C" cudaError_t pd_gpu_zero_unused(const uint32_t *used, uint64_t rows, void *out,
                                          uint64_t row_bytes, cudaStream_t stream) {
  uint64_t words = (rows + 31) / 32;
  zero_unused<<<(unsigned)((words + 7) / 8), 256, 0, stream>>>(used, rows, static_cast<char *>(out),
                                                               row_bytes);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(256)
    add_up(const double *numbers, uint64_t count, double *out) {
  __shared__ double of_thread[256];
  double sum = 0;
  for (uint64_t k = threadIdx.x; k < count; k += 256)
    sum += numbers[k];
  of_thread[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 256; ++t)
    sum += of_thread[t];
  *out = sum;
}

extern "C" cudaError_t pd_gpu_add_up(const double *numbers, uint64_t count, double *out,
                                     cudaStream_t stream) {
  add_up<<<1, 256, 0, stream>>>(numbers, count, out);
  return cudaGetLastError();
}
