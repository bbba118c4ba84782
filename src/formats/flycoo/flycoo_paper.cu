/* Algorithms 2 to 4 of paper A: block z computes partition z with R x P threads, P elements at a
 * time. The threads of column t share element nnz + t; row r computes column r of the factors
 * (elementwise computation), and the last row also writes the element to its place in the next
 * mode's order (dynamic remapping, no atomics: observation 1). All elements of an output row lie
 * in one partition, so updates are atomic within the block only (observation 2). When R x P
 * exceeds the limit of a block, a thread takes several columns. */
#include "formats/flycoo/flycoo_launch.h"

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

template <typename T>
static __global__ void __launch_bounds__(1024)
    fly_paper(const __grid_constant__ struct pd_gpu_fly a) {
  uint64_t end = a.part_start[blockIdx.x + 1];
  T *out = static_cast<T *>(a.out);
  int words = a.elements.words;
  for (uint64_t p = a.part_start[blockIdx.x] + threadIdx.y; p < end; p += blockDim.y) {
    const uint32_t *element = a.elements.in + p * (uint64_t)words;
    T value = value_of(element, T());
    uint64_t row = field_of(element, a.output) * a.out_stride;
    for (int r = (int)threadIdx.x; r < a.rank; r += (int)blockDim.x) {
      T product = value;
      for (int w = 0; w < a.inputs; ++w)
        product *= __ldg(static_cast<const T *>(a.factor[w]) +
                         field_of(element, a.elements.input[w]) * a.stride[w] + r);
      atomicAdd_block(out + row + r, product);
    }
    if (threadIdx.x == blockDim.x - 1 && a.elements.to != nullptr) {
      uint32_t *to = a.elements.to + field_of(element, a.elements.remap) * (uint64_t)words;
      for (int word = 0; word < words; ++word)
        to[word] = __ldg(element + word);
    }
  }
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
