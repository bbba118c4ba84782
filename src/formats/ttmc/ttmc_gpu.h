/* What the GPU's kernels of the tensor-times-matrix chain get, and their launchers. Plain C on both
 * sides. */
#ifndef PD_TTMC_GPU_H
#define PD_TTMC_GPU_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_TTMC_GPU_COLUMNS = 15, PD_TTMC_GPU_THREADS = 256 };

/** Where the index of one mode lies: (plane[p] >> shift) & mask. */
struct pd_gpu_ttmc_index {
  const uint32_t *plane;
  uint32_t shift, mask;
};

/** One input mode. */
struct pd_gpu_ttmc_column {
  struct pd_gpu_ttmc_index index;
  const void *factor;
  uint64_t stride; /* of the factor, in elements */
  uint32_t rank;
  uint64_t out_stride; /* of its digit in a row of the output */
};

/** Nonzeros of one output mode; the first column's index changes least from one to the next. */
struct pd_gpu_ttmc {
  uint64_t nnz;
  int columns;
  struct pd_gpu_ttmc_column column[PD_TTMC_GPU_COLUMNS];
  struct pd_gpu_ttmc_index row; /* the output row */
  const uint32_t *order;        /* place q holds nonzero order[q]; NULL: nonzero q */
  const void *values;
  void *out;
  uint64_t out_stride;
  uint64_t row_numbers;       /* product of all ranks */
  uint64_t inner;             /* of all but the first column's */
  uint64_t segment, segments; /* nonzeros that a group of threads takes, and their number */
  double *head, *tail;        /* segments x row_numbers; NULL with atomics */
};

/** Columns of the first input mode that one thread sums. */
static inline int pd_gpu_ttmc_tile(uint32_t first_rank) {
  return first_rank <= 1 ? 1 : first_rank <= 4 ? 4 : 8;
}
/** Threads of one segment. */
static inline uint64_t pd_gpu_ttmc_slots(uint64_t inner, uint32_t first_rank) {
  uint64_t tile = (uint64_t)pd_gpu_ttmc_tile(first_rank);
  return inner * ((first_rank + tile - 1) / tile);
}
/** Nonzeros of a segment: enough segments to fill the GPU, not so many that heads and tails take
 *  more than 2^25 numbers each. */
static inline uint64_t pd_gpu_ttmc_segment(uint64_t nnz, uint64_t row_numbers, uint64_t slots,
                                           int processors) {
  uint64_t threads = (uint64_t)processors * 2048 * 4, segments = threads / slots + 1;
  uint64_t least = (nnz * row_numbers >> 25) + 1; /* the product fits: pd_mul() has seen it */
  uint64_t segment = nnz / segments + 1;
  if (segment < 32) segment = 32;
  return segment < least ? least : segment;
}

/** out += the chain where out is zero before. Sorted nonzeros (rows ascending): each segment sums
 *  its rows, rows that segments share are then added in the segments' order. */
cudaError_t pd_gpu_ttmc_sorted(const struct pd_gpu_ttmc *a, int wide, cudaStream_t stream);
/** The same for nonzeros in any order, by atomic additions: the order of the sums varies. */
cudaError_t pd_gpu_ttmc_atomic(const struct pd_gpu_ttmc *a, int wide, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
