/* Kernels that build tiles: nonzeros apart by the size of their runs, bitmaps of the large ones,
 * and indices packed bit by bit. A thread per place of the order, or per word that is written. */
#include "device/build_steps.h"
#include "device/cuda/cuda_build_launch.h"
#include "device/cuda/cuda_build_places.cuh"
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

enum { LARGEST_BLOCKS = 1024 };

/* ---- splitting --------------------------------------------------------------------------------
 */

struct chosen {
  struct pd_gpu_build_split of;
  __device__ bool operator()(uint32_t p) const {
    int large = pd_build_in_large_run(of.start, of.runs, of.least, of.begins, p);
    return (large != 0) == (of.large != 0);
  }
};

extern "C" cudaError_t pd_gpu_build_split(const struct pd_gpu_build_split *of, uint32_t *places,
                                          uint64_t *found, void *temporary, size_t *bytes,
                                          cudaStream_t stream) {
  if (of->nnz > INT32_MAX) return cudaErrorInvalidValue;
  struct chosen chosen = {*of};
  return cub::DeviceSelect::If(temporary, *bytes, thrust::counting_iterator<uint32_t>(0), places,
                               found, (int)of->nnz, chosen, stream);
}

static __global__ void __launch_bounds__(THREADS)
    find_begins(const uint32_t *first, uint64_t runs, const uint32_t *places, uint64_t count,
                uint32_t *begin) {
  uint64_t r = own_place(), low = 0, high = count;
  if (r > runs) return;
  while (r < runs && low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (places[middle] < first[r])
      low = middle + 1;
    else
      high = middle;
  }
  begin[r] = (uint32_t)(r == runs ? count : low);
}

extern "C" cudaError_t pd_gpu_build_begins(const uint32_t *first, uint64_t runs,
                                           const uint32_t *places, uint64_t count, uint32_t *begin,
                                           cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(runs + 1, &blocks)) return cudaErrorInvalidConfiguration;
  find_begins<<<blocks, THREADS, 0, stream>>>(first, runs, places, count, begin);
  return cudaGetLastError();
}

/* ---- bitmaps ----------------------------------------------------------------------------------
 */

static __global__ void __launch_bounds__(THREADS)
    set_bits(const __grid_constant__ struct pd_gpu_build_bitmaps of) {
  uint64_t k = own_place();
  if (k >= of.count) return;
  uint64_t p = of.permutation == NULL ? of.place[k] : of.permutation[of.place[k]];
  uint64_t bit = pd_build_word(of.index, of.field, of.fields, p);
  uint64_t run = pd_build_run_at(of.begin, of.runs, k);
  atomicOr(&of.bits[run * of.words + bit / 32], 1u << bit % 32);
}

extern "C" cudaError_t pd_gpu_build_bitmaps(const struct pd_gpu_build_bitmaps *of,
                                            cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) set_bits<<<blocks, THREADS, 0, stream>>>(*of);
  return cudaGetLastError();
}

/* ---- packing ----------------------------------------------------------------------------------
 */

static __global__ void __launch_bounds__(THREADS)
    pack_words(const __grid_constant__ struct pd_gpu_build_pack of) {
  uint64_t w = own_place();
  if (w < of.words)
    of.to[w] = pd_build_stream_word(of.index, of.field, of.fields, of.bits, of.permutation,
                                    of.place, of.items, w);
}

extern "C" cudaError_t pd_gpu_build_pack(const struct pd_gpu_build_pack *of, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->words, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) pack_words<<<blocks, THREADS, 0, stream>>>(*of);
  return cudaGetLastError();
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* The bits of doubles that are not negative are in the order of the numbers. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    find_largest(const T *values, uint64_t count, unsigned long long *most) {
  double size = 0;
  for (uint64_t p = own_place(); p < count; p += (uint64_t)gridDim.x * THREADS)
    size = fmax(size, fabs((double)values[p]));
  for (int step = WARP / 2; step > 0; step /= 2)
    size = fmax(size, __shfl_xor_sync(ALL_LANES, size, step));
  if (threadIdx.x % WARP == 0) atomicMax(most, (unsigned long long)__double_as_longlong(size));
}

extern "C" cudaError_t pd_gpu_build_largest(const void *values, int value_bytes, uint64_t count,
                                            uint64_t *most, cudaStream_t stream) {
  unsigned long long *to = reinterpret_cast<unsigned long long *>(most);
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > LARGEST_BLOCKS) blocks = LARGEST_BLOCKS;
  if (blocks == 0) return cudaSuccess;
  if (value_bytes == 4)
    find_largest<<<blocks, THREADS, 0, stream>>>(static_cast<const float *>(values), count, to);
  else
    find_largest<<<blocks, THREADS, 0, stream>>>(static_cast<const double *>(values), count, to);
  return cudaGetLastError();
}
