/* Launchers of sorting on a GPU. */
#ifndef PD_CUDA_SORT_LAUNCH_H
#define PD_CUDA_SORT_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Keys of 4 or 8 bytes with values of 4, or of 8 each, in two arrays each: what is to be sorted is
 *  in the first ones, what is sorted in number *at of both. With `temporary` NULL nothing is
 * sorted, and *bytes tells how many are needed there. */
struct pd_gpu_sort_job {
  void *keys[2], *values[2];
  int key_bytes, value_bytes;
  uint64_t count;
  int bits; /* of a key, from the lowest; at least 1 */
};
cudaError_t pd_gpu_sort(const struct pd_gpu_sort_job *job, void *temporary, size_t *bytes, int *at,
                        cudaStream_t stream);
/** to[p] = p. */
cudaError_t pd_gpu_count_up(uint32_t *to, uint64_t count, cudaStream_t stream);
/** start[k] = how many of the sorted keys are below k, for k from 0 to `lines`. */
cudaError_t pd_gpu_starts(const uint32_t *keys, uint64_t count, uint64_t lines, uint32_t *start,
                          cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
