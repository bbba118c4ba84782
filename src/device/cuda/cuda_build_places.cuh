/* A thread per place of an array: what the kernels that build storages share. */
#ifndef PD_CUDA_BUILD_PLACES_CUH
#define PD_CUDA_BUILD_PLACES_CUH

#include <stdint.h>

enum { THREADS = 256, WARP = 32 };

static const unsigned ALL_LANES = 0xffffffffu;

static __device__ __forceinline__ uint64_t own_place() {
  return (uint64_t)blockIdx.x * THREADS + threadIdx.x;
}

/* Blocks of a thread per item; false: there are too many of them. */
static inline bool blocks_for(uint64_t items, unsigned *blocks) {
  uint64_t wanted = (items + THREADS - 1) / THREADS;
  *blocks = (unsigned)wanted;
  return wanted <= INT32_MAX;
}

#endif
