/* What formats share that run the sum over sorted rows on a GPU. */
#ifndef PD_CUDA_SUM_H
#define PD_CUDA_SUM_H

#include "device/cuda/cuda_state.h"
#include <string.h>

/** Nonzeros of one group: enough groups to fill the GPU several times, so that uneven ones even
 *  out, but segments as long as that allows. */
static inline int pd_cuda_segment(const struct pd_cuda_state *state, uint64_t nnz, int lanes) {
  uint64_t groups = (uint64_t)state->processors * (768 / (uint64_t)lanes) * 4;
  uint64_t segment = nnz / groups / 64 * 64;
  return segment < 64 ? 64 : segment > 512 ? 512 : (int)segment;
}

/** Whether every row of the matrix begins at a multiple of 16 bytes. */
static inline bool pd_cuda_aligned(const struct pd_matrix *matrix) {
  return matrix->stride * pd_type_bytes(matrix->type) % 16 == 0 &&
         matrix->columns * pd_type_bytes(matrix->type) % 16 == 0 &&
         (uintptr_t)matrix->data % 16 == 0;
}

#endif
