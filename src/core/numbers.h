/* One number of an array whose type is known at run time only. Loops over many numbers are written
 * for each type instead. */
#ifndef PD_NUMBERS_H
#define PD_NUMBERS_H

#include <math.h>
#include <polyad/tensor.h>
#include <stdbool.h>

/** Number k of an array of floats or doubles. */
static inline double pd_load(polyad_type type, const void *array, uint64_t k) {
  return type == POLYAD_F32 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/** Stores a number as number k of an array of floats (rounded) or doubles. */
static inline void pd_store(polyad_type type, void *array, uint64_t k, double x) {
  if (type == POLYAD_F32)
    ((float *)array)[k] = (float)x;
  else
    ((double *)array)[k] = x;
}

/** Two powers of two whose product is 2^-exponent, which alone may be no double: 2^1074 is not.
 * Numbers are scaled by one and then by the other. */
static inline void pd_two_powers(int exponent, double *one, double *other) {
  *one = ldexp(1, -(exponent / 2));
  *other = ldexp(1, -(exponent - exponent / 2));
}

/** Whether all numbers of an array of floats or doubles are finite. */
static inline bool pd_all_finite(polyad_type type, uint64_t count, const void *array) {
  for (uint64_t k = 0; k < count; ++k)
    if (!isfinite(pd_load(type, array, k))) return false;
  return true;
}

/** The greatest common divisor. */
static inline uint64_t pd_common_divisor(uint64_t a, uint64_t b) {
  return b == 0 ? a : pd_common_divisor(b, a % b);
}

/** Number k of an array of unsigned numbers of 2, 4 or 8 bytes. */
static inline uint64_t pd_id_at(const void *ids, int bytes, uint64_t k) {
  if (bytes == 2) return ((const uint16_t *)ids)[k];
  if (bytes == 4) return ((const uint32_t *)ids)[k];
  return ((const uint64_t *)ids)[k];
}

/** Stores one. */
static inline void pd_id_put(void *ids, int bytes, uint64_t k, uint64_t id) {
  if (bytes == 2)
    ((uint16_t *)ids)[k] = (uint16_t)id;
  else if (bytes == 4)
    ((uint32_t *)ids)[k] = (uint32_t)id;
  else
    ((uint64_t *)ids)[k] = id;
}

/** The last of numbers [low, high), which do not descend, that is at most x; else `low`. */
static inline uint64_t pd_id_find(const void *ids, int bytes, uint64_t low, uint64_t high,
                                  uint64_t x) {
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (pd_id_at(ids, bytes, middle) <= x)
      low = middle;
    else
      high = middle;
  }
  return low;
}

#endif
