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

/** Columns that kernels compute where rows are read 16 bytes at a time: up to the next multiple of
 *  16 bytes; those behind the last are zero. */
static inline uint64_t pd_cuda_wide_columns(polyad_type type, uint64_t columns) {
  uint64_t unit = 16 / pd_type_bytes(type);
  return (columns + unit - 1) / unit * unit;
}

/** Whether every row of the matrix begins at a multiple of 16 bytes and has all wide columns. */
static inline bool pd_cuda_aligned(const struct pd_matrix *matrix) {
  return matrix->stride * pd_type_bytes(matrix->type) % 16 == 0 &&
         pd_cuda_wide_columns(matrix->type, matrix->columns) <= matrix->stride &&
         (uintptr_t)matrix->data % 16 == 0;
}

#endif
