/* Counter-based random numbers: the value depends on (seed, stream, counter) alone, so that
 * any thread can draw any number and results do not depend on the number of threads. */
#ifndef PD_RANDOM_H
#define PD_RANDOM_H

#include <stdint.h>

/* The same numbers on GPUs. */
#if defined(__CUDACC__)
#define PD_RANDOM_INLINE __host__ __device__ static inline
#else
#define PD_RANDOM_INLINE static inline
#endif

/* Finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, OOPSLA 2014). */
PD_RANDOM_INLINE uint64_t pd_mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/** A 64-bit number for a place in a stream. */
PD_RANDOM_INLINE uint64_t pd_random_u64(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint64_t key = pd_mix64(seed + UINT64_C(0x9e3779b97f4a7c15) * (stream + 1));
  return pd_mix64(key + UINT64_C(0x9e3779b97f4a7c15) * (counter + 1));
}

/** Uniform in [0, 1), 53 bits. */
PD_RANDOM_INLINE double pd_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
  return (double)(pd_random_u64(seed, stream, counter) >> 11) * 0x1p-53;
}

/** Standard normal (Box and Muller), from two places 2*counter and 2*counter+1. */
double pd_random_normal(uint64_t seed, uint64_t stream, uint64_t counter);

#endif
