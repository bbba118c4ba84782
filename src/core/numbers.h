/* One number of an array whose type is known at run time only. Loops over many numbers are written
 * for each type instead. */
#ifndef PD_NUMBERS_H
#define PD_NUMBERS_H

#include <polyad/tensor.h>

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

#endif
