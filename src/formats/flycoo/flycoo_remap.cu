/* Remapping alone, for a mode out of turn. */
#include "formats/flycoo/flycoo_launch.h"

/* Eight lanes per element. */
static __global__ void __launch_bounds__(256)
    remap_elements(uint64_t nnz, int words, int to_words, struct pd_gpu_bits remap,
                   const uint32_t *in, uint32_t *out) {
  int lane = threadIdx.x % 8;
  for (uint64_t p = (uint64_t)blockIdx.x * 32 + threadIdx.x / 8; p < nnz;
       p += (uint64_t)gridDim.x * 32) {
    const uint32_t *element = in + p * (uint64_t)words;
    uint32_t low = __ldg(element + remap.word);
    uint32_t high = remap.two_words ? __ldg(element + remap.word + 1) : 0;
    uint64_t to = __funnelshift_r(low, high, remap.shift) & remap.mask;
    for (int word = lane; word < to_words; word += 8)
      out[to * (uint64_t)to_words + word] = __ldg(element + word);
  }
}

extern "C" cudaError_t pd_flycoo_remap(uint64_t nnz, int words, int to_words,
                                       struct pd_gpu_bits remap, const uint32_t *in, uint32_t *out,
                                       cudaStream_t stream) {
  if (nnz == 0) return cudaSuccess;
  uint64_t blocks = (nnz + 127) / 128;
  unsigned grid = (unsigned)(blocks < 65536 ? blocks : 65536);
  remap_elements<<<grid, 256, 0, stream>>>(nnz, words, to_words, remap, in, out);
  return cudaGetLastError();
}
