/* What the kernels of "flycoo" get, and their launchers. Plain C on both sides. */
#ifndef PD_FLYCOO_LAUNCH_H
#define PD_FLYCOO_LAUNCH_H

#include "formats/modecopy/modecopy_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Some bits of an element; they may lie in two neighbouring words. */
struct pd_gpu_bits {
  uint32_t word, shift, mask, two_words;
};

/** One MTTKRP over elements, with or without remapping them into another order. */
struct pd_gpu_fly {
  uint64_t nnz, rows;
  const uint32_t *in;
  uint32_t *out_elements; /* NULL: no remapping */
  struct pd_gpu_bits output, remap, input[PD_INPUTS_MAX];
  const void *factor[PD_INPUTS_MAX];
  uint64_t stride[PD_INPUTS_MAX];
  const uint64_t *row_start; /* rows + 1 */
  const uint32_t *row_id, *chunk_row;
  void *out;
  uint64_t out_stride;
  void *head, *tail;
  int words, inputs, rank, segment;
  /* Paper's variant. */
  const uint64_t *part_start;
  int partitions, columns;
};

/** Sorted variant: rows without nonzeros are left alone. */
cudaError_t pd_flycoo_sum_f32(const struct pd_gpu_fly *fly, int aligned, cudaStream_t stream);
cudaError_t pd_flycoo_sum_f64(const struct pd_gpu_fly *fly, int aligned, cudaStream_t stream);
/** Algorithm 4; the output must be zero before. */
cudaError_t pd_flycoo_paper_f32(const struct pd_gpu_fly *fly, cudaStream_t stream);
cudaError_t pd_flycoo_paper_f64(const struct pd_gpu_fly *fly, cudaStream_t stream);
/** Remapping alone: moves every element to the place that `remap` names. */
cudaError_t pd_flycoo_remap(uint64_t nnz, int words, struct pd_gpu_bits remap, const uint32_t *in,
                            uint32_t *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
