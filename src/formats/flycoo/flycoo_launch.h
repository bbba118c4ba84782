/* What the kernels of paper A get, and their launchers. Plain C on both sides. */
#ifndef PD_FLYCOO_LAUNCH_H
#define PD_FLYCOO_LAUNCH_H

#include "formats/ordered/ordered_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One MTTKRP of the paper: block z computes the elements of partition z. */
struct pd_gpu_fly {
  struct pd_gpu_elements elements;
  struct pd_gpu_bits output;
  const void *factor[PD_INPUTS_MAX];
  uint64_t stride[PD_INPUTS_MAX];
  void *out;
  uint64_t out_stride;
  const uint64_t *part_start;
  int inputs, rank, partitions, columns;
};

/** Algorithm 4; the output must be zero before. */
cudaError_t pd_flycoo_paper_f32(const struct pd_gpu_fly *fly, cudaStream_t stream);
cudaError_t pd_flycoo_paper_f64(const struct pd_gpu_fly *fly, cudaStream_t stream);
/** Remapping alone: moves the first `to_words` of every element to the place that `remap` names. */
cudaError_t pd_flycoo_remap(uint64_t nnz, int words, int to_words, struct pd_gpu_bits remap,
                            const uint32_t *in, uint32_t *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
