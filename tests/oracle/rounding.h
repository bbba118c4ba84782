/* What a compute type keeps of a number: a multiple of the last digit that the type has at that
 * number's size, found in double. The library's own conversions work on the bits instead. */
#ifndef PD_TEST_ROUNDING_H
#define PD_TEST_ROUNDING_H

#include <math.h>
#include <polyad/plan.h>
#include <stdbool.h>

/* Numbers of `digits` binary digits whose first stands for 2^least to 2^most; smaller ones have the
 * last digit of 2^least. Ties go to the even digit, or away from zero. */
struct oracle_type {
  int digits, least, most;
  bool ties_to_even;
};

static inline double oracle_round(struct oracle_type type, double x) {
  if (!isfinite(x) || x == 0) return x;
  int exponent;
  (void)frexp(x, &exponent); /* |x| is at least 2^(exponent - 1) */
  if (exponent - 1 < type.least) exponent = type.least + 1;
  double last = ldexp(1, exponent - type.digits);
  double kept = (type.ties_to_even ? nearbyint(x / last) : round(x / last)) * last;
  return fabs(kept) >= ldexp(1, type.most + 1) ? copysign(INFINITY, x) : kept;
}

static inline float rounding_of(polyad_compute compute, float x) {
  static const struct oracle_type f16 = {11, -14, 15, true}, bf16 = {8, -126, 127, true},
                                  tf32 = {11, -126, 127, false};
  switch (compute) {
  case POLYAD_COMPUTE_F16:
    return (float)oracle_round(f16, (double)x);
  case POLYAD_COMPUTE_BF16:
    return (float)oracle_round(bf16, (double)x);
  case POLYAD_COMPUTE_TF32:
    return (float)oracle_round(tf32, (double)x);
  default:
    return x;
  }
}

#endif
