/* Launchers of what a team's members do on their GPUs: fold sums into one, and move rows of factors
 * into packed memory and out of it. */
#ifndef PD_CUDA_TEAM_LAUNCH_H
#define PD_CUDA_TEAM_LAUNCH_H

#include "device/cuda/cuda_linalg_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** out[c] = the sum over k < count of from[k * step + c], for c < width; columns largest_begin to
 *  largest_end - 1 get the largest instead, NaN where any is. In fixed order. */
struct pd_gpu_fold {
  const double *from;
  uint64_t step, width, largest_begin, largest_end;
  int count;
  double *out;
};
cudaError_t pd_gpu_fold_sums(const struct pd_gpu_fold *fold, cudaStream_t stream);

/** to[j] = row index[j] of the matrix, for j < count; `to` is packed. */
cudaError_t pd_gpu_take_rows(struct pd_gpu_matrix matrix, uint64_t count, const uint64_t *index,
                             void *to, int processors, cudaStream_t stream);
/** Row index[j] of the matrix += from[j]; no index comes twice. */
cudaError_t pd_gpu_add_rows(const void *from, uint64_t count, const uint64_t *index,
                            struct pd_gpu_matrix matrix, int processors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
