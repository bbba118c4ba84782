/* The kernels of "alto" for float. */
#include "formats/alto/alto_kernels.cuh"

extern "C" cudaError_t pd_alto_sum_f32(const struct pd_gpu_alto *a, int aligned, int phi,
                                       cudaStream_t stream) {
  return sum_any<float>(a, aligned, phi, stream);
}

extern "C" cudaError_t pd_alto_weigh_f32(const struct pd_gpu_alto *a, cudaStream_t stream) {
  return weigh_any<float>(a, stream);
}

extern "C" int pd_alto_gpu_columns(int value_bytes) { return 32 * 16 / value_bytes; }

extern "C" cudaError_t pd_alto_logarithms_f32(const struct pd_gpu_alto *a, double *partial,
                                              double *total, cudaStream_t stream) {
  return logarithms_any<float>(a, partial, total, stream);
}

extern "C" uint64_t pd_alto_gpu_partials(uint64_t nnz) {
  return (nnz + PD_ALTO_GPU_THREADS - 1) / PD_ALTO_GPU_THREADS;
}

static __global__ void __launch_bounds__(PD_ALTO_GPU_THREADS)
    write_indices(const __grid_constant__ struct pd_gpu_alto a, uint32_t *index) {
  uint64_t p = (uint64_t)blockIdx.x * PD_ALTO_GPU_THREADS + threadIdx.x;
  if (p >= a.nnz) return;
  uint64_t low = a.low == nullptr ? 0 : alto_word(a.low, a.low_bytes, p);
  uint64_t high = a.high == nullptr ? 0 : alto_word(a.high, a.high_bytes, p);
  index[p] = alto_index(a, a.output, p, low, high);
}

extern "C" cudaError_t pd_alto_indices(const struct pd_gpu_alto *a, uint32_t *index,
                                       cudaStream_t stream) {
  uint64_t blocks = pd_alto_gpu_partials(a->nnz);
  if (blocks > 0) write_indices<<<(unsigned)blocks, PD_ALTO_GPU_THREADS, 0, stream>>>(*a, index);
  return cudaGetLastError();
}
