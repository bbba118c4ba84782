/* Hashes of tuples of indices, by which distinct ones are counted (tensor_fibers.c): plain
 * functions for the host and for kernels.
 *
 * The tuples of a nonzero are its indices in some modes that follow each other in the cyclic order,
 * from each mode on. A tuple's hash is a sum of a term per mode, mixed, so that the next mode's
 * tuple is an addition and a subtraction away. */
#ifndef PD_TUPLE_HASH_H
#define PD_TUPLE_HASH_H

#include "core/random.h"

#ifdef __CUDACC__
#define PD_TUPLE_STEP static __host__ __device__ inline
#else
#define PD_TUPLE_STEP static inline
#endif

enum {
  PD_TUPLE_REGISTER_BITS = 14, /* standard error 1.04 / sqrt(2^14) */
  PD_TUPLE_REGISTERS = 1 << PD_TUPLE_REGISTER_BITS,
  PD_TUPLE_SAMPLE_RATE = 16
};

/** The term of an index in a mode. */
PD_TUPLE_STEP uint64_t pd_tuple_term(int mode, uint64_t index) {
  return pd_random_u64(0, (uint64_t)mode, index);
}

/** Of samples the term is the index times this odd number. */
PD_TUPLE_STEP uint64_t pd_tuple_factor(int mode) { return pd_random_u64(1, 0, (uint64_t)mode) | 1; }

/** Whether a sample has the tuple: one in PD_TUPLE_SAMPLE_RATE. */
PD_TUPLE_STEP int pd_tuple_drawn(uint64_t total) {
  uint64_t drawn = (total ^ total >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  return drawn < UINT64_MAX / PD_TUPLE_SAMPLE_RATE;
}

/** The register that a tuple is seen in: the first bits of its hash. */
PD_TUPLE_STEP uint32_t pd_tuple_register(uint64_t hash) {
  return (uint32_t)(hash >> (64 - PD_TUPLE_REGISTER_BITS));
}

/** What it shows there: leading zeros of the other bits, plus one. */
PD_TUPLE_STEP uint32_t pd_tuple_rank(uint64_t hash) {
  uint64_t rest = hash << PD_TUPLE_REGISTER_BITS;
  if (rest == 0) return 64 - PD_TUPLE_REGISTER_BITS + 1;
#ifdef __CUDA_ARCH__
  return (uint32_t)__clzll((long long)rest) + 1;
#else
  return (uint32_t)__builtin_clzll(rest) + 1;
#endif
}

#endif
