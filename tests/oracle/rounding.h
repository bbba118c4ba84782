/* What a compute type keeps of a matrix, entry by entry on the host. */
#ifndef PD_TEST_ROUNDING_H
#define PD_TEST_ROUNDING_H

#include "core/half.h"
#include "device/device.h"
#include <polyad/plan.h>

static inline float rounding_of(polyad_compute compute, float x) {
  switch (compute) {
  case POLYAD_COMPUTE_F16:
    return pd_float_of_half(pd_half_of((double)x));
  case POLYAD_COMPUTE_BF16:
    return pd_float_of_bfloat(pd_bfloat_of(x));
  case POLYAD_COMPUTE_TF32:
    return pd_tf32_of(x);
  default:
    return x;
  }
}

/** `to` = what is kept of `from`; both of the CPU, of one shape and type, or the same. */
static inline void rounding_of_matrix(polyad_compute compute, const struct pd_matrix *from,
                                      struct pd_matrix *to) {
  for (uint64_t i = 0; i < from->rows; ++i)
    for (uint64_t r = 0; r < from->columns; ++r) {
      uint64_t p = i * from->stride + r, q = i * to->stride + r;
      if (from->type == POLYAD_F64)
        ((double *)to->data)[q] =
            (double)rounding_of(compute, (float)((const double *)from->data)[p]);
      else
        ((float *)to->data)[q] = rounding_of(compute, ((const float *)from->data)[p]);
    }
}

#endif
