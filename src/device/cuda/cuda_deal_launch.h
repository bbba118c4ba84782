/* Launchers of what is done on a GPU to share a tensor out to a team. Plain C on both sides. */
#ifndef PD_CUDA_DEAL_LAUNCH_H
#define PD_CUDA_DEAL_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_GPU_DEAL_MODES = 16 };

/** Nonzeros, and the modes in which they are cut: range q of the k-th of these begins at
 *  cut[first[k] + q]. */
struct pd_gpu_deal_grid {
  uint64_t nnz;
  int modes;
  const uint32_t *index[PD_GPU_DEAL_MODES];
  int ranges[PD_GPU_DEAL_MODES], first[PD_GPU_DEAL_MODES];
  const uint64_t *cut; /* on the device */
};
/** cell[p] = the cell that nonzero p lies in. */
cudaError_t pd_gpu_deal_cells(const struct pd_gpu_deal_grid *of, uint32_t *cell,
                              cudaStream_t stream);
/** Sets bit i of `has` where first + i is an index. */
cudaError_t pd_gpu_deal_mark(const uint32_t *index, uint64_t count, uint32_t first, uint32_t *has,
                             cudaStream_t stream);
/** index[p] = number[index[p] - first]. */
cudaError_t pd_gpu_deal_renumber(uint32_t *index, uint64_t count, uint32_t first,
                                 const uint32_t *number, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
