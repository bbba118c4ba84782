/* What the kernels over nonzeros in the order of an output mode get. Plain C on both sides. */
#ifndef PD_ORDERED_LAUNCH_H
#define PD_ORDERED_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <vector_types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_INPUTS_MAX = 15, PD_BLOCK_THREADS = 256, PD_CHUNK_UNIT = 64, PD_MARKS_UNIT = 32 };

/* Segments are multiples of PD_MARKS_UNIT, at least so long. */
enum { PD_SEGMENT_LEAST = 64 };

/** Blocks of the kernel that a multiprocessor runs at once, as far as registers go: rows of more
 * inputs need more of them, and values that are WEIGHED by the model (gradients, gains) most. */
#define PD_SUM_BLOCKS(INPUTS, WEIGHED) ((WEIGHED) ? 2 : (INPUTS) == 1 || (INPUTS) == 2 ? 4 : 3)

/** What is computed. */
enum pd_gpu_what {
  PD_GPU_MTTKRP,
  PD_GPU_HALVES,   /* the same of rows in bfloat16 */
  PD_GPU_GRADIENT, /* of a loss's gain */
  PD_GPU_GAIN      /* its sum, one per block first */
};

/** One computation over nonzeros sorted by output row, then by the inputs in turn. What a format
 *  stores of a nonzero comes beside this. */
struct pd_gpu_sum {
  uint64_t nnz, rows;
  const void *factor[PD_INPUTS_MAX]; /* of the inputs, outermost first; row major; PD_GPU_HALVES:
                                        in bfloat16 */
  uint64_t stride[PD_INPUTS_MAX];    /* elements */
  const uint64_t *row_start;         /* rows + 1 */
  const uint32_t *row_id;            /* NULL: row k is output row k */
  const uint32_t *chunk_row;         /* row of nonzero 64 c */
  const uint2 *marks;                /* of 32 nonzeros each: x where rows end, y where runs begin */
  void *out;
  uint64_t out_stride;
  void *head, *tail; /* blocks x rank: sums of rows that go on over block borders */
  const void *model; /* gradient and gain: the output mode's factor */
  uint64_t model_stride;
  double least;     /* the least model that is divided by */
  int loss;         /* PD_LOSS_... */
  int inputs, rank; /* aligned: the columns behind the last up to 16 bytes are computed with them */
  int segment;      /* nonzeros of one group, a multiple of PD_MARKS_UNIT */
  int aligned;      /* every row of every matrix begins at a multiple of 16 bytes */
  enum pd_gpu_what what;
};

/** Some bits of a nonzero's words; they may lie in two neighbouring ones. */
struct pd_gpu_bits {
  uint32_t word, shift, mask, two_words;
};

/** Nonzeros as planes of words: index k of nonzero p is (plane[input[k].word][p] >> shift) & mask.
 *  Planes and values are padded to a multiple of four nonzeros. */
struct pd_gpu_planes {
  const uint32_t *plane[PD_INPUTS_MAX];
  const void *values;
  struct pd_gpu_bits input[PD_INPUTS_MAX];
  int planes;
};

/** Nonzeros as elements of `words` words each, the value first; the first `to_words` of each are
 * moved to another order on the way where `to` is not NULL. */
struct pd_gpu_elements {
  const uint32_t *in;
  uint32_t *to;
  struct pd_gpu_bits input[PD_INPUTS_MAX], remap;
  int words, to_words;
  int inputs;
};

/** Lanes that share a row: a power of two from 4 to 32. */
int pd_gpu_lanes(int rank, int value_bytes, int aligned);
/** Blocks that will be started. */
uint64_t pd_gpu_sum_blocks(uint64_t nnz, int lanes, int segment);

/** Rows without nonzeros are left alone. Gain: the sum goes to *out, a double. */
cudaError_t pd_gpu_sum_planes_f32(const struct pd_gpu_sum *sum, const struct pd_gpu_planes *from,
                                  cudaStream_t stream);
cudaError_t pd_gpu_sum_planes_f64(const struct pd_gpu_sum *sum, const struct pd_gpu_planes *from,
                                  cudaStream_t stream);
cudaError_t pd_gpu_phi_planes_f32(const struct pd_gpu_sum *sum, const struct pd_gpu_planes *from,
                                  cudaStream_t stream);
cudaError_t pd_gpu_phi_planes_f64(const struct pd_gpu_sum *sum, const struct pd_gpu_planes *from,
                                  cudaStream_t stream);
/** PD_GPU_HALVES; the sum is aligned. */
cudaError_t pd_gpu_sum_planes_halves(const struct pd_gpu_sum *sum, const struct pd_gpu_planes *from,
                                     cudaStream_t stream);
cudaError_t pd_gpu_sum_elements_f32(const struct pd_gpu_sum *sum,
                                    const struct pd_gpu_elements *from, cudaStream_t stream);
cudaError_t pd_gpu_sum_elements_f64(const struct pd_gpu_sum *sum,
                                    const struct pd_gpu_elements *from, cudaStream_t stream);

/** The table of a pair of inputs: row h << bits | l of `to` is row h of `high` times row l of
 * `low`, entry by entry. All rows begin at multiples of 16 bytes; rows of `to` that have no l are
 * left as they are. */
struct pd_gpu_pair {
  const void *high, *low;
  void *to;
  uint64_t high_stride, low_stride, stride; /* elements */
  uint64_t high_rows, low_rows;
  int bits, columns, wide; /* wide: of doubles */
};
cudaError_t pd_gpu_pair_table(const struct pd_gpu_pair *pair, cudaStream_t stream);

/** Zeroes the rows whose bit in `used` is not set. */
cudaError_t pd_gpu_zero_unused(const uint32_t *used, uint64_t rows, void *out, uint64_t row_bytes,
                               cudaStream_t stream);
/** *out = the sum of `count` numbers, in fixed order. */
cudaError_t pd_gpu_add_up(const double *numbers, uint64_t count, double *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
