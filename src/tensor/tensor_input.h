/* How numbers of the caller's arrays are read: they may lie at any address. */
#ifndef PD_TENSOR_INPUT_H
#define PD_TENSOR_INPUT_H

#include "tensor/tensor.h"
#include <string.h>

static inline double pd_input_value(const char *place, polyad_type type) {
  if (type == POLYAD_F32) {
    float narrow;
    memcpy(&narrow, place, sizeof narrow);
    return (double)narrow;
  }
  double wide;
  memcpy(&wide, place, sizeof wide);
  return wide;
}

#endif
