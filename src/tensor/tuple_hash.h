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

/** The odd number by which a mode's indices are multiplied. */
PD_TUPLE_STEP uint64_t pd_tuple_factor(int mode) { return pd_random_u64(1, 0, (uint64_t)mode) | 1; }

/** The term of an index in a mode. */
PD_TUPLE_STEP uint64_t pd_tuple_term(int mode, uint64_t index) {
  return pd_tuple_factor(mode) * index;
}

/** Whether a sample has the tuple: one in PD_TUPLE_SAMPLE_RATE. Only the lower half of the total is
 *  looked at, so that vectors hold twice as many (mixed by the finaliser of C. Wellons' lowbias32).
 */
PD_TUPLE_STEP int pd_tuple_drawn(uint64_t total) {
  uint32_t drawn = (uint32_t)total;
  drawn = (drawn ^ drawn >> 16) * UINT32_C(0x7feb352d);
  drawn = (drawn ^ drawn >> 15) * UINT32_C(0x846ca68b);
  return drawn < UINT32_MAX / PD_TUPLE_SAMPLE_RATE;
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
