/* What kernels of completion share: the ridge of a row, and where its pieces are. */
#ifndef PD_CUDA_COMPLETION_DEVICE_CUH
#define PD_CUDA_COMPLETION_DEVICE_CUH

#include "device/cuda/cuda_completion_launch.h"

__device__ static inline double ridge_of(const pd_gpu_completed &model, bool bias, uint64_t count) {
  double ridge = bias ? model.bias_ridge : model.ridge;
  return model.ridge_by_count ? ridge * (double)count : ridge;
}

/* Which of the long rows row i is, or `long_rows`. */
__device__ static inline uint64_t find_long_row(const pd_gpu_observed_rows &rows, uint64_t i) {
  uint64_t low = 0, high = rows.long_rows;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (rows.long_row[middle] < i)
      low = middle + 1;
    else
      high = middle;
  }
  return low < rows.long_rows && rows.long_row[low] == i ? low : rows.long_rows;
}

#endif
