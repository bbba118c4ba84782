/* Kernels that make a tensor of a caller's arrays on a GPU: a thread per nonzero checks and copies,
 * a thread per coordinate merges its repeats in the order in which they were given, and sums over
 * all values are made of 256 parts, so that their bits never change. */
#include "core/numbers.h"
#include "device/cuda/cuda_arrays_launch.h"
#include "device/cuda/cuda_build_places.cuh"
#include <cub/device/device_scan.cuh>
#include <math.h>

static __device__ __forceinline__ void lower(uint64_t *place, uint64_t p) {
  if (*static_cast<volatile uint64_t *>(place) > p)
    atomicMin(reinterpret_cast<unsigned long long *>(place), (unsigned long long)p);
}

/* ---- copying ----------------------------------------------------------------------------------
 */

/* Negative numbers become larger than any limit. The largest of a block's indices is found in
 * shared memory: one atomic operation for all of them. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    copy_index(const char *from, int64_t stride, uint64_t count, uint64_t limit, uint32_t *to,
               uint64_t *largest, uint64_t *bad) {
  __shared__ unsigned long long most;
  uint64_t p = own_place(), index = 0;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  if (p < count) {
    index = (uint64_t)(int64_t) * reinterpret_cast<const T *>(from + (int64_t)p * stride);
    to[p] = (uint32_t)index;
    if (index >= limit) lower(bad, p);
  }
  atomicMax(&most, (unsigned long long)index);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<unsigned long long *>(largest), most);
}

extern "C" cudaError_t pd_gpu_arrays_index(const void *from, int64_t stride, polyad_index_type type,
                                           uint64_t count, uint64_t limit, uint32_t *to,
                                           uint64_t *largest, uint64_t *bad, cudaStream_t stream) {
  const char *first = static_cast<const char *>(from);
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (type == POLYAD_I32)
    copy_index<int32_t>
        <<<blocks, THREADS, 0, stream>>>(first, stride, count, limit, to, largest, bad);
  else if (type == POLYAD_U32)
    copy_index<uint32_t>
        <<<blocks, THREADS, 0, stream>>>(first, stride, count, limit, to, largest, bad);
  else
    copy_index<int64_t>
        <<<blocks, THREADS, 0, stream>>>(first, stride, count, limit, to, largest, bad);
  return cudaGetLastError();
}

template <typename From, typename To>
static __global__ void __launch_bounds__(THREADS)
    copy_values(const char *from, int64_t stride, uint64_t count, To *to, uint64_t *bad) {
  uint64_t p = own_place();
  if (p >= count) return;
  To value =
      from == NULL ? (To)1 : (To) * reinterpret_cast<const From *>(from + (int64_t)p * stride);
  to[p] = value;
  if (!isfinite(value)) lower(bad, p);
}

template <typename From>
static void copy_values_to(const void *from, int64_t stride, uint64_t count, void *to,
                           polyad_type type, uint64_t *bad, unsigned blocks, cudaStream_t stream) {
  const char *first = static_cast<const char *>(from);
  if (type == POLYAD_F32)
    copy_values<From>
        <<<blocks, THREADS, 0, stream>>>(first, stride, count, static_cast<float *>(to), bad);
  else
    copy_values<From>
        <<<blocks, THREADS, 0, stream>>>(first, stride, count, static_cast<double *>(to), bad);
}

extern "C" cudaError_t pd_gpu_arrays_values(const void *from, int64_t stride, polyad_type from_type,
                                            uint64_t count, void *to, polyad_type to_type,
                                            uint64_t *bad, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (from_type == POLYAD_F32)
    copy_values_to<float>(from, stride, count, to, to_type, bad, blocks, stream);
  else
    copy_values_to<double>(from, stride, count, to, to_type, bad, blocks, stream);
  return cudaGetLastError();
}

/* ---- merging ----------------------------------------------------------------------------------
 */

