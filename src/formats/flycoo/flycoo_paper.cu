/* Algorithms 2 to 4 of paper A: block z computes partition z with R x P threads, P elements at a
 * time. The threads of column t share element nnz + t; row r computes column r of the factors
 * (elementwise computation), and together they write the element to its place in the next mode's
 * order (dynamic remapping, no atomics: observation 1). All elements of an output row lie
 * in one partition, so updates are atomic within the block only (observation 2). What the text
 * leaves open: a thread keeps the sum of a row to itself while its elements stay in the row. When R
 * x P exceeds the limit of a block, a thread takes several columns, one after the other. */
#include "formats/flycoo/flycoo_launch.h"
#include "formats/ordered/column_sum.cuh"

__device__ static __forceinline__ uint32_t field_of(const uint32_t *element,
                                                    const struct pd_gpu_bits &bits) {
  uint32_t low = __ldg(element + bits.word);
  uint32_t high = bits.two_words ? __ldg(element + bits.word + 1) : 0;
  return __funnelshift_r(low, high, bits.shift) & bits.mask;
}

__device__ static __forceinline__ float value_of(const uint32_t *element, float) {
  return __uint_as_float(__ldg(element));
}

__device__ static __forceinline__ double value_of(const uint32_t *element, double) {
  return __hiloint2double((int)__ldg(element + 1), (int)__ldg(element));
}

/* The threads of a column write the words of their element. */
__device__ static void remap(const struct pd_gpu_elements &elements, const uint32_t *element) {
  uint32_t *to = elements.to + field_of(element, elements.remap) * (uint64_t)elements.words;
  for (int word = (int)threadIdx.x; word < elements.words; word += (int)blockDim.x)
    to[word] = __ldg(element + word);
}

/* Column r of the thread's elements, which move with the first column of every thread. */
template <typename T> __device__ static void sum_column(const struct pd_gpu_fly &a, int r) {
  uint64_t end = a.part_start[blockIdx.x + 1], step = blockDim.y;
  bool moves = r < (int)blockDim.x && a.elements.to != nullptr;
  ColumnSum<T, false> column = {static_cast<T *>(a.out) + r};
  for (uint64_t p = a.part_start[blockIdx.x] + threadIdx.y; p < end; p += COLUMN_AHEAD * step) {
    uint64_t row[COLUMN_AHEAD];
    T product[COLUMN_AHEAD];
#pragma unroll
    for (int k = 0; k < COLUMN_AHEAD; ++k) {
      uint64_t q = p + k * step;
      const uint32_t *element = a.elements.in + (q < end ? q : p) * (uint64_t)a.elements.words;
      row[k] = field_of(element, a.output) * a.out_stride;
      product[k] = value_of(element, T());
      for (int w = 0; w < a.inputs; ++w)
        product[k] *= __ldg(static_cast<const T *>(a.factor[w]) +
                            field_of(element, a.elements.input[w]) * a.stride[w] + r);
    }
#pragma unroll
    for (int k = 0; k < COLUMN_AHEAD; ++k)
      if (p + k * step < end) column.add(row[k], product[k]);
    for (uint64_t q = p; moves && q < end && q < p + COLUMN_AHEAD * step; q += step)
      remap(a.elements, a.elements.in + q * (uint64_t)a.elements.words);
  }
  column.end();
}

template <typename T>
static __global__ void __launch_bounds__(1024)
    fly_paper(const __grid_constant__ struct pd_gpu_fly a) {
  for (int r = (int)threadIdx.x; r < a.rank; r += (int)blockDim.x)
    sum_column<T>(a, r);
}

template <typename T> static cudaError_t launch(const struct pd_gpu_fly *fly, cudaStream_t stream) {
  int columns = fly->columns < 64 ? fly->columns : 64;
  int rows = fly->rank < 1024 / columns ? fly->rank : 1024 / columns;
  dim3 block((unsigned)rows, (unsigned)columns);
  fly_paper<T><<<(unsigned)fly->partitions, block, 0, stream>>>(*fly);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_flycoo_paper_f32(const struct pd_gpu_fly *fly, cudaStream_t stream) {
  return launch<float>(fly, stream);
}

extern "C" cudaError_t pd_flycoo_paper_f64(const struct pd_gpu_fly *fly, cudaStream_t stream) {
  return launch<double>(fly, stream);
}
