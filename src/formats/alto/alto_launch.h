/* What the GPU's kernels of "alto" get, and their launchers. Plain C on both sides. */
#ifndef PD_ALTO_LAUNCH_H
#define PD_ALTO_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_ALTO_INPUTS_MAX = 15, PD_ALTO_GPU_RUNS_MAX = 130, PD_ALTO_GPU_THREADS = 256 };

/** Bits that lie side by side in key and index: word of the key, lowest bit there, lowest bit in
 *  the index, number of bits; a byte each. */
#define PD_ALTO_GPU_RUN(word, from, to, bits)                                                      \
  ((uint32_t)(word) | (uint32_t)(from) << 8 | (uint32_t)(to) << 16 | (uint32_t)(bits) << 24)

/** One mode: its runs are run[first] up to run[last - 1]; variants coo have `index` instead. */
struct pd_gpu_alto_mode {
  int first, last;
  const uint32_t *index;
  const void *factor;
  uint64_t stride; /* elements */
};

/** The nonzeros, and what is wanted of them. */
struct pd_gpu_alto {
  uint64_t nnz;
  const void *low, *high; /* words of the keys; high: NULL for keys of one word */
  int low_bytes, high_bytes;
  const void *values;
  uint32_t run[PD_ALTO_GPU_RUNS_MAX]; /* PD_ALTO_GPU_RUN() */
  struct pd_gpu_alto_mode input[PD_ALTO_INPUTS_MAX];
  struct pd_gpu_alto_mode output; /* its factor is B */
  int inputs, rank;
  int segment; /* nonzeros of one group, a multiple of 64 */
  /* Pull-based: the nonzeros of each output row, one row after the other. */
  const uint32_t *order;     /* place q holds nonzero order[q]; NULL: atomic edition */
  const uint64_t *row_start; /* rows + 1 */
  const uint32_t *row_id;    /* output row of each */
  const uint32_t *chunk_row; /* row of place 64 c */
  uint64_t rows;
  void *head, *tail; /* blocks x rank: sums of rows that go on over block borders */
  void *out;
  uint64_t out_stride;
  double least;        /* the least model that is divided by */
  int loss;            /* PD_LOSS_... */
  void *weights;       /* one per place: slopes of the gain; written by *_weigh */
  const void *weighed; /* the same, read instead of values; NULL: not weighed */
};

/** Columns of the rank that one group can hold: Phi of larger ranks is weighed first. */
int pd_alto_gpu_columns(int value_bytes);

/** out += MTTKRP where out is zero before; with `phi`, the gradient of a gain (rank within one
 * group's columns). `aligned`: every row of every matrix begins at a multiple of 16 bytes. */
cudaError_t pd_alto_sum_f32(const struct pd_gpu_alto *a, int aligned, int phi, cudaStream_t stream);
cudaError_t pd_alto_sum_f64(const struct pd_gpu_alto *a, int aligned, int phi, cudaStream_t stream);

/** *total = sum of the gains at <B row, product of the factors' rows>; `partial`: a number per
 *  pd_alto_gpu_partials(). Summed in double, always in the same order. */
cudaError_t pd_alto_logarithms_f32(const struct pd_gpu_alto *a, double *partial, double *total,
                                   cudaStream_t stream);
cudaError_t pd_alto_logarithms_f64(const struct pd_gpu_alto *a, double *partial, double *total,
                                   cudaStream_t stream);
uint64_t pd_alto_gpu_partials(uint64_t nnz);

/** weights = slopes of the gain at <B row, product of the factors' rows>, any rank. */
cudaError_t pd_alto_weigh_f32(const struct pd_gpu_alto *a, cudaStream_t stream);
cudaError_t pd_alto_weigh_f64(const struct pd_gpu_alto *a, cudaStream_t stream);

/** index[p] = index of nonzero p, in the order of the keys, in the output mode. */
cudaError_t pd_alto_indices(const struct pd_gpu_alto *a, uint32_t *index, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
