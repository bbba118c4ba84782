/* Launchers of what is done with a caller's arrays on a GPU before a storage is built from them.
 * Plain C on both sides. */
#ifndef PD_CUDA_ARRAYS_LAUNCH_H
#define PD_CUDA_ARRAYS_LAUNCH_H

#include <cuda_runtime_api.h>
#include <polyad/tensor.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_GPU_ARRAYS_PARTS = 256 };

/** What kernels find, on the device. Before they run, places are UINT64_MAX and counts 0. */
struct pd_gpu_arrays_found {
  uint64_t largest[POLYAD_MAX_ORDER];   /* index of each mode */
  uint64_t bad_index[POLYAD_MAX_ORDER]; /* first nonzero whose index is outside */
  uint64_t bad_value;                   /* first whose value is not finite, or does not fit */
  uint64_t bad_run;                     /* first run that cannot be merged */
  uint64_t negative;                    /* first nonzero with a value below 0 */
  uint64_t zeros;                       /* runs whose value is zero */
};

/** Copies `count` indices of a type, `stride` bytes apart, into words of 32 bits. Those that are
 *  negative, or not below `limit`, are bad. */
cudaError_t pd_gpu_arrays_index(const void *from, int64_t stride, polyad_index_type type,
                                uint64_t count, uint64_t limit, uint32_t *to, uint64_t *largest,
                                uint64_t *bad, cudaStream_t stream);
/** Copies values likewise; `from` NULL: ones. */
cudaError_t pd_gpu_arrays_values(const void *from, int64_t stride, polyad_type from_type,
                                 uint64_t count, void *to, polyad_type to_type, uint64_t *bad,
                                 cudaStream_t stream);

/** Nonzeros in the order of a permutation (NULL: that of the arrays), of which those of run r have
 *  the same coordinate: places [start[r], start[r + 1]). */
struct pd_gpu_arrays_runs {
  const uint32_t *start, *permutation;
  uint32_t runs;
  const void *values;
  polyad_type type;
  polyad_duplicates duplicates;
  int keep_zeros;
  void *merged;     /* the value of every run */
  uint32_t *keep;   /* whether it stays: 1 or 0 */
  uint32_t *number; /* how many stay up to here, itself included */
};
/** Merges every run into one value. */
cudaError_t pd_gpu_arrays_merge(const struct pd_gpu_arrays_runs *of,
                                struct pd_gpu_arrays_found *found, cudaStream_t stream);
/** Fills in `number`. With `temporary` NULL nothing is done, and *bytes tells how many are needed
 *  there. */
cudaError_t pd_gpu_arrays_number(const struct pd_gpu_arrays_runs *of, void *temporary,
                                 size_t *bytes, cudaStream_t stream);
/** Writes an index of the runs that stay, one behind the other. */
cudaError_t pd_gpu_arrays_keep_index(const struct pd_gpu_arrays_runs *of, const uint32_t *index,
                                     uint32_t *to, cudaStream_t stream);
/** Writes their values. */
cudaError_t pd_gpu_arrays_keep_values(const struct pd_gpu_arrays_runs *of, void *to,
                                      cudaStream_t stream);

/** Adds up squares of the values times 2^-exponent, and the values, in PD_GPU_ARRAYS_PARTS parts
 *  each: always the same additions. Finds the first value below 0. */
cudaError_t pd_gpu_arrays_sums(const void *values, polyad_type type, uint64_t count, int exponent,
                               double *squares, double *sums, uint64_t *negative,
                               cudaStream_t stream);
/** Multiplies the values by 2^exponent. */
cudaError_t pd_gpu_arrays_scale(void *values, polyad_type type, uint64_t count, int exponent,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
