/* Numbers of 16 bits, in plain functions for the host and for kernels: IEEE half precision and
 * bfloat16, rounded to nearest even. */
#ifndef PD_HALF_H
#define PD_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PD_HALF static __host__ __device__ inline
#else
#define PD_HALF static inline
#endif

PD_HALF uint32_t pd_bits_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

PD_HALF float pd_float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/** Half precision; beyond its range infinity. */
PD_HALF uint16_t pd_half_of(double x) {
  uint16_t sign = (uint16_t)(signbit(x) ? 0x8000 : 0);
  double size = fabs(x);
  if (isnan(x)) return 0x7e00;
  if (size >= 65520.0) return (uint16_t)(sign | 0x7c00);
  if (size < 0x1p-14) /* subnormal: a multiple of 2^-24 */
    return (uint16_t)(sign | (uint16_t)nearbyint(size * 0x1p24));
  int exponent;
  double fraction = frexp(size, &exponent); /* in [0.5, 1) */
  /* A fraction that rounds up to 2048 carries into the exponent by itself. */
  uint32_t digits = (uint32_t)nearbyint(fraction * 2048);
  return (uint16_t)(sign | (uint32_t)(((exponent + 14) << 10) + (int)digits - 1024));
}

PD_HALF float pd_float_of_half(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, digits = half & 1023;
  if (exponent == 0) {
    float size = (float)digits * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  if (exponent == 31) return pd_float_of_bits(sign | 0x7f800000 | digits << 13);
  return pd_float_of_bits(sign | (exponent + 112) << 23 | digits << 13);
}

/** bfloat16: the upper half of a float, rounded. */
PD_HALF uint16_t pd_bfloat_of(float x) {
  uint32_t bits = pd_bits_of_float(x);
  if (isnan(x)) return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

PD_HALF float pd_float_of_bfloat(uint16_t bfloat) {
  return pd_float_of_bits((uint32_t)bfloat << 16);
}

/** tf32: a float with 10 bits behind the point, ties away from zero as cvt.rna. */
PD_HALF float pd_tf32_of(float x) {
  if (!isfinite(x)) return x;
  return pd_float_of_bits((pd_bits_of_float(x) + 0x1000) & ~UINT32_C(0x1fff));
}

#endif