/* The value of a run, as tensor_merge.c makes it on the host. */
template <typename T>
static __device__ double merge_run(const struct pd_gpu_arrays_runs &of, uint32_t begin,
                                   uint32_t end) {
  const T *values = static_cast<const T *>(of.values);
  double value = 0;
  for (uint32_t q = begin; q < end; ++q) {
    double next = values[of.permutation == NULL ? q : of.permutation[q]];
    if (q == begin || of.duplicates == POLYAD_DUPLICATES_LAST)
      value = next;
    else if (of.duplicates == POLYAD_DUPLICATES_MAX)
      value = next > value ? next : value;
    else if (of.duplicates == POLYAD_DUPLICATES_MIN)
      value = next < value ? next : value;
    else if (of.duplicates != POLYAD_DUPLICATES_FIRST)
      value += next;
  }
  if (of.duplicates == POLYAD_DUPLICATES_COUNT) value = end - begin;
  if (of.duplicates == POLYAD_DUPLICATES_MEAN && end - begin > 1) value /= end - begin;
  return value;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    merge_runs(const __grid_constant__ struct pd_gpu_arrays_runs of,
               struct pd_gpu_arrays_found *found) {
  uint64_t r = own_place();
  if (r >= of.runs) return;
  uint32_t begin = of.start[r], end = of.start[r + 1];
  T value = (T)merge_run<T>(of, begin, end);
  bool zero = value == 0;
  bool refused = end - begin > 1 && of.duplicates == POLYAD_DUPLICATES_ERROR;
  if (refused || !isfinite(value)) lower(&found->bad_run, r);
  if (zero) atomicAdd(reinterpret_cast<unsigned long long *>(&found->zeros), 1ull);
  static_cast<T *>(of.merged)[r] = value;
  of.keep[r] = !zero || of.keep_zeros;
}

extern "C" cudaError_t pd_gpu_arrays_merge(const struct pd_gpu_arrays_runs *of,
                                           struct pd_gpu_arrays_found *found, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->runs, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (of->type == POLYAD_F32)
    merge_runs<float><<<blocks, THREADS, 0, stream>>>(*of, found);
  else
    merge_runs<double><<<blocks, THREADS, 0, stream>>>(*of, found);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_arrays_number(const struct pd_gpu_arrays_runs *of, void *temporary,
                                            size_t *bytes, cudaStream_t stream) {
  return cub::DeviceScan::InclusiveSum(temporary, *bytes, of->keep, of->number, (int)of->runs,
                                       stream);
}

static __global__ void __launch_bounds__(THREADS)
    keep_index(const __grid_constant__ struct pd_gpu_arrays_runs of, const uint32_t *index,
               uint32_t *to) {
  uint64_t r = own_place();
  if (r >= of.runs || of.keep[r] == 0) return;
  uint32_t q = of.start[r];
  to[of.number[r] - 1] = index[of.permutation == NULL ? q : of.permutation[q]];
}

extern "C" cudaError_t pd_gpu_arrays_keep_index(const struct pd_gpu_arrays_runs *of,
                                                const uint32_t *index, uint32_t *to,
                                                cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->runs, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) keep_index<<<blocks, THREADS, 0, stream>>>(*of, index, to);
  return cudaGetLastError();
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    keep_values(const __grid_constant__ struct pd_gpu_arrays_runs of, T *to) {
  uint64_t r = own_place();
  if (r < of.runs && of.keep[r] != 0) to[of.number[r] - 1] = static_cast<const T *>(of.merged)[r];
}

extern "C" cudaError_t pd_gpu_arrays_keep_values(const struct pd_gpu_arrays_runs *of, void *to,
                                                 cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->runs, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (of->type == POLYAD_F32)
    keep_values<<<blocks, THREADS, 0, stream>>>(*of, static_cast<float *>(to));
  else
    keep_values<<<blocks, THREADS, 0, stream>>>(*of, static_cast<double *>(to));
  return cudaGetLastError();
}

/* ---- facts ------------------------------------------------------------------------------------
 */

/* A block sums one part; its threads' sums are added as a tree. 2^-exponent comes in two factors,
 * since 2^1074 alone is no double. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    add_values(const T *values, uint64_t count, double up, double down, double *squares,
               double *sums, uint64_t *negative) {
  __shared__ double square_of[THREADS], sum_of[THREADS];
  uint64_t each = (count + PD_GPU_ARRAYS_PARTS - 1) / PD_GPU_ARRAYS_PARTS;
  uint64_t begin = blockIdx.x * each, end = begin + each < count ? begin + each : count;
  double square = 0, sum = 0;
  for (uint64_t p = begin + threadIdx.x; p < end; p += THREADS) {
    double value = values[p], scaled = value * up * down;
    square += scaled * scaled;
    sum += value;
    if (value < 0) lower(negative, p);
  }
  square_of[threadIdx.x] = square;
  sum_of[threadIdx.x] = sum;
  for (unsigned half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    square_of[threadIdx.x] += square_of[threadIdx.x + half];
    sum_of[threadIdx.x] += sum_of[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  squares[blockIdx.x] = square_of[0];
  sums[blockIdx.x] = sum_of[0];
}

extern "C" cudaError_t pd_gpu_arrays_sums(const void *values, polyad_type type, uint64_t count,
                                          int exponent, double *squares, double *sums,
                                          uint64_t *negative, cudaStream_t stream) {
  double up, down;
  pd_two_powers(exponent, &up, &down);
  if (type == POLYAD_F32)
    add_values<<<PD_GPU_ARRAYS_PARTS, THREADS, 0, stream>>>(
        static_cast<const float *>(values), count, up, down, squares, sums, negative);
  else
    add_values<<<PD_GPU_ARRAYS_PARTS, THREADS, 0, stream>>>(
        static_cast<const double *>(values), count, up, down, squares, sums, negative);
  return cudaGetLastError();
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    scale_values(T *values, uint64_t count, int exponent) {
  uint64_t p = own_place();
  if (p < count) values[p] = ldexp(values[p], exponent);
}

extern "C" cudaError_t pd_gpu_arrays_scale(void *values, polyad_type type, uint64_t count,
                                           int exponent, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (type == POLYAD_F32)
    scale_values<<<blocks, THREADS, 0, stream>>>(static_cast<float *>(values), count, exponent);
  else
    scale_values<<<blocks, THREADS, 0, stream>>>(static_cast<double *>(values), count, exponent);
  return cudaGetLastError();
}
