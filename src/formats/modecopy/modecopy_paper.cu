/* Algorithm 2 of paper B: a block of R x P threads computes one partition, P nonzeros at a time,
 * one thread per nonzero and column. Scheme 1 updates rows that no other block touches
 * (block-scope atomics), scheme 2 rows of all blocks (device-scope atomics). The output is zeroed
 * before. When R x P exceeds the limit of a block, a thread takes several columns. */
#include "formats/modecopy/modecopy_launch.h"

template <bool GLOBAL> struct Update;
template <> struct Update<false> {
  template <typename T> __device__ static void add(T *to, T value) { atomicAdd_block(to, value); }
};
template <> struct Update<true> {
  template <typename T> __device__ static void add(T *to, T value) { atomicAdd(to, value); }
};

__device__ static __forceinline__ uint32_t index_of(const struct pd_gpu_field &field, uint64_t p) {
  return (__ldg(field.plane + p) >> field.shift) & field.mask;
}

template <typename T, bool GLOBAL>
__device__ static void run_partition(const struct pd_gpu_paper &a) {
  uint64_t end = a.part_start[blockIdx.x + 1];
  T *out = static_cast<T *>(const_cast<void *>(a.output.factor));
  for (uint64_t p = a.part_start[blockIdx.x] + threadIdx.y; p < end; p += blockDim.y) {
    T value = __ldg(static_cast<const T *>(a.values) + p);
    uint64_t row = index_of(a.output, p) * a.output.stride;
    for (int r = (int)threadIdx.x; r < a.rank; r += (int)blockDim.x) {
      T product = value;
      for (int w = 0; w < a.inputs; ++w)
        product *= __ldg(static_cast<const T *>(a.field[w].factor) +
                         index_of(a.field[w], p) * a.field[w].stride + r);
      Update<GLOBAL>::add(out + row + r, product);
    }
  }
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
