/* What the kernels of "modecopy" get, and their launchers. Plain C on both sides. */
#ifndef PD_MODECOPY_LAUNCH_H
#define PD_MODECOPY_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_INPUTS_MAX = 15, PD_BLOCK_THREADS = 256, PD_SEGMENT_UNIT = 64 };

/** Where the index of an input mode lies, and its factor. */
struct pd_gpu_field {
  const uint32_t *plane; /* index of nonzero p: (plane[p] >> shift) & mask */
  uint32_t shift, mask;
  const void *factor; /* row major */
  uint64_t stride;    /* elements */
};

/** One MTTKRP over nonzeros sorted by output row. */
struct pd_gpu_sum {
  uint64_t nnz, rows;
  struct pd_gpu_field field[PD_INPUTS_MAX];
  const uint32_t *flags;     /* bit 31: last nonzero of its row */
  const void *values;        /* padded to a multiple of four, as planes and flags are */
  const uint64_t *row_start; /* rows + 1 */
  const uint32_t *row_id;    /* NULL: row k is output row k */
  const uint32_t *chunk_row; /* row of nonzero 64 c */
  void *out;
  uint64_t out_stride;
  void *head, *tail; /* blocks x rank: sums of rows that go on over block borders */
  int inputs, rank;
  int segment; /* nonzeros of one group, a multiple of PD_SEGMENT_UNIT */
};

/** Lanes that share a row: a power of two from 4 to 32. */
int pd_gpu_lanes(int rank, int value_bytes, int aligned);
/** Blocks that pd_modecopy_sum_* will start. */
uint64_t pd_gpu_sum_blocks(uint64_t nnz, int lanes, int segment);

/** out = MTTKRP; rows without nonzeros are left alone. `aligned`: every row of every matrix
 *  begins at a multiple of 16 bytes. */
cudaError_t pd_modecopy_sum_f32(const struct pd_gpu_sum *sum, int aligned, cudaStream_t stream);
cudaError_t pd_modecopy_sum_f64(const struct pd_gpu_sum *sum, int aligned, cudaStream_t stream);

/** Zeroes the rows whose bit in `used` is not set. */
cudaError_t pd_gpu_zero_unused(const uint32_t *used, uint64_t rows, void *out, uint64_t row_bytes,
                               cudaStream_t stream);

/** One MTTKRP of the paper: block z computes the nonzeros of partition z. */
struct pd_gpu_paper {
  struct pd_gpu_field field[PD_INPUTS_MAX];
  struct pd_gpu_field output; /* its factor is the output */
  const void *values;
  const uint64_t *part_start; /* partitions + 1 */
  int inputs, rank, partitions, columns /* P */, scheme;
};
cudaError_t pd_modecopy_paper_f32(const struct pd_gpu_paper *paper, cudaStream_t stream);
cudaError_t pd_modecopy_paper_f64(const struct pd_gpu_paper *paper, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
