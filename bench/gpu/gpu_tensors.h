/* Tensors of the GPU benchmarks: made in memory, with the published dims and numbers of nonzeros.
 */
#ifndef GPU_TENSORS_H
#define GPU_TENSORS_H

#include "tensor/tensor.h"

/** Indices of mode n are drawn from a power law with exponent skew[n] and scattered; a share
 *  `cluster` of nonzeros keeps all but the last index of the one before. */
struct bench_tensor {
  const char *name;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  double skew[POLYAD_MAX_ORDER], cluster;
};

/** NULL when there is none of that name. */
const struct bench_tensor *bench_tensor_find(const char *name);

/** Makes it, in float, with values 1 to 9. `scale` multiplies the number of nonzeros. */
polyad_status bench_tensor_make(polyad_context *context, const struct bench_tensor *from,
                                double scale, polyad_tensor **tensor);

#endif
