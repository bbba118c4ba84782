/* What kernels of the dense algebra share: sums of what blocks have left, in fixed order, and the
 * powers of two that updates divide by. */
#ifndef PD_CUDA_LINALG_DEVICE_CUH
#define PD_CUDA_LINALG_DEVICE_CUH

#include "device/cuda/cuda_linalg_launch.h"

/** Jobs of one launch. */
template <typename JOB> struct Batch { JOB job[PD_GPU_BATCH]; };

/** Calls launch(batch, count, kind) for jobs of the same kind(job), as many at once as a batch
 *  holds. */
template <typename JOB, typename KIND, typename LAUNCH>
static cudaError_t launch_in_batches(const JOB *jobs, int count, const KIND &kind,
                                     const LAUNCH &launch) {
  uint64_t done = 0;
  for (int first = 0; first < count; ++first) {
    if ((done >> first & 1) != 0) continue;
    Batch<JOB> batch = {};
    int together = 0;
    for (int k = first; k < count && together < PD_GPU_BATCH; ++k) {
      if ((done >> k & 1) != 0 || kind(jobs[k]) != kind(jobs[first])) continue;
      batch.job[together++] = jobs[k];
      done |= UINT64_C(1) << k;
    }
    launch(batch, together, kind(jobs[first]));
  }
  return cudaGetLastError();
}

/** Sums over the columns of one block's rows. SQUARE counts times a weight per row where there is
 *  one. */
enum { SUM_INNER, SUM_SQUARE, SUM_ABSOLUTE, SUM_LARGEST };
/** The numbers of enum pd_scaling. */
enum { SCALE_NORM_2, SCALE_MAX_AT_LEAST_1, SCALE_NORM_1, SCALE_AS_BEFORE };

/** Entry e of the product of Gram matrices. */
__device__ static inline double gram_product(const pd_gpu_grams &grams, size_t e, bool diagonal) {
  double product = 1;
  for (int n = 0; n < grams.count; ++n)
    product *= grams.gram[n][e];
  return product + (diagonal ? grams.ridge : 0);
}

/** A warp adds up `count` numbers that lie `step` apart; all lanes know the sum. */
__device__ static inline double warp_sum(const double *from, int count, size_t step) {
  double sum = 0;
  for (int k = (int)threadIdx.x % 32; k < count; k += 32)
    sum += from[(size_t)k * step];
  for (int s = 16; s > 0; s /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, s);
  return sum;
}

__device__ static inline double warp_largest(const double *from, int count, size_t step) {
  double largest = 0;
  for (int k = (int)threadIdx.x % 32; k < count; k += 32)
    largest = fmax(largest, from[(size_t)k * step]);
  for (int s = 16; s > 0; s /= 2)
    largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, s));
  return largest;
}

/** What an update divides a column by: the least power of two that is no less than one and than the
 *  largest entry of the column before times its weight; one where no float could hold what it
 *  divides. */
__device__ static inline double divisor(int scaling, double weight, double peak) {
  double most = weight * peak;
  if (scaling != SCALE_AS_BEFORE || !(most > 1 && most <= 0x1p126)) return 1;
  int exponent;
  double mantissa = frexp(most, &exponent);
  return ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

#endif
