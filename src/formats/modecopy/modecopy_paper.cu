/* Algorithm 2 of paper B: a block of R x P threads computes one partition, P nonzeros at a time,
 * one thread per nonzero and column. Scheme 1 updates rows that no other block touches
 * (block-scope atomics), scheme 2 rows of all blocks (device-scope atomics). The output is zeroed
 * before. Of what the text leaves open: the nonzeros of a partition are ordered by rows in both
 * schemes, and a thread keeps the sum of a row to itself until the next row begins. When R x P
 * exceeds the limit of a block, a thread takes several columns, one after the other. */
#include "formats/modecopy/modecopy_launch.h"
#include "formats/ordered/column_sum.cuh"

__device__ static __forceinline__ uint32_t index_of(const struct pd_gpu_field &field, uint64_t p) {
  return (__ldg(field.plane + p) >> field.shift) & field.mask;
}

/* Column r of the thread's nonzeros. */
template <typename T, bool GLOBAL>
__device__ static void sum_column(const struct pd_gpu_paper &a, int r) {
  uint64_t end = a.part_start[blockIdx.x + 1], step = blockDim.y;
  ColumnSum<T, GLOBAL> column = {static_cast<T *>(const_cast<void *>(a.output.factor)) + r};
  for (uint64_t p = a.part_start[blockIdx.x] + threadIdx.y; p < end; p += COLUMN_AHEAD * step) {
    uint64_t row[COLUMN_AHEAD];
    T product[COLUMN_AHEAD];
#pragma unroll
    for (int k = 0; k < COLUMN_AHEAD; ++k) {
      uint64_t q = p + k * step < end ? p + k * step : p;
      row[k] = index_of(a.output, q) * a.output.stride;
      product[k] = __ldg(static_cast<const T *>(a.values) + q);
      for (int w = 0; w < a.inputs; ++w)
        product[k] *= __ldg(static_cast<const T *>(a.field[w].factor) +
                            index_of(a.field[w], q) * a.field[w].stride + r);
    }
#pragma unroll
    for (int k = 0; k < COLUMN_AHEAD; ++k)
      if (p + k * step < end) column.add(row[k], product[k]);
  }
  column.end();
}

template <typename T, bool GLOBAL>
__device__ static void run_partition(const struct pd_gpu_paper &a) {
  for (int r = (int)threadIdx.x; r < a.rank; r += (int)blockDim.x)
    sum_column<T, GLOBAL>(a, r);
}

template <typename T>
static __global__ void __launch_bounds__(1024)
    paper_scheme1(const __grid_constant__ struct pd_gpu_paper a) {
  run_partition<T, false>(a);
}

template <typename T>
static __global__ void __launch_bounds__(1024)
    paper_scheme2(const __grid_constant__ struct pd_gpu_paper a) {
  run_partition<T, true>(a);
}

template <typename T>
static cudaError_t launch(const struct pd_gpu_paper *paper, cudaStream_t stream) {
  int columns = paper->columns < 64 ? paper->columns : 64;
  int rows = paper->rank < 1024 / columns ? paper->rank : 1024 / columns;
  dim3 block((unsigned)rows, (unsigned)columns), grid((unsigned)paper->partitions);
  if (paper->scheme == 1)
    paper_scheme1<T><<<grid, block, 0, stream>>>(*paper);
  else
    paper_scheme2<T><<<grid, block, 0, stream>>>(*paper);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_modecopy_paper_f32(const struct pd_gpu_paper *paper,
                                             cudaStream_t stream) {
  return launch<float>(paper, stream);
}

extern "C" cudaError_t pd_modecopy_paper_f64(const struct pd_gpu_paper *paper,
                                             cudaStream_t stream) {
  return launch<double>(paper, stream);
}
