/* What the kernels of paper B get, and their launchers. Plain C on both sides. */
#ifndef PD_MODECOPY_LAUNCH_H
#define PD_MODECOPY_LAUNCH_H

#include "formats/ordered/ordered_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where the index of an input mode lies, and its factor. */
struct pd_gpu_field {
  const uint32_t *plane; /* index of nonzero p: (plane[p] >> shift) & mask */
  uint32_t shift, mask;
  const void *factor; /* row major */
  uint64_t stride;    /* elements */
};

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
