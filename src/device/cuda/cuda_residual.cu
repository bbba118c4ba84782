/* The residual of a model summed from the nonzeros, in double: 8 lanes take a nonzero and every
 * eighth column each. Groups of lanes take four nonzeros at once, whose rows are on their way
 * together, by turns; blocks leave partial sums, which one block adds up in fixed order. */
#include "device/cuda/cuda_linalg_launch.h"

enum { THREADS = 256, LANES = 8, GROUPS = THREADS / LANES, STEP = 4, MODES = 16 };

struct Residual {
  const void *index[MODES], *factor[MODES];
  uint64_t stride[MODES];
  int index_bytes[MODES];
  const void *values;
  const double *weight;
  uint64_t nnz;
  int order, rank;
};

__device__ static uint64_t index_at(const Residual &job, int n, uint64_t p) {
  return job.index_bytes[n] == 4 ? static_cast<const uint32_t *>(job.index[n])[p]
                                 : static_cast<const uint64_t *>(job.index[n])[p];
}

/* The model's values at STEP nonzeros from p on, known to all lanes of the group; those beyond the
 * last count as the first. ORDER 0: any number of modes. */
template <typename T, int ORDER>
__device__ static void model_at(const Residual &job, uint64_t p, int lane, double *sum) {
  constexpr int MOST = ORDER == 0 ? MODES : ORDER;
  const T *row[STEP][MOST];
#pragma unroll
  for (int k = 0; k < STEP; ++k) {
    uint64_t q = p + k < job.nnz ? p + k : 0;
    sum[k] = 0;
#pragma unroll
    for (int n = 0; n < MOST; ++n)
      if (ORDER > 0 || n < job.order)
        row[k][n] = static_cast<const T *>(job.factor[n]) + index_at(job, n, q) * job.stride[n];
  }
  for (int r = lane; r < job.rank; r += LANES) {
    double weight = job.weight[r];
#pragma unroll
    for (int k = 0; k < STEP; ++k) {
      double product = weight;
#pragma unroll
      for (int n = 0; n < MOST; ++n)
        if (ORDER > 0 || n < job.order) product *= (double)__ldg(row[k][n] + r);
      sum[k] += product;
    }
  }
#pragma unroll
  for (int k = 0; k < STEP; ++k)
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
      sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], step);
}

/* Adds up what the groups' first lanes hold. */
__device__ static double sum_groups(double mine, int group, int lane, double *room) {
  __syncthreads();
  if (lane == 0) room[group] = mine;
  __syncthreads();
  double sum = 0;
  for (int g = 0; g < GROUPS; ++g)
    sum += room[g];
  return sum;
}

template <typename T, int ORDER>
static __global__ void __launch_bounds__(THREADS)
    residual(const __grid_constant__ Residual job, double *parts) {
  __shared__ double room[GROUPS];
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  double missed = 0, covered = 0;
  uint64_t step = (uint64_t)gridDim.x * GROUPS * STEP;
  for (uint64_t first = (uint64_t)blockIdx.x * GROUPS * STEP; first < job.nnz; first += step) {
    uint64_t p = first + (uint64_t)group * STEP; /* all lanes of a warp stay for the shuffles */
    double model[STEP];
    model_at<T, ORDER>(job, p, lane, model);
#pragma unroll
    for (int k = 0; k < STEP; ++k) {
      if (p + k >= job.nnz) break;
      double difference = (double)static_cast<const T *>(job.values)[p + k] - model[k];
      missed += difference * difference;
      covered += model[k] * model[k];
    }
  }
  missed = sum_groups(missed, group, lane, room);
  covered = sum_groups(covered, group, lane, room);
  if (threadIdx.x != 0) return;
  parts[2 * blockIdx.x] = missed;
  parts[2 * blockIdx.x + 1] = covered;
}

template <typename T>
static void start(const Residual &job, unsigned blocks, double *parts, cudaStream_t stream) {
  switch (job.order) {
  case 3:
    residual<T, 3><<<blocks, THREADS, 0, stream>>>(job, parts);
    break;
  case 4:
    residual<T, 4><<<blocks, THREADS, 0, stream>>>(job, parts);
    break;
  case 5:
    residual<T, 5><<<blocks, THREADS, 0, stream>>>(job, parts);
    break;
  default:
    residual<T, 0><<<blocks, THREADS, 0, stream>>>(job, parts);
  }
}

static __global__ void add_parts(int blocks, const double *parts, double *scalars) {
  __shared__ double room[2][THREADS];
  double sum[2] = {0, 0};
  for (int b = (int)threadIdx.x; b < blocks; b += THREADS)
    for (int k = 0; k < 2; ++k)
      sum[k] += parts[2 * b + k];
  for (int k = 0; k < 2; ++k)
    room[k][threadIdx.x] = sum[k];
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double total = 0;
  for (int t = 0; t < THREADS; ++t)
    total += room[threadIdx.x][t];
  scalars[threadIdx.x == 0 ? PD_GPU_RESIDUAL : PD_GPU_COVERED] = total;
}

extern "C" cudaError_t pd_gpu_residual(const struct pd_gpu_residual *job, double *parts,
                                       double *scalars, cudaStream_t stream) {
  Residual to = {};
  for (int n = 0; n < job->order; ++n) {
    to.index[n] = job->index[n];
    to.index_bytes[n] = job->index_bytes[n];
    to.factor[n] = job->factor[n].data;
    to.stride[n] = job->factor[n].stride;
  }
  to.values = job->values;
  to.weight = job->weight;
  to.nnz = job->nnz;
  to.order = job->order;
  to.rank = job->factor[0].rank;
  uint64_t wanted = (job->nnz + GROUPS * STEP - 1) / (GROUPS * STEP);
  int blocks = wanted < PD_GPU_RESIDUAL_BLOCKS ? (int)wanted : PD_GPU_RESIDUAL_BLOCKS;
  if (blocks < 1) blocks = 1;
  if (job->factor[0].wide)
    start<double>(to, (unsigned)blocks, parts, stream);
  else
    start<float>(to, (unsigned)blocks, parts, stream);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  add_parts<<<1, THREADS, 0, stream>>>(blocks, parts, scalars);
  return cudaGetLastError();
}
