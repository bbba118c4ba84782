/* Matrices of the CPU in which every entry is what a compute type keeps of it. */
#ifndef PD_TEST_ROUNDED_MATRIX_H
#define PD_TEST_ROUNDED_MATRIX_H

#include "device/device.h"
#include "oracle/rounding.h"

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
